"""Bonaventura 2002, section 8.3.1, System 1: one flexible link turned from rest to rest (acceptance test 9)."""

from __future__ import annotations

import numpy as np
import pytest

from mrds.model import Model
from tests.mrds.flexible_arms import LINE_DENSITY, flexible, planar_arm, run

AMPLITUDE, PERIOD = 0.02948, 10.0


def test_the_link_turns_by_half_a_turn_and_bends_both_ways() -> None:
    model = Model(planar_arm([flexible(1.0, 2)], name="system_1"))
    start = np.zeros(3)

    def torque(t: float) -> np.ndarray:
        return np.array([AMPLITUDE * np.sin(2 * np.pi * t / PERIOD), 0.0, 0.0])

    t, q, u = run(model, start, start, torque, 1e-3, 10_000)
    rigid = AMPLITUDE * PERIOD**2 / (2 * np.pi * LINE_DENSITY / 3)
    assert np.degrees(q[-1, 0]) == pytest.approx(np.degrees(rigid), abs=0.01)
    assert np.degrees(q[-1, 0]) == pytest.approx(180.017, abs=0.01)
    assert u[:, 0].max() == pytest.approx(0.62832, abs=1e-4)
    deflection = 2 * q[:, 1] - 2 * q[:, 2]
    assert deflection.min() == pytest.approx(-2.190e-3, rel=0.01)
    assert t[deflection.argmin()] == pytest.approx(2.494, abs=0.01)
    assert deflection.max() == pytest.approx(2.192e-3, rel=0.01)
    assert t[deflection.argmax()] == pytest.approx(7.504, abs=0.01)
