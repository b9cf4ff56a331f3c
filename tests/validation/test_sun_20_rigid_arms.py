"""Sun 1996, section 5.3: rigid arms turn the bar under three objectives (tests 20 to 22)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.validation.claims import Claims
from tests.validation.sun_distribution import arms, distribution, grasp_matrix
from tests.validation.sun_motion import BarCell, Run
from tests.validation.sun_testbed import BAR_INERTIA, REACH
from tests.validation.sun_trajectory import turn

pytestmark = pytest.mark.usefixtures("interpreted")


@cache
def turned(objective: str) -> Run:
    ours = distribution(arms("RRR", "RRR"), [objective])
    return BarCell("RRR", "RRR").run(lambda grasp: ours.solve(grasp).wrench, step=0.02)


def peaks(objective: str) -> list[float]:
    """Largest torque of base, elbow and wrist."""
    torques = np.abs(turned(objective).torque).max(axis=0)
    return [float(max(torques[k], torques[k + 3])) for k in range(3)]


def test_sun20_torques_weighted_by_their_limits_give_table_5_2(claims: Claims) -> None:
    for name, expected, got in zip(
        ("base", "elbow", "wrist"), (13.5, 3.14, 1.37), peaks("joint_load_sharing"), strict=True
    ):
        claims.near("Sun 20", f"Table 5.2: largest torque, {name}", expected, got, 0.02, "N m")
    run = turned("joint_load_sharing")
    claims.below("Sun 20", "error of the object's equation in every sample", 1e-10, run.balance, "N, N m")
    claims.below("Sun 20", "energy that is not work, of the peak, 20 ms", 1e-6, run.energy_error / 100)


def test_sun21_other_objectives_give_other_torques(claims: Claims) -> None:
    for objective, expected in (("torque_norm", (4.65, 3.71, 7.13)), ("least_internal_force", (24.2, 4.31, 1.14))):
        for name, value, got in zip(("base", "elbow", "wrist"), expected, peaks(objective), strict=True):
            claims.near("Sun 21", f"{objective}: largest torque, {name}", value, got, 0.01, "N m")
    objectives = ("joint_load_sharing", "torque_norm", "least_internal_force")
    torque = {o: np.linalg.norm(turned(o).torque, axis=1) for o in objectives}
    wrench = {o: np.linalg.norm(turned(o).wrench, axis=1) for o in objectives}
    for o in objectives:
        assert (torque["torque_norm"] <= torque[o] + 1e-9).all()
        assert (wrench["least_internal_force"] <= wrench[o] + 1e-9).all()
    ratio = max(torque["torque_norm"].max() / torque[o].max() for o in ("joint_load_sharing", "least_internal_force"))
    claims.below("Sun 21", "peak torque norm of `torque_norm` over that of the others", 1.0, ratio)
    ratio = max(wrench["least_internal_force"].max() / wrench[o].max() for o in ("joint_load_sharing", "torque_norm"))
    claims.below("Sun 21", "peak wrench norm of `least_internal_force` over that of the others", 1.0, ratio)


def test_sun22_least_internal_force_has_a_closed_form(claims: Claims) -> None:
    run, off = turned("least_internal_force"), 0.0
    for t, w in zip(run.t, run.wrench, strict=True):
        angle, _, acceleration = (float(x) for x in turn(np.array(t)))
        n = BAR_INERTIA * acceleration / (2 * (1 + REACH**2))
        f = REACH * n * np.array([np.sin(angle), -np.cos(angle)])
        off = max(off, float(np.abs(w - [*f, n, *-f, n]).max()))
        assert grasp_matrix(angle) @ w == pytest.approx([0.0, 0.0, BAR_INERTIA * acceleration], abs=1e-10)
    claims.below("Sun 22", "wrenches of scheme I against their closed form", 1e-10, off, "N, N m")
