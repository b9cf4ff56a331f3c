"""Bonaventura 2002, acceptance test 6: the blocks of B (table 17), for contacts between modules and within one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

from granite.config.contacts import Contact, Side
from granite.mrds.system import System
from tests.peers.interpreted import interpreted
from tests.peers.random_trees import random_module
from tests.support.random_systems import Array, Referee, random_states, split
from tests.validation.claims import Claims
from tests.validation.lilly_chain import skew

#: module of E and of P: A-contacts that share a module or none, B-contacts, and both on one module
TOPOLOGY = [(0, 1), (1, 2), (1, 1), (3, 4), (4, 4), (0, 2)]


class Table17:
    """B from inverse inertias between points, as the thesis assembles it."""

    def __init__(self, contacts: list[tuple[tuple[int, dict], tuple[int, dict]]], H: list[Array]) -> None:
        self.contacts, self.H = contacts, H

    def matrix(self) -> Array:
        n = len(self.contacts)
        return np.block([[self.block(i, j) for j in range(n)] for i in range(n)])

    def block(self, i: int, j: int) -> Array:
        (E_i, P_i), (E_j, P_j) = self.contacts[i], self.contacts[j]
        inner_i, inner_j = E_i[0] == P_i[0], E_j[0] == P_j[0]
        R_i, R_j, S_i, S_j = self.axes(i), self.axes(j), self.shift(i), self.shift(j)
        J = {"E": lambda c: c[0][1]["jacobian"], "P": lambda c: c[1][1]["jacobian"]}
        owner = {"E": lambda c: c[0][0], "P": lambda c: c[1][0]}

        def between(a: str, b: str) -> Array:
            """Lambda^-1 of two points, or of a relative motion R."""
            first = self.relative(i) if a == "R" else J[a](self.contacts[i])
            second = self.relative(j) if b == "R" else J[b](self.contacts[j])
            k = owner["E" if a == "R" else a](self.contacts[i])
            if k != owner["E" if b == "R" else b](self.contacts[j]):
                return np.zeros((6, 6))
            return first @ np.linalg.solve(self.H[k], second.T)

        if inner_i and inner_j:
            return between("R", "R")
        if inner_i:
            return (between("R", "P") - between("R", "E") @ S_j.T) @ R_j
        if inner_j:
            return R_i.T @ (between("P", "R") - S_i @ between("E", "R"))
        return R_i.T @ (
            between("P", "P") - between("P", "E") @ S_j.T - S_i @ between("E", "P") + S_i @ between("E", "E") @ S_j.T
        ) @ R_j  # fmt: skip

    def axes(self, i: int) -> Array:
        return np.kron(np.eye(2), self.contacts[i][0][1]["rotation"])

    def shift(self, i: int) -> Array:
        E, P = (side[1] for side in self.contacts[i])
        return np.block([[np.eye(3), -skew(P["position"] - E["position"])], [np.zeros((3, 3)), np.eye(3)]])

    def relative(self, i: int) -> Array:
        """Eq. 71."""
        E, P = (side[1] for side in self.contacts[i])
        return self.axes(i).T @ (P["jacobian"] - self.shift(i) @ E["jacobian"])

    def directly(self) -> Array:
        """J H^-1 J^T with all contacts in J, each in its own axes."""
        rows = []
        for i, sides in enumerate(self.contacts):
            row = [np.zeros((6, len(H))) for H in self.H]
            (e, E), (p, P) = sides
            row[p] = row[p] + self.axes(i).T @ P["jacobian"]
            row[e] = row[e] - self.axes(i).T @ self.shift(i) @ E["jacobian"]
            rows.append(np.hstack(row))
        J = np.vstack(rows)
        return J @ np.linalg.solve(block_diag(*self.H), J.T)


def _case(seed: int):
    rng = np.random.default_rng(seed)
    modules = [
        random_module(10 * seed + k, "spatial", str(rng.choice(["fixed", "floating"])), 4).model_copy(
            update={"name": f"m{k}"}
        )
        for k in range(5)
    ]
    contacts = [
        Contact(
            name=f"c{i}", kind="rigid_grasp", first=Side(module=f"m{e}", point="point0"),
            second=Side(module=f"m{p}", point="point1"),
        )
        for i, (e, p) in enumerate(TOPOLOGY)
    ]  # fmt: skip
    system = System(modules, contacts)
    q, u, _ = random_states(system, seed)
    qs, us = split(system, q, "q"), split(system, u, "u")
    models = [interpreted(m) for m in modules]

    def side(k: int, point: str):
        motion = models[k].point(point, qs[f"m{k}"], us[f"m{k}"])
        return k, {what: np.array(value) for what, value in motion._asdict().items()}

    sides = [(side(e, "point0"), side(p, "point1")) for e, p in TOPOLOGY]
    return system, q, u, sides, [m.mass_matrix(qs[f"m{k}"]).copy() for k, m in enumerate(models)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_mrds06_the_table_is_one_expression_and_ours(
    seed: int, monkeypatch: pytest.MonkeyPatch, claims: Claims
) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    system, q, u, sides, H = _case(seed)
    table = Table17(sides, H)
    B = table.matrix()
    scale = np.abs(B).max()
    whole = np.abs(B - table.directly()).max() / scale
    claims.below("MRDS 6", f"random system {seed}: B of Table 17 off J H^-1 J^T, relative", 1e-12, whole)
    closed = system.contact_set()
    A = closed.constraint_matrix(q)
    ours = np.abs(A @ np.linalg.solve(block_diag(*H), A.T) - B).max() / scale
    claims.below("MRDS 6", f"random system {seed}: our B off Table 17, relative", 1e-12, ours)
    assert Referee(system, closed).constraints(q, u)[0] == pytest.approx(A, abs=1e-12)
    # The thesis warns that linearised flexible modules may have an H that is not symmetric: the table still holds.
    rng = np.random.default_rng(seed)
    skewed = Table17(sides, [h + 0.05 * rng.normal(size=h.shape) for h in H])
    apart = np.abs(skewed.matrix() - skewed.directly()).max() / np.abs(skewed.directly()).max()
    claims.below("MRDS 6", f"random system {seed}: Table 17 where H is not symmetric, relative", 1e-12, apart)
