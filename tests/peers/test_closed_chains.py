"""Pinocchio as referee of rigid modules that hold each other: accelerations and contact forces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from granite.config.contacts import Contact, Side
from granite.mrds.system import System
from tests.peers.pinocchio_system import ROWS, PinocchioSystem
from tests.support.random_systems import WELL_APART, closed_chains, fitting_system, holdable

pytestmark = pytest.mark.usefixtures("interpreted")

TOLERANCE = 1e-9


def _agree(system: System, q, u, seed: int) -> None:
    closed, theirs = system.contact_set(), PinocchioSystem(system)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q, u = closed.project(q, u + 0.3 * rng.normal(size=system.n_u))
        assert max(np.abs(error).max() for error in closed.errors(q, u)) < 1e-11
        force = 3 * rng.normal(size=system.n_u)
        motion = closed.accelerate(q, u, force)
        acceleration, held = theirs.accelerate(q, u, force)
        assert motion.acceleration == pytest.approx(acceleration, abs=TOLERANCE * np.abs(acceleration).max())
        assert motion.force == pytest.approx(held, abs=TOLERANCE * np.abs(held).max())
        q, u = closed.rk4(q, u, force, 5e-3, project=True)


@pytest.mark.parametrize("kind", ["rigid_grasp", "spherical"])
@pytest.mark.parametrize(
    ("m", "n", "base"),
    [(3, 4, "fixed"), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((2, 6, "fixed"), (2, 7, "floating")))],
)
def test_chains_around_one_body(m: int, n: int, base: str, kind: str) -> None:
    if (n, kind) == (4, "rigid_grasp"):
        m = 1  # more of them would hold the body in more directions than there are
    system, q, u = closed_chains(m, n, kind, 100 * m + n, base)
    _agree(system, q, 0.3 * u, m)


@pytest.mark.slow
def test_a_floating_loop_that_also_holds_the_ground() -> None:
    system, q, u = closed_chains(2, 7, "rigid_grasp", 5, "floating")
    load = system.modules["load"]
    at = load.points[0]
    hold = Contact(
        name="hold", kind="spherical", first=Side(position_m=at.position_m, rotation_rad=(0.1, 0.2, 0.3)),
        second=Side(module="load", point=at.name),
    )  # fmt: skip
    whole = System(list(system.modules.values()), [*system.contacts.values(), hold])
    _agree(whole, q, 0.3 * u, 2)


@pytest.mark.slow
def test_any_rigid_system_held_in_six_or_three_directions() -> None:
    """Chains, trees and loops of modules, some on the ground, in poses that fit."""

    def fits(seed: int) -> bool:
        return holdable(fitting_system(seed, sorted(ROWS))[0])

    @settings(max_examples=15, phases=[Phase.generate])  # a smaller seed is no simpler system
    @given(st.integers(0, 1 << 20).filter(fits))
    def agrees(seed: int) -> None:
        system, q = fitting_system(seed, sorted(ROWS))
        closed, theirs = system.contact_set(), PinocchioSystem(system)
        A, rng = closed.constraint_matrix(q), np.random.default_rng(seed)
        for _ in range(3):
            u, force = rng.normal(size=(2, system.n_u))
            u -= np.linalg.pinv(A) @ A @ u
            assert max(np.abs(error).max() for error in closed.errors(q, u)) < 1e-11
            motion = closed.accelerate(q, u, force)
            assume(motion.independence >= WELL_APART)
            acceleration, held = theirs.accelerate(q, u, force)
            assert motion.acceleration == pytest.approx(acceleration, abs=TOLERANCE * np.abs(acceleration).max())
            assert motion.force == pytest.approx(held, abs=TOLERANCE * np.abs(held).max())

    agrees()
