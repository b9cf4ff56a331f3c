"""Bonaventura 2002, sections 4.5 and 5.5: how the cost grows (acceptance test 32), in operations, not in time.

Along a series of modules it is linear, contact solve included. Within one module the thesis counts on recursions that
are linear in its joints. Ours are direct products of sparse matrices, which the thesis prefers for small modules: up to
32 joints they grow with a power between 1.6 and 2.1.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from granite.config.contacts import Contact
from granite.config.modules import Body, Joint, Module, Point
from granite.mrds.contacts.operational import leaf_functions
from granite.mrds.system import System
from tests.support.random_systems import Referee
from tests.validation.bonaventura_systems import revolute
from tests.validation.claims import Claims


def arm(joints: int, name: str = "arm", base: str = "fixed") -> Module:
    """A planar chain of equal links."""
    bodies = [Body(name=f"link{i}", mass_kg=1.0, com_m=(0.2, 0.0), inertia_kg_m2=0.1) for i in range(joints + 1)]
    return Module(
        name=name, dimension="planar", base=base, bodies=tuple(bodies),
        joints=tuple(
            Joint(name=f"joint{i}", parent=f"link{i - 1}", child=f"link{i}", origin_m=(0.4, 0.0))
            for i in range(1, joints + 1)
        ),
        points=(
            Point(name="base", body="link0", position_m=(0.0, 0.0)),
            Point(name="tip", body=f"link{joints}", position_m=(0.4, 0.0)),
        ),
    )  # fmt: skip


def series(modules: int) -> tuple[list[Module], tuple[Contact, ...]]:
    """Arms of three joints, each held at the tip before."""
    arms = [arm(3, f"arm{k}", "floating" if k else "fixed") for k in range(modules)]
    return arms, tuple(revolute((a.name, "tip"), (b.name, "base")) for a, b in pairwise(arms))


def operations(modules: int) -> int:
    """Of one evaluation of all accelerations and contact forces."""
    arms, contacts = series(modules)
    return int(System(arms, contacts).contact_set().assembly.accelerate.expand().n_instructions())


def test_mrds32_cost_is_linear_along_a_series_of_modules(claims: Claims) -> None:
    counts = {m: operations(m) for m in (4, 8, 16, 32)}
    exponent = np.log2(counts[32] / counts[16])
    claims.equal("MRDS 32", "growth exponent of all operations, 16 to 32 modules in series", 1.0, exponent, 0.15)
    added = [(counts[2 * m] - counts[m]) / m for m in (4, 8, 16)]
    claims.near("MRDS 32", "operations that one more module adds, at 16 by at 4", added[0], added[2], 0.01)


def test_mrds32_contacts_meet_in_the_matrix_only_where_they_share_a_module(
    claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    arms, contacts = series(6)
    system = System(arms, contacts)
    closed = system.contact_set()
    q, u = np.random.default_rng(32).normal(size=(2, system.n_u))
    A, H = closed.constraint_matrix(q), Referee(system, closed).mass_and_bias(q, u)[0]
    B = A @ np.linalg.solve(H, A.T)
    blocks = np.abs(B.reshape(5, 2, 5, 2)).max(axis=(1, 3)) > 1e-12 * np.abs(B).max()
    claims.equal("MRDS 32", "blocks of B that are not zero, five contacts in series", 13, int(blocks.sum()), 0)
    assert (blocks == (np.abs(np.subtract.outer(range(5), range(5))) <= 1)).all()


@pytest.mark.slow
def test_mrds32_cost_within_a_module_grows_slower_than_dense_products(claims: Claims) -> None:
    counts = {n: leaf_functions(arm(n), arm(n).points[1:], True).eliminate.n_instructions() for n in (4, 8, 16, 32)}
    for n in (4, 8, 16):
        what = f"growth exponent of the operations of one module, {n} to {2 * n} joints (recursions: 1, dense: 3)"
        claims.below("MRDS 32", what, 2.3, np.log2(counts[2 * n] / counts[n]))
