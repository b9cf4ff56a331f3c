"""The global level of MRDS: contact forces of one contact set from what the modules show of themselves.

Bonaventura 2002, sections 5.4 to 5.6: with G the map from the twists of a contact's two points to the relative twist in
the axes of E, and psi_c the directions that hold,

    psi_c^T x''_rel = x''_c - psi_c'^T x'_rel    x'' = x''_open + Lambda^-1 W    W = sum of G^T (psi_u F_u + psi_c F_c)

is linear in the unknown forces F_c. All contact types of the thesis (A, B, between modules, within one, with ground)
are this one expression; its signs for type B are misprinted there (eq. 46, 50, 51).

Modules that join others are hubs: their accelerations stay unknown beside the forces, so that chains around one body do
not couple (Lilly and Orin's reference member), and the system [-S -A; -A^T H] [F_c; u'] = [-y; f] is quasi-definite.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import casadi as ca

from config.base import spatial
from config.contacts import Contact, Side
from mrds.contacts import KINDS
from mrds.contacts.kind import PLANAR, Bases, Relative
from mrds.elimination import eliminate
from mrds.symbols import rotation_of_angles, vector


@dataclass(frozen=True)
class Shown:
    """What a module shows of itself at its points: symbols that its compiled function fills."""

    points: tuple[str, ...]
    positions: ca.SX
    axes: ca.SX
    twists: ca.SX
    acceleration: ca.SX  #: of the points without contact forces (leaf), or without acceleration of the module (hub)
    inverse_inertia: ca.SX  #: Lambda^-1 (leaf)
    H: ca.SX  #: (hub)
    J: ca.SX  #: (hub)
    net_force: ca.SX  #: (hub)
    is_hub: bool


@dataclass(frozen=True)
class _Point:
    """One side of a contact."""

    module: str | None
    row: int  #: where its twist begins in those of the module
    position: ca.SX
    axes: ca.SX
    twist: ca.SX  #: (6)
    acceleration: ca.SX  #: (6)


@dataclass(frozen=True)
class _Joint:
    """A contact in numbers to come."""

    bases: Bases
    first: _Point
    second: _Point
    G: tuple[ca.SX, ca.SX]  #: maps from the twists of the two sides to the relative twist
    twist: ca.SX  #: relative, in the rows of the system
    bias: ca.SX  #: psi_c^T x''_rel + psi_c'^T x'_rel before any contact force acts


class Joined:
    """One contact set. Inputs and outputs are symbols; `mrds.system` makes a function of them."""

    def __init__(self, shown: dict[str, Shown], contacts: tuple[Contact, ...], planar: bool) -> None:
        self._shown, self._planar = shown, planar
        self._rows = PLANAR if planar else list(range(6))
        self.contacts = contacts
        self._joints = [self._join(c) for c in contacts]
        self.n_free = [j.bases.psi_u.shape[1] for j in self._joints]
        self.n_held = [j.bases.psi_c.shape[1] for j in self._joints]
        #: known forces along the free modes, and prescribed velocity and acceleration along the constrained ones
        self.free_force = ca.SX.sym("F_u", sum(self.n_free))
        self.velocity, self.prescribed = ca.SX.sym("xd_c", sum(self.n_held)), ca.SX.sym("xdd_c", sum(self.n_held))
        #: drift feedback: how strongly velocity and pose errors of the constraints are pulled back [1/s, 1/s^2]
        self.feedback = ca.SX.sym("feedback", 2)
        #: errors of the constraints: velocity, and pose where it is bound
        self.slip = ca.vertcat(*(j.bases.psi_c.T @ j.twist for j in self._joints)) - self.velocity
        self.gap = ca.vertcat(*(j.bases.gap for j in self._joints))

    def solved(self) -> tuple[ca.SX, dict[str, ca.SX], dict[str, ca.SX], ca.SX]:
        """Forces that hold, wrench at the points of every leaf, acceleration of every hub, and the least of the pivots
        against the diagonal they came from: near zero, the constraints depend on each other."""
        known = {name: ca.SX.zeros(s.twists.shape[0]) for name, s in self._shown.items()}
        for joint, force in zip(self._joints, self._split(self.free_force, self.n_free), strict=True):
            self._push(known, joint, joint.bases.psi_u @ force)
        S, y = self._schur(known)
        hubs = [name for name, s in self._shown.items() if s.is_hub]
        A = {name: self._coupling(name) for name in hubs}
        loose = [i for i in range(S.shape[0]) if S[i, i].nnz() == 0 or S[i, i].is_zero()]
        held = [i for i in range(S.shape[0]) if i not in loose]
        K = self._assembled(S, A, hubs, held, loose)
        f = [self._shown[name].net_force + self._shown[name].J.T @ known[name] for name in hubs]
        x, pivots = eliminate(K, ca.vertcat(-y[held], *f, -y[loose]))
        force = ca.SX.zeros(S.shape[0])
        n_hub = sum(self._shown[name].H.shape[0] for name in hubs)
        if held:
            force[held] = x[: len(held)]
        if loose:
            force[loose] = x[len(held) + n_hub :]
        accelerations, at = {}, len(held)
        for name in hubs:
            n = self._shown[name].H.shape[0]
            accelerations[name] = x[at : at + n]
            at += n
        for joint, holding in zip(self._joints, self._split(force, self.n_held), strict=True):
            self._push(known, joint, joint.bases.psi_c @ holding)
        independence = [pivots[k] / -S[i, i] for k, i in enumerate(held)]
        least = independence[0] if independence else ca.SX(1)
        for ratio in independence[1:]:
            least = ca.fmin(least, ratio)
        return force, known, accelerations, least

    def schur(self) -> tuple[ca.SX, ca.SX]:
        """S and y of S F_c = y when no module is a hub: for the general solution where constraints are dependent."""
        known = {name: ca.SX.zeros(s.twists.shape[0]) for name, s in self._shown.items()}
        for joint, force in zip(self._joints, self._split(self.free_force, self.n_free), strict=True):
            self._push(known, joint, joint.bases.psi_u @ force)
        return self._schur(known)

    def wrenches(self, force: ca.SX) -> dict[str, ca.SX]:
        """The wrench at the points of every module for given holding forces, free forces included."""
        total = {name: ca.SX.zeros(s.twists.shape[0]) for name, s in self._shown.items()}
        free = self._split(self.free_force, self.n_free)
        for joint, f, holding in zip(self._joints, free, self._split(force, self.n_held), strict=True):
            self._push(total, joint, joint.bases.psi_u @ f + joint.bases.psi_c @ holding)
        return total

    def _schur(self, known: dict[str, ca.SX]) -> tuple[ca.SX, ca.SX]:
        """psi_c^T G Lambda^-1 G^T psi_c over the leaves, and what the forces must make up for."""
        C = {name: self._rows_of(name) for name in self._shown}
        n = sum(self.n_held)
        S, moved = ca.SX(n, n), ca.SX(n, 1)
        for name, s in self._shown.items():
            if s.is_hub:
                continue
            reach = C[name] @ s.inverse_inertia
            S += ca.sparsify(reach @ C[name].T)
            moved += reach @ known[name]
        bias = ca.vertcat(*(j.bias for j in self._joints))
        kv, kp = self.feedback[0], self.feedback[1]
        return S, self.prescribed - bias - moved - kv * self.slip - kp * self.gap

    def _coupling(self, hub: str) -> ca.SX:
        return self._rows_of(hub) @ self._shown[hub].J

    def _assembled(self, S: ca.SX, A: dict[str, ca.SX], hubs: list[str], held: list[int], loose: list[int]) -> ca.SX:
        """Order of elimination: forces that a leaf resists, hubs, then forces that only hubs resist."""
        n_hub = sum(self._shown[name].H.shape[0] for name in hubs)
        n = len(held) + n_hub + len(loose)
        K = ca.SX(n, n)
        K[: len(held), : len(held)] = -S[held, held]
        at = len(held)
        for name in hubs:
            H = self._shown[name].H
            here = slice(at, at + H.shape[0])
            K[here, here] = H
            K[: len(held), here], K[here, : len(held)] = -A[name][held, :], -A[name][held, :].T
            K[len(held) + n_hub :, here], K[here, len(held) + n_hub :] = -A[name][loose, :], -A[name][loose, :].T
            at += H.shape[0]
        return ca.sparsify(K)

    def _rows_of(self, name: str) -> ca.SX:
        """psi_c^T G for the points of one module, all contacts."""
        n = self._shown[name].twists.shape[0]
        rows = []
        for joint in self._joints:
            C = ca.SX(joint.bases.psi_c.shape[1], n)
            for side, G in zip((joint.first, joint.second), joint.G, strict=True):
                if side.module == name:
                    here = slice(side.row, side.row + len(self._rows))
                    C[:, here] += joint.bases.psi_c.T @ G
            rows.append(C)
        return ca.sparsify(ca.vertcat(*rows)) if rows else ca.SX(0, n)

    def _push(self, wrenches: dict[str, ca.SX], joint: _Joint, force: ca.SX) -> None:
        """Add the wrench of a contact force, by E on P in the axes of E, at both sides: virtual power with G."""
        for side, G in zip((joint.first, joint.second), joint.G, strict=True):
            if side.module is not None:
                here = slice(side.row, side.row + len(self._rows))
                wrenches[side.module][here] += G.T @ force

    def _join(self, contact: Contact) -> _Joint:
        E, P = self._point(contact.first), self._point(contact.second)
        R, rho = E.axes, P.position - E.position
        w_E = E.twist[3:]
        v = R.T @ (P.twist[:3] - E.twist[:3] - ca.cross(w_E, rho))
        w = R.T @ (P.twist[3:] - w_E)
        # Apparent acceleration in E (eq. 55 to 57).
        a = R.T @ (
            P.acceleration[:3] - E.acceleration[:3] - ca.cross(E.acceleration[3:], rho)
            - ca.cross(w_E, ca.cross(w_E, rho)) - 2 * ca.cross(w_E, R @ v)
        )  # fmt: skip
        alpha = R.T @ (P.acceleration[3:] - E.acceleration[3:] - ca.cross(w_E, R @ w))
        r, axes = ca.SX.sym("r", 3), ca.SX.sym("R", 3, 3)
        kind = KINDS[contact.kind]
        bases = kind.bases(Relative(r, axes), contact.parameters, self._planar)
        twist, acceleration = ca.vertcat(v, w)[self._rows], ca.vertcat(a, alpha)[self._rows]
        # psi_c'^T x'_rel: the modes move with the relative pose, r' = v and R' = w x R.
        x = ca.SX.sym("x", len(self._rows))
        pose, rate = ca.vertcat(r, ca.vec(axes)), ca.vertcat(v, ca.vec(ca.skew(w) @ (R.T @ P.axes)))
        rate_symbol = ca.SX.sym("rate", 12)
        moving = ca.jtimes(ca.densify(bases.psi_c.T @ x), pose, rate_symbol)
        here = [R.T @ rho, R.T @ P.axes]
        psi_u, psi_c, gap, moving = ca.substitute(
            [bases.psi_u, bases.psi_c, ca.densify(bases.gap), moving],
            [r, axes, x, rate_symbol],
            [ca.densify(here[0]), ca.densify(here[1]), ca.densify(twist), ca.densify(rate)],
        )
        bases = Bases(ca.sparsify(psi_u), ca.sparsify(psi_c), gap, bases.holonomic)
        zero = ca.SX(3, 3)
        G_P = ca.vertcat(ca.horzcat(R.T, zero), ca.horzcat(zero, R.T))
        G_E = ca.vertcat(ca.horzcat(-R.T, R.T @ ca.skew(rho)), ca.horzcat(zero, -R.T))
        G = tuple(ca.sparsify(g[self._rows, self._rows]) for g in (G_E, G_P))
        return _Joint(bases, E, P, (G[0], G[1]), twist, psi_c.T @ acceleration + moving)

    def _point(self, side: Side) -> _Point:
        if side.grounded:
            still = ca.SX(6, 1)
            position = vector(spatial(side.position_m))
            return _Point(None, 0, position, rotation_of_angles(side.rotation_rad), still, still)
        shown = self._shown[side.module]
        i, d = shown.points.index(side.point or ""), len(self._rows)
        here = slice(d * i, d * (i + 1))
        axes = shown.axes[:, 3 * i : 3 * i + 3]
        return _Point(
            side.module, d * i, shown.positions[3 * i : 3 * i + 3], axes,
            self._full(shown.twists[here]), self._full(shown.acceleration[here]),
        )  # fmt: skip

    def _full(self, twist: ca.SX) -> ca.SX:
        full = ca.SX(6, 1)
        full[self._rows] = twist
        return full

    @staticmethod
    def _split(stacked: ca.SX, sizes: list[int]) -> list[ca.SX]:
        cuts = [0]
        for size in sizes:
            cuts.append(cuts[-1] + size)
        return [stacked[a:b] if b > a else ca.SX(0, 1) for a, b in pairwise(cuts)]
