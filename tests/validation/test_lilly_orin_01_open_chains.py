"""Lilly and Orin 1991, acceptance tests 1 and 2: what a chain shows at its tip while nothing holds it."""

from __future__ import annotations

import numpy as np
import pytest

from granite.mrds.contacts.operational import base_pose, leaf_functions
from tests.support.random_systems import closed_chains
from tests.validation.claims import Claims
from tests.validation.lilly_chain import SpatialChain

QUICK, SLOW = (1, 2, 3, 4, 5, 6, 8), (7, 9, 10, 11, 12)


def against_dense(n: int) -> dict[str, tuple[float, float]]:
    """Largest errors of tip inertia (over its largest entry, or one) and of open acceleration, for ours and in O(N)."""
    module = closed_chains(1, n, "rigid_grasp", seed=n)[0].modules["chain0"]
    tip = next(p for p in module.points if p.name == "tip")
    leaf = leaf_functions(module, (tip,), planar=False)
    rng, errors = np.random.default_rng(n), {"ours": (0.0, 0.0), "recursion": (0.0, 0.0)}
    for _ in range(5):
        q, u, force = rng.uniform(-2, 2, n), rng.normal(size=n), rng.normal(size=n)
        chain = SpatialChain(module, q, u)
        H, J, h = chain.dense()
        Omega, expected = np.linalg.solve(H, J.T), np.linalg.solve(H, force - h)
        acceleration, by_recursion, Lambda = chain.articulated(force)
        outputs, X = leaf.eliminate(q=q, u=u, force=force, base=base_pose(module)), chain.to_world()
        opened = np.array(leaf.back_substitute(outputs["factors"], np.zeros(6)))
        Psi = np.array(leaf.back_substitute(outputs["factors"], np.eye(6))) - opened
        shown = np.array(outputs["inverse_inertia"])
        size = max(1.0, np.abs(J @ Omega).max())
        for name, at_tip, found_open in (
            ("recursion", [(by_recursion, Omega), (Lambda, J @ Omega)], acceleration),
            ("ours", [(Psi, Omega @ X.T), (shown, X @ J @ Omega @ X.T)], opened),
        ):
            off = max(np.abs(ours - right).max() / size for ours, right in at_tip)
            off_open = np.abs(found_open.ravel() - expected).max() / np.abs(expected).max()
            errors[name] = max(errors[name][0], off), max(errors[name][1], off_open)
    return errors


@pytest.mark.parametrize("lengths", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)], ids=["1 to 8", "up to 12"])
def test_l01_l02_an_open_chain_shows_its_inertia_and_acceleration_at_the_tip(
    lengths: tuple[int, ...], claims: Claims
) -> None:
    """Omega = H^-1 J^T and J H^-1 J^T (eqs. 10 and 12), and open accelerations (eq. 9), against dense matrices."""
    ours = [against_dense(n) for n in lengths]
    joints = ", ".join(map(str, lengths))
    for name in ("ours", "recursion"):
        at_tip, opened = np.max([errors[name] for errors in ours], axis=0)
        what = f"{name} against dense, chains of {joints} joints"
        claims.below("Lilly-Orin L01", f"Omega and inverse inertia at the tip, {what}", 1e-12, at_tip)
        claims.below("Lilly-Orin L02", f"open acceleration, {what}, relative", 1e-11, opened)
