"""Bayo's non-causal torques: led through a flexible arm they bring its tip along the path, and begin before it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from granite.config.loader import load
from granite.config.records import Array
from granite.controllers.distribution.flexible_arm import FlexibleArm
from granite.controllers.distribution.non_causal import non_causal
from granite.controllers.distribution.stability import Stability, tips_led_by_torque, tips_led_from_outside
from granite.controllers.laws.carrying import arm_grips, carried_object
from granite.controllers.laws.flexible_grasp import arms_at
from granite.controllers.model import ControlModel

#: 1 s at rest, 1 s along the path of Example 3.2, 1 s at rest
PERIOD, REST, LASTS = 5e-4, 1.0, 1.0


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch) -> FlexibleArm:
    """FRR of Sun's cell at its start, each mode damped by 2 %."""
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    model = ControlModel(load("sun-planar/frr-o-rrr", {"modules.left.bodies.link1.flexible.damping_ratio": 0.02}))
    initial = model.bed.simulation.initial
    q = np.array([initial.get(c.key, 0.0) for c in model.layout.positions])
    return arms_at(model, arm_grips(model.bed, carried_object(model.bed, None)), q)[0]


def path() -> tuple[Array, Array]:
    """Times, and an acceleration of the tip of one sine, across the arc of Example 3.1 and turning with it."""
    t = PERIOD * np.arange(round((2 * REST + LASTS) / PERIOD))
    sine = np.where((t >= REST) & (t < REST + LASTS), np.sin(2 * np.pi * (t - REST) / LASTS), 0.0)
    turn = 2 * np.pi * (np.pi / 4) / LASTS**2
    return t, turn * sine[:, None] * np.array([0.4 * np.sin(np.pi / 4), -0.4 * np.cos(np.pi / 4), 1.0])


def led(arm: FlexibleArm, torque: Array) -> Array:
    """Acceleration of the tip under torques: M q'' + D q' + K q = B tau, forward in time, torques straight between."""
    r, n = len(arm.M_rr), len(arm.M_rr) + len(arm.K)
    M = np.block([[arm.M_rr, arm.M_re], [arm.M_re.T, arm.M_ee]])
    K, D = np.zeros((n, n)), np.zeros((n, n))
    K[r:, r:], D[r:, r:] = arm.K, arm.D
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    B = np.vstack([np.zeros((n, r)), np.linalg.solve(M, np.eye(n, r))])
    whole = np.zeros((2 * n + 2 * r, 2 * n + 2 * r))
    whole[: 2 * n, : 2 * n], whole[: 2 * n, 2 * n : 2 * n + r] = A * PERIOD, B * PERIOD
    whole[2 * n : 2 * n + r, 2 * n + r :] = np.eye(r)
    step = expm(whole)[: 2 * n]
    x, tips = np.zeros(2 * n), []
    J = np.hstack([arm.J_r, arm.J_e])
    for now, after in zip(torque, np.roll(torque, -1, axis=0), strict=True):
        tips.append(J @ (A[n:] @ x + B[n:] @ now))
        x = step @ np.concatenate([x, now, after - now])
    return np.array(tips)


def test_the_torques_bring_the_tip_along_its_path_and_begin_before_it(arm: FlexibleArm) -> None:
    t, tip = path()
    motion = non_causal(arm, tip, PERIOD)
    size = np.abs(tip).max(axis=0)
    assert np.abs((led(arm, motion.torque) - tip) / size).max() < 0.02
    before, moving = t < REST, (t >= REST) & (t < REST + LASTS)
    largest = np.abs(motion.torque[moving]).max(axis=0)
    early = np.abs(motion.torque[before]).max(axis=0)
    # Of the joint that carries the flexible link; those beyond it are rigid, as their tip is led.
    assert early[0] > 1e-3 * largest[0], "it begins before the tip moves"
    assert np.abs(motion.torque[: round(0.5 / PERIOD), 0]).max() < 0.1 * early[0], "not long before"
    # Torques without those that come early do not lead the tip: what is causal fails.
    late = np.where(before[:, None], 0.0, motion.torque)
    assert np.abs((led(arm, late) - tip) / size).max() > 0.05


def test_without_the_early_torques_there_are_two_ways_out(arm: FlexibleArm) -> None:
    """Led by torques the elastic motion diverges (Example 3.1), led from outside it is stable (Example 3.2)."""
    assert Stability.of(tips_led_by_torque([arm])).largest > 100
    assert Stability.of(tips_led_from_outside([arm])).verdict == "stable"


def test_a_rigid_limit_has_the_torques_of_rigid_links(arm: FlexibleArm) -> None:
    _, tip = path()
    stiff = FlexibleArm(arm.M_rr, arm.M_re, arm.M_ee, 1e6 * arm.K, 1e3 * arm.D, arm.J_r, arm.J_e)
    rigid = np.linalg.solve(arm.J_r, tip.T).T @ arm.M_rr
    assert non_causal(stiff, tip, PERIOD).torque == pytest.approx(rigid, abs=1e-4 * np.abs(rigid).max())
