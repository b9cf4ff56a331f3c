"""Bonaventura 2002, acceptance test 5: a contact between two points of one module (type B), with its sign corrected."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.mrds.system import System
from tests.peers.interpreted import interpreted
from tests.peers.random_trees import random_module
from tests.support.random_systems import random_states
from tests.validation.claims import Claims
from tests.validation.lilly_chain import skew


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_mrds05_forces_within_a_module_move_it_with_a_plus_sign(
    seed: int, monkeypatch: pytest.MonkeyPatch, claims: Claims
) -> None:
    """q'' = q''_open + Psi_EP F_EP, where eq. 46 prints a minus; Psi_EP = H^-1 J_EP^T (eq. 47, 48)."""
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    module = random_module(seed, "spatial", "floating", 7)
    sides = [Side(module=module.name, point=f"point{k}") for k in range(2)]
    system = System([module], [Contact(name="grip", kind="hard_point", first=sides[0], second=sides[1])])
    q, u, force = random_states(system, seed)
    motion = system.contact_set().accelerate(q, u, force)

    model = interpreted(module)
    E, P = ({k: np.array(v) for k, v in model.point(f"point{i}", q, u)._asdict().items()} for i in range(2))
    to_E = np.kron(np.eye(2), E["rotation"].T)
    S = np.block([[np.eye(3), -skew(P["position"] - E["position"])], [np.zeros((3, 3)), np.eye(3)]])
    J_EP = to_E @ (P["jacobian"] - S @ E["jacobian"])
    H, F_EP = model.mass_matrix(q).copy(), np.concatenate([motion.force, np.zeros(3)])
    q_open, push = model.forward_dynamics(q, u, force).copy(), np.linalg.solve(H, J_EP.T @ F_EP)
    scale = np.abs(motion.acceleration).max()
    plus, minus = (np.abs(motion.acceleration - (q_open + sign * push)).max() / scale for sign in (1, -1))
    claims.below("MRDS 5", f"contact within a module, seed {seed}: off eq. 46 with a plus, relative", 1e-12, plus)
    claims.above("MRDS 5", f"the same, off eq. 46 as printed, with a minus, seed {seed}", 1e-2, minus)
    # eq. 43 with the forces of eq. 44 and 45, which have E act on P and P on E
    on_P = np.kron(np.eye(2), E["rotation"]) @ F_EP
    balance = (
        H @ motion.acceleration + model.bias(q, u) - force - P["jacobian"].T @ on_P + E["jacobian"].T @ (S.T @ on_P)
    )
    assert np.abs(balance).max() < 1e-11 * np.abs(F_EP).max() * scale
