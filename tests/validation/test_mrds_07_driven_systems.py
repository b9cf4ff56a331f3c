"""Bonaventura 2002, acceptance test 7: random systems whose contacts are driven, against one dense KKT solve.

What holds without drive is in tests/mrds/test_system.py; here known forces act along the free modes, constrained modes
are excited, modes vary in time (universal joints), and drift feedback is on.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from granite.config.contacts import Side
from granite.mrds.contacts import KINDS
from granite.mrds.contacts.kind import RelativePose
from granite.mrds.symbols import rotation_of_angles
from granite.mrds.system import System
from tests.peers.interpreted import interpreted
from tests.support import random_systems
from tests.support.random_systems import Array, Referee, random_states, random_system, split
from tests.validation.claims import Claims

SEEDS = [0, 18]
#: contacts that hold in both directions and without friction, as in the thesis
HOLDING = [
    "cylindrical", "hard_point", "plane", "prismatic", "revolute", "rigid_grasp", "rolling", "screw", "soft_finger",
    "spherical", "universal", "x_slide", "x_slide_turning", "y_slide", "y_slide_turning",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _holding_contacts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_systems, "SPATIAL", HOLDING)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [SEEDS[0], SEEDS[1], 12])
def test_mrds07_driven_contacts_are_one_dense_kkt_solve(
    seed: int, monkeypatch: pytest.MonkeyPatch, claims: Claims
) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    system = random_system(seed, "spatial")
    closed = system.contact_set()
    q, u, force = random_states(system, seed)
    rng = np.random.default_rng(seed)
    free, velocity, excited = rng.normal(size=closed.n_free), *rng.normal(size=(2, closed.n_held))
    feedback = (3.0, 2.0)
    motion = closed.accelerate(q, u, force, free_force=free, velocity=velocity, prescribed=excited, feedback=feedback)
    assert motion.independence > 1e-3
    referee = Referee(system, closed)
    gap, slip = closed.errors(q, u, velocity)
    push = free_modes(system, q, u).T @ free
    acceleration, held = referee.solve(q, u, force + push, excited - feedback[0] * slip - feedback[1] * gap)
    moves = np.abs(motion.acceleration - acceleration).max() / (1 + np.abs(acceleration).max())
    holds = np.abs(motion.force - held).max() / (1 + np.abs(held).max())
    claims.below("MRDS 7", f"accelerations of random system {seed} off one dense solve, relative", 1e-9, moves)
    claims.below("MRDS 7", f"contact forces of random system {seed} off one dense solve, relative", 1e-9, holds)


def free_modes(system: System, q: Array, u: Array) -> Array:
    """psi_u^T of all contacts on the relative twists, which the same contacts show if all of them hold rigidly."""
    rigid = System(
        list(system.modules.values()),
        [c.model_copy(update={"kind": "rigid_grasp", "parameters": {}}) for c in system.contacts.values()],
    )
    twists = rigid.contact_set().constraint_matrix(q)
    qs, us = split(system, q, "q"), split(system, u, "u")

    def pose(side: Side) -> tuple[Array, Array]:
        if side.grounded:
            place = (*side.position_m, 0.0)[:3]
            return np.array(place), np.array(ca.evalf(ca.densify(rotation_of_angles(side.rotation_rad))))
        point = next(p for p in system.modules[side.module].points if p.name == side.point)
        motion = interpreted(system.modules[side.module]).point(str(side.point), qs[side.module], us[side.module])
        return motion.position.copy(), motion.rotation @ np.array(
            ca.evalf(ca.densify(rotation_of_angles(point.rotation_rad)))
        )

    rows = []
    for i, contact in enumerate(system.contacts.values()):
        (r_E, R_E), (r_P, R_P) = pose(contact.first), pose(contact.second)
        relative = RelativePose(ca.SX(ca.DM(R_E.T @ (r_P - r_E))), ca.SX(ca.DM(R_E.T @ R_P)))
        psi_u = KINDS[contact.kind].bases(relative, contact.parameters, planar=False).psi_u
        rows.append(np.array(ca.evalf(ca.densify(psi_u))).reshape(6, -1).T @ twists[6 * i : 6 * i + 6])
    return np.vstack(rows)


def test_universal_joints_are_among_them() -> None:
    kinds = {c.kind for seed in SEEDS for c in random_system(seed, "spatial").contacts.values()}
    assert {"universal", "screw", "rolling"} <= kinds
