"""Lilly and Orin 1991, acceptance test 18: gravity counts once; a body that falls with its support weighs nothing."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.mrds.system import System
from tests.support.random_systems import GRAVITY, closed_chains
from tests.validation.claims import Claims


@pytest.mark.slow
def test_l18_a_support_that_falls_with_the_mechanism_holds_without_force(
    monkeypatch: pytest.MonkeyPatch, claims: Claims
) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    fixed, _, _ = closed_chains(2, 6, "rigid_grasp", seed=7)
    modules = [
        m if m.name == "load" else m.model_copy(update={"base": "floating", "placement_m": (0.0, 0.0)})
        for m in fixed.modules.values()
    ]
    feet = [
        Contact(name=f"foot{k}", kind="rigid_grasp", first=Side(), second=Side(module=f"chain{k}", point="foot"))
        for k in range(2)
    ]
    system = System(modules, [*fixed.contacts.values(), *feet])
    closed = system.contact_set()
    rng = np.random.default_rng(7)
    q = np.concatenate(
        [[*rng.normal(size=3), 1, 0, 0, 0, *rng.normal(size=6)] for _ in range(2)] + [[0, 0, 0, 1, 0, 0, 0]]
    )
    falling = np.zeros(closed.n_held)
    for k in range(2):
        falling[closed.rows[f"foot{k}"]][:3] = GRAVITY
    motion = closed.accelerate(q, np.zeros(system.n_u), np.zeros(system.n_u), prescribed=falling)
    force = np.abs(motion.force).max()
    claims.below("Lilly-Orin L18", "contact forces of what falls with its support", 1e-10, force, "N, N m")
    once = np.concatenate([[*GRAVITY, 0, 0, 0, *np.zeros(6)]] * 2 + [[*GRAVITY, 0, 0, 0]])
    off = np.abs(motion.acceleration - once).max()
    claims.below("Lilly-Orin L18", "its accelerations but for one time gravity", 1e-10, off, "m/s^2, rad/s^2")
