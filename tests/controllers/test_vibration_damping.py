"""Vibration damping: the amplitude falls fast, strain gauges give the modes, and wrong gains are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.logs.log import Log
from granite.rt.replay import replay
from granite.rt.run_in_memory import simulate_in_memory


def turned(**changes: Any) -> Log:
    log = simulate_in_memory(load("flexible-arm", changes))
    assert log.summary["ended"] == "completed", log.summary["text"]
    return log


@pytest.mark.slow
def test_the_arm_comes_to_rest_where_it_would_vibrate_on() -> None:
    damped, plain = turned(), turned(**{"controller.law.damping_m_s": {"shoulder": 0.0}})
    left = [np.abs(log["/truth"].strip_y1_m[-400:]).max() for log in (damped, plain)]
    assert left[0] < 1e-3
    assert left[1] > 10 * left[0]
    assert abs(damped["/truth"].shoulder_rad[-1] - np.pi / 2) < 5e-3
    state, truth = damped["/state"], damped["/truth"]
    assert state.strip_y1_m[100:] == pytest.approx(truth.strip_y1_m[100:], abs=1e-3)
    assert state.strip_y2_m[100:] == pytest.approx(truth.strip_y2_m[100:], abs=2e-4)
    assert replay(damped).first is None


@pytest.mark.parametrize(
    ("damping", "sentence"),
    [
        ({"elbow": 1.0}, "no driven joint with a flexible link on it"),
        ({"shoulder": -1.0}, "damping_m_s.shoulder"),
        ({}, "damping_m_s"),
    ],
)
def test_wrong_gains_are_refused(damping: dict[str, float], sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        load("flexible-arm", {"controller.law.damping_m_s": damping})
    assert sentence in str(refusal.value)
