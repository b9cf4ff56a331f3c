"""A contact between two points that move: their relative motion, and what the directions that hold make of it.

With G_E, G_P the maps from the twists of the two points to the relative twist of P against E (Bonaventura 2002, eq. 97
and 98), a contact is four small matrices: C = psi_c^T G and U = psi_u^T G for each side. They take twists to the
constrained and free velocities, and their transposes take forces to wrenches on the points: virtual power, so contacts
between modules, within one and with the ground need no rules of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from granite.mrds.contacts.kind import DIRECTIONS, PLANAR, Bases, Kind, Parameters, Relative
from granite.mrds.symbols import rotation


@dataclass(frozen=True)
class Place:
    """A point that moves, in world axes; the ground is one that does not."""

    module: str | None
    row: int  #: where its twist begins in those of the module
    position: ca.SX
    axes: ca.SX
    twist: ca.SX  #: (6)
    acceleration: ca.SX  #: (6)


@dataclass(frozen=True)
class Joint:
    """A contact in numbers to come; n_c rows each, n_u columns of the free modes."""

    sides: tuple[Place, Place]  #: E, P
    C: tuple[ca.SX, ca.SX]  #: turn psi_c^T G of both sides
    U: tuple[ca.SX, ca.SX]  #: psi_u^T G of both sides
    turn: ca.SX  #: a rotation of the constrained modes that leaves C with few entries
    velocity: ca.SX  #: psi_c^T x'_rel
    free_velocity: ca.SX  #: psi_u^T x'_rel
    acceleration: ca.SX  #: turn (psi_c^T x''_rel + psi_c'^T x'_rel), with the accelerations that the places have
    gap: ca.SX  #: what is missing to the pose that is to be, zero where a mode binds velocity only

    @property
    def n_held(self) -> int:
        """How many directions hold."""
        return int(self.C[0].shape[0])

    @property
    def n_free(self) -> int:
        """How many directions are free."""
        return int(self.U[0].shape[0])


def join(kind: Kind, parameters: Parameters, E: Place, P: Place, planar: bool, moved: dict[str, ca.SX]) -> Joint:
    """The contact of P against E, which is to be moved so far along some directions."""
    rows = PLANAR if planar else list(range(6))
    rho, w_E = P.position - E.position, E.twist[3:]
    v, w = P.twist[:3] - E.twist[:3] - ca.cross(w_E, rho), P.twist[3:] - w_E
    # Apparent acceleration in E (eq. 55 to 57), in world axes.
    a = P.acceleration[:3] - E.acceleration[:3] - ca.cross(E.acceleration[3:], rho)
    a -= ca.cross(w_E, ca.cross(w_E, rho)) + 2 * ca.cross(w_E, v)
    alpha = P.acceleration[3:] - E.acceleration[3:] - ca.cross(w_E, w)
    to_E = ca.diagcat(E.axes.T, E.axes.T)
    twist, pose = to_E @ ca.vertcat(v, w), Relative(E.axes.T @ rho, E.axes.T @ P.axes)
    bases, moving = _bases(kind, parameters, pose, twist, rows)
    psi_c, psi_u = (ca.sparsify(psi.T @ to_E[rows, rows]) for psi in (bases.psi_c, bases.psi_u))
    turned, turn = _turned(bases.psi_c, psi_c, to_E[rows, rows])
    zero, one = ca.SX(3, 3), ca.SX.eye(3)
    G_E = ca.vertcat(ca.horzcat(-one, ca.skew(rho)), ca.horzcat(zero, -one))[rows, rows]
    G_P = ca.diagcat(one, one)[rows, rows]
    return Joint(
        sides=(E, P),
        C=(ca.sparsify(turned @ G_E), ca.sparsify(turned @ G_P)),
        U=(ca.sparsify(psi_u @ G_E), ca.sparsify(psi_u @ G_P)),
        turn=turn,
        velocity=bases.psi_c.T @ twist[rows],
        free_velocity=bases.psi_u.T @ twist[rows],
        acceleration=turned @ ca.vertcat(a, alpha)[rows] + turn @ moving,
        gap=_gap(kind, parameters, pose, moved, planar) if moved else bases.gap,
    )


def _gap(kind: Kind, parameters: Parameters, pose: Relative, moved: dict[str, ca.SX], planar: bool) -> ca.SX:
    """The gap of a pose that is to be at r_d, R_d: that of r - r_d, R R_d^T, of rate x'_c less what it is to be."""
    at = [moved.get(name, ca.SX(0)) for name in DIRECTIONS]
    R_d = ca.SX.eye(3)
    for i, axis in enumerate(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))):
        if DIRECTIONS[3 + i] in moved:
            R_d = rotation(axis, at[3 + i])
    return kind.bases(Relative(pose.r - ca.vertcat(*at[:3]), pose.R @ R_d.T), parameters, planar).gap


def _turned(psi_c: ca.SX, in_world: ca.SX, to_E: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The constrained modes in world axes, turned so that those of a block held altogether are the world's own axes.

    A force that holds in all directions needs no axes of its own, and products with ones and zeros cost nothing.
    """
    turned, turn = ca.SX(in_world), ca.SX.eye(in_world.shape[0])
    d = to_E.shape[0]
    for block in ([0, 1, 2], [3, 4, 5]) if d == 6 else ([0, 1], [2]):
        unit = ca.SX.eye(d)[:, block]
        columns = [j for b in range(len(block)) for j in range(psi_c.shape[1]) if ca.is_equal(psi_c[:, j], unit[:, b])]
        if len(columns) == len(block):
            turned[columns, :] = unit.T
            turn[columns, columns] = to_E[block, block].T
    return ca.sparsify(turned), ca.sparsify(turn)


def _bases(kind: Kind, parameters: Parameters, pose: Relative, twist: ca.SX, rows: list[int]) -> tuple[Bases, ca.SX]:
    """The dual basis at a relative pose, and psi_c'^T x'_rel: the modes move with the pose, r' = v and R' = w x R."""
    at = Relative(ca.SX.sym("r", 3), ca.SX.sym("R", 3, 3))
    rate, x = ca.SX.sym("rate", 12), ca.SX.sym("x", len(rows))
    bases = kind.bases(at, parameters, len(rows) == 3)
    moving = ca.jtimes(ca.densify(bases.psi_c.T @ x), ca.vertcat(at.r, ca.vec(at.R)), rate)
    pose_rate = ca.vertcat(twist[:3], ca.vec(ca.skew(twist[3:]) @ pose.R))
    psi_u, psi_c, gap, moving = ca.substitute(
        [bases.psi_u, bases.psi_c, ca.densify(bases.gap), moving],
        [at.r, at.R, x, rate],
        [ca.densify(known) for known in (pose.r, pose.R, twist[rows], pose_rate)],
    )
    return Bases(ca.sparsify(psi_u), ca.sparsify(psi_c), gap), ca.sparsify(moving)
