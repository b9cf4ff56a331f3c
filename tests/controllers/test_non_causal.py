"""Bayo's non-causal torques: led through a flexible arm they bring its tip along the path, and begin before it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.non_causal import LASTS, PERIOD, REST, by_torques, early, flexible_arm, from_outside, led, path
from granite.controllers.distribution.flexible_arm import FlexibleArm
from granite.controllers.distribution.non_causal import non_causal
from granite.controllers.distribution.stability import Stability, tips_led_by_torque, tips_led_from_outside


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch) -> FlexibleArm:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    return flexible_arm()


def test_the_torques_bring_the_tip_along_its_path_and_begin_before_it(arm: FlexibleArm) -> None:
    t, tip = path()
    motion = by_torques(arm, tip)
    size = np.abs(tip).max(axis=0)
    assert np.abs((led(arm, motion) - tip) / size).max() < 0.02
    before, moving = t < REST, (t >= REST) & (t < REST + LASTS)
    largest = np.abs(motion.torque[moving]).max(axis=0)
    early = np.abs(motion.torque[before]).max(axis=0)
    # Of the joint that carries the flexible link; those beyond it are rigid, as their tip is led.
    assert early[0] > 1e-3 * largest[0], "it begins before the tip moves"
    assert np.abs(motion.torque[: round(0.5 / PERIOD), 0]).max() < 0.1 * early[0], "not long before"
    # Torques without those that come early do not lead the tip: what is causal fails.
    late = motion._replace(torque=np.where(before[:, None], 0.0, motion.torque))
    assert np.abs((led(arm, late) - tip) / size).max() > 0.05


def test_led_from_outside_the_same_path_needs_no_torque_before_it_and_bends_the_arm_less(arm: FlexibleArm) -> None:
    t, tip = path()
    bayo, outside = by_torques(arm, tip), from_outside(arm, tip)
    size = np.abs(tip).max(axis=0)
    assert np.abs((led(arm, outside) - tip) / size).max() < 1e-6
    assert not outside.torque.any()
    assert early(outside, t) == 0.0
    assert early(bayo, t) >= 1e-3
    # Loose joints carry no moment of the links.
    assert np.abs(bayo.elastic).max() > 100 * np.abs(outside.elastic).max()
    after = t > REST + LASTS + 0.5
    for lead in (bayo, outside):
        assert np.abs(lead.elastic[after]).max() < 0.02 * np.abs(lead.elastic).max()


def test_without_the_early_torques_there_are_two_ways_out(arm: FlexibleArm) -> None:
    """Led by torques the elastic motion diverges (Example 3.1), led from outside it is stable (Example 3.2)."""
    assert Stability.of(tips_led_by_torque([arm])).largest > 100
    assert Stability.of(tips_led_from_outside([arm])).verdict == "stable"


def test_a_rigid_limit_has_the_torques_of_rigid_links(arm: FlexibleArm) -> None:
    _, tip = path()
    stiff = FlexibleArm(arm.M_rr, arm.M_re, arm.M_ee, 1e6 * arm.K, 1e3 * arm.D, arm.J_r, arm.J_e)
    rigid = np.linalg.solve(arm.J_r, tip.T).T @ arm.M_rr
    assert non_causal(stiff, tip, PERIOD).torque == pytest.approx(rigid, abs=1e-4 * np.abs(rigid).max())
