"""Sun 1996, chapter 4: the grasp matrix of one object, and how many forces are free (tests 3 and 5)."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.config.modules import Module
from granite.mrds.system import System
from tests.support.random_systems import closed_chains
from tests.validation.claims import Claims
from tests.validation.sun_testbed import bed

pytestmark = pytest.mark.usefixtures("interpreted")


def lifted(a: float, mass: float) -> System:
    """Example 4.1: a bar that hangs from two rigid grasps at -a and a, by arms that are the ground."""
    grips = [{"name": f"grip{k}", "body": "bar", "position_m": [x, 0.0]} for k, x in ((1, -a), (2, a))]
    body = {"name": "bar", "mass_kg": mass, "inertia_kg_m2": 0.1}
    content = {"dimension": "planar", "base": "floating", "gravity_m_s2": [0.0, -9.81], "bodies": [body]}
    bar = Module.model_validate({"name": "bar", **content, "points": grips})
    contacts = [
        Contact(
            name=f"hold{k}",
            kind="rigid_grasp",
            first=Side(position_m=(x, 0.0)),
            second=Side(module="bar", point=f"grip{k}"),
        )
        for k, x in ((1, -a), (2, a))
    ]
    return System([bar], contacts)


def test_sun03_the_grasp_matrix_of_example_4_1_is_ours(claims: Claims) -> None:
    a, mass = 0.7, 3.0
    closed = lifted(a, mass).contact_set()
    A1 = np.array([[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, -a, 1, 0, a, 1.0]])
    ours = closed.constraint_matrix(np.zeros(3)).T
    claims.below("Sun 3", "grasp matrix of Example 4.1 against our contacts", 1e-12, np.abs(ours - A1).max())
    plus = 0.5 * np.array(
        [
            [1, 0, 0],
            [0, 1, -a / (a**2 + 1)],
            [0, 0, 1 / (a**2 + 1)],
            [1, 0, 0],
            [0, 1, a / (a**2 + 1)],
            [0, 0, 1 / (a**2 + 1)],
        ]
    )
    null = np.array([[0, -1, 0], [-1, 0, 0], [-2 * a, 0, -1], [0, 1, 0], [1, 0, 0], [0, 0, 1.0]])
    claims.below("Sun 3", "A1 times its printed pseudo-inverse, off one", 1e-12, np.abs(ours @ plus - np.eye(3)).max())
    claims.below("Sun 3", "A1 times its printed null space", 1e-12, np.abs(ours @ null).max())
    weight = mass * 9.81
    shared = plus @ [0.0, weight, 0.0]
    claims.equal("Sun 3", "smallest wrenches that carry the bar", [0, weight / 2, 0] * 2, shared, 1e-12, "N, N m")
    z = np.array([0.3, -1.2, 0.8])
    claims.below("Sun 3", "its product with any internal force", 1e-12, abs(shared @ null @ z))
    # What squeezes is what our contact set calls internal, and nothing else.
    internal = closed.internal_force("bar", np.zeros(3), shared + null @ z)
    claims.equal("Sun 3", "internal part of a load and a squeeze", null @ z, internal, 1e-12, "N, N m")
    held = closed.accelerate(np.zeros(3), np.zeros(3), np.zeros(3))
    assert ours @ held.force == pytest.approx([0.0, weight, 0.0], abs=1e-12)
    assert held.independence < 1e-9  # the forces are not unique: that is the redundancy


def test_moving_a_wrench_there_and_back_changes_nothing() -> None:
    """phi(c)^-1 = phi(-c), by the grasp matrices of two places."""
    there, back = (lifted(a, 1.0).contact_set().constraint_matrix(np.zeros(3)).T[:, 3:] for a in (0.7, -0.7))
    assert there @ back == pytest.approx(np.eye(3), abs=1e-15)


@pytest.mark.parametrize("arms", [2, *(pytest.param(arms, marks=pytest.mark.slow) for arms in (3, 4))])
def test_sun05_arms_of_six_joints_leave_six_freedoms_and_six_redundant_actuators_each(
    arms: int, claims: Claims
) -> None:
    system, q, _ = closed_chains(arms, 6, "rigid_grasp", seed=arms)
    A = system.contact_set().constraint_matrix(q)
    freedom = system.n_u - np.linalg.matrix_rank(A, tol=1e-9)
    squeezes = len(A) - np.linalg.matrix_rank(A[:, -6:], tol=1e-9)
    counted = [freedom, 6 * arms, 6 * arms - freedom, squeezes]
    expected = [6, 6 * arms, 6 * (arms - 1), 6 * (arms - 1)]
    what = f"{arms} arms in space: freedoms, actuators, redundant ones, internal forces"
    claims.equal("Sun 5", what, expected, counted, 0)


@pytest.mark.parametrize(
    ("left", "right", "elastic"), [("RRR", "RRR", 0), ("FRR", "RRR", 4), ("FRR", "FRR", 8), ("FFR", "RRR", 8)]
)
def test_sun05_two_planar_arms_leave_three_freedoms_and_those_of_their_elements(
    left: str, right: str, elastic: int, claims: Claims
) -> None:
    system, q, *arms = bed(left, right)
    closed = system.contact_set()
    gap = np.abs(closed.errors(q, np.zeros(system.n_u))[0]).max()
    A = closed.constraint_matrix(q)
    grips = np.concatenate([A[closed.rows[f"{side}_grip"]] for side in ("left", "right")])
    freedom = system.n_u - np.linalg.matrix_rank(A, tol=1e-9)
    actuators = sum(len(a.joints) for a in arms)
    squeezes = len(grips) - np.linalg.matrix_rank(grips[:, -3:], tol=1e-9)
    name = f"{left}-O-{right[::-1]}"
    what = f"{name}: freedoms, elastic ones, actuators, redundant ones, internal forces"
    counted = [freedom, sum(len(a.amplitudes) for a in arms), actuators, actuators - (freedom - elastic), squeezes]
    claims.equal("Sun 5", what, [3 + elastic, elastic, 6, 3, 3], counted, 0)
    claims.below("Sun 5", f"{name}: the hands reach the bar, largest gap", 1e-12, gap, "m, rad")
