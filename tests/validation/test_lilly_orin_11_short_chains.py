"""Lilly and Orin 1991, acceptance test 11: a chain that cannot follow the body in all directions holds it back."""

from __future__ import annotations

import numpy as np
import pytest

from tests.peers.interpreted import interpreted
from tests.support.dense_model import Model
from tests.support.random_systems import Referee, closed_chains, split
from tests.validation.claims import Claims
from tests.validation.lilly_operational import operational

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize("m", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_l11_a_rigid_grasp_by_four_joints_is_one_dense_kkt_solve(m: int, claims: Claims) -> None:
    system, q, u = closed_chains(m, 4, "rigid_grasp", seed=m)
    closed = system.contact_set()
    q, u = closed.project(q, u)
    force = np.random.default_rng(m).normal(size=system.n_u)
    motion = closed.accelerate(q, u, force)
    acceleration, held = Referee(system, closed).solve(q, u, force)
    for name, ours, expected in (("accelerations", motion.acceleration, acceleration), ("forces", motion.force, held)):
        off = np.abs(ours - expected).max() / (1 + np.abs(expected).max())
        what = f"{m} rigid grasps by 4 joints: {name} against one dense solve, relative"
        claims.below("Lilly-Orin L11", what, 1e-9, off)


def test_l11_a_pseudo_inverse_in_place_of_the_operational_inertia_is_wrong(claims: Claims) -> None:
    """Directions in which the tip cannot move at all bind the body; a pseudo-inverse lets it go there."""
    system, q, u = closed_chains(1, 4, "rigid_grasp", seed=1)
    closed = system.contact_set()
    q, u = closed.project(q, u)
    force = np.random.default_rng(1).normal(size=system.n_u)
    qs, us, fs = split(system, q, "q"), split(system, u, "u"), split(system, force, "u")
    body = interpreted(system.modules["load"])
    chain, name = interpreted(system.modules["chain0"]), "chain0"
    Lambda, x_open = operational(chain, qs[name], us[name], fs[name], lambda L: np.linalg.pinv(L, rcond=1e-9))
    inertia = body.mass_matrix(qs["load"]) + Lambda
    wrong = np.linalg.solve(inertia, fs["load"] - body.bias(qs["load"], us["load"]) + Lambda @ x_open)
    right = closed.accelerate(q, u, force).acceleration[-6:]
    off = np.linalg.norm(wrong - right) / np.linalg.norm(right)
    claims.above("Lilly-Orin L11", "a pseudo-inverse for the operational inertia is off by, relative", 0.05, off)


@pytest.mark.slow
def test_l11_a_singular_pose_is_solved_as_well_and_not_called_dependent(claims: Claims) -> None:
    """A chain of six joints that has lost a direction: the forces are still unique, since the body can move there."""
    system, q, u = closed_chains(2, 6, "rigid_grasp", seed=4)
    chain = interpreted(system.modules["chain0"])
    q, u = q.copy(), np.zeros_like(u)
    q[:6] = _singular(chain)
    closed = system.contact_set()
    force = np.random.default_rng(4).normal(size=system.n_u)
    motion = closed.accelerate(q, u, force)
    assert motion.independence > 1e-6
    acceleration, held = Referee(system, closed).solve(q, u, force)
    for name, ours, expected in (("accelerations", motion.acceleration, acceleration), ("forces", motion.force, held)):
        off = np.abs(ours - expected).max() / (1 + np.abs(expected).max())
        claims.below("Lilly-Orin L11", f"a chain in a singular pose: {name} against one dense solve", 1e-9, off)


def _singular(chain: Model):
    """Joint angles at which the tip's Jacobian loses rank, by bisection of its determinant."""
    rng = np.random.default_rng(0)

    def determinant(q):
        return np.linalg.det(chain.point("tip", q, np.zeros(6)).jacobian)

    states = rng.uniform(-2, 2, (50, 6))
    low = next(q for q in states if determinant(q) < 0)
    high = next(q for q in states if determinant(q) > 0)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if determinant(middle) < 0 else (low, middle)
    return (low + high) / 2
