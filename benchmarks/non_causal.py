"""Bayo's non-causal torques beside the law that is led from outside (Sun 1996, Examples 3.1 and 3.2), offline.

Both bring the tip of one flexible arm along the arc of Example 3.1, about its start pose: Bayo's by the torques of its
joints, which begin before the tip moves; led from outside by a wrench on the tip with loose joints, which needs no
knowledge of the path to come, but a second arm, and bends the first one far less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from benchmarks.result import Result
from granite import load
from granite.config.records import Array
from granite.controllers.distribution.flexible_arm import FlexibleArm
from granite.controllers.distribution.non_causal import non_causal
from granite.controllers.laws.carrying import arm_grips, carried_object
from granite.controllers.laws.flexible_grasp import arms_at
from granite.controllers.model import ControlModel

#: 1 s at rest, 1 s along the path, 1 s at rest
PERIOD, REST, LASTS = 5e-4, 1.0, 1.0


class Lead(NamedTuple):
    """One way to lead the tip: a row for each sample."""

    torque: Array  #: (n, joints) [N m]
    wrench: Array  #: (n, tip freedoms) on the object, by the arm
    elastic: Array  #: (n, elastic coordinates)


def flexible_arm() -> FlexibleArm:
    """FRR of Sun's cell at its start, each mode damped by 2 %."""
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


def by_torques(arm: FlexibleArm, tip: Array) -> Lead:
    """Bayo's inversion in frequency."""
    torque, elastic = non_causal(arm, tip, PERIOD)
    return Lead(torque, np.zeros_like(tip), elastic)


def from_outside(arm: FlexibleArm, tip: Array) -> Lead:
    """M~_ee q_e'' + D q_e' + K q_e = -M^_re^T J_r^-1 a and tau = 0 (Sun 6.9), forward in time."""
    direct = np.linalg.solve(arm.J_r, tip.T).T
    x, rates = _forward(arm.tilde_ee, arm.D, arm.K, -direct @ arm.hat_re)
    acceleration = rates[:, len(arm.K) :]
    joints = direct - acceleration @ np.linalg.solve(arm.J_r, arm.J_e).T
    load = joints @ arm.M_rr.T + acceleration @ arm.M_re.T
    return Lead(np.zeros_like(direct), -np.linalg.solve(arm.J_r.T, load.T).T, x[:, : len(arm.K)])


def led(arm: FlexibleArm, lead: Lead) -> Array:
    """Acceleration of the tip of the whole arm: M q'' + D q' + K q = B tau - J^T w, forward in time."""
    r, n = len(arm.M_rr), len(arm.M_rr) + len(arm.K)
    M = np.block([[arm.M_rr, arm.M_re], [arm.M_re.T, arm.M_ee]])
    K, D, J = np.zeros((n, n)), np.zeros((n, n)), np.hstack([arm.J_r, arm.J_e])
    K[r:, r:], D[r:, r:] = arm.K, arm.D
    force = -lead.wrench @ J
    force[:, :r] += lead.torque
    _, rates = _forward(M, D, K, force)
    return rates[:, n:] @ J.T


def _forward(M: Array, D: Array, K: Array, force: Array) -> tuple[Array, Array]:
    """States (q, q') from rest and their rates, under forces that are straight lines between samples."""
    n = len(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    B = np.vstack([np.zeros((n, n)), np.linalg.inv(M)])
    whole = np.zeros((4 * n, 4 * n))
    whole[: 2 * n, : 2 * n], whole[: 2 * n, 2 * n : 3 * n] = A * PERIOD, B * PERIOD
    whole[2 * n : 3 * n, 3 * n :] = np.eye(n)
    step, x, states = expm(whole)[: 2 * n], np.zeros(2 * n), []
    for now, after in zip(force, np.roll(force, -1, axis=0), strict=True):
        states.append(x)
        x = step @ np.concatenate([x, now, after - now])
    motion = np.array(states)
    return motion, motion @ A.T + force @ B.T


def early(lead: Lead, t: Array) -> float:
    """How long before the tip its actuators begin, at a thousandth of their largest torque or wrench [s]."""
    effort = np.abs(np.hstack([lead.torque, lead.wrench]))
    effort = (effort / np.maximum(effort.max(axis=0), 1e-12)).max(axis=1)
    return max(0.0, REST - float(t[np.flatnonzero(effort > 1e-3)[0]]))


def measure() -> list[Result]:
    """Bayo's (ours) beside the arm that is led from outside (peer)."""
    arm, (t, tip) = flexible_arm(), path()
    leads = by_torques(arm, tip), from_outside(arm, tip)
    size, after = np.abs(tip).max(axis=0), t > REST + LASTS + 0.5
    rows = {
        ("tip off its acceleration", "%"): [100 * float(np.abs((led(arm, a) - tip) / size).max()) for a in leads],
        ("actuators begin before the tip", "s"): [early(a, t) for a in leads],
        ("largest joint torque of the arm", "N m"): [float(np.abs(a.torque).max()) for a in leads],
        ("largest force from outside", "N"): [float(np.abs(a.wrench[:, :2]).max()) for a in leads],
        ("largest elastic coordinate", "mm"): [1e3 * float(np.abs(a.elastic).max()) for a in leads],
        ("the same 0.5 s after the path", "mm"): [1e3 * float(np.abs(a.elastic[after]).max()) for a in leads],
    }
    return [
        Result(name, unit, ours, peer, "led from outside", "offline reference", None)
        for (name, unit), (ours, peer) in rows.items()
    ]
