"""Kinematics of one contact: relative motion of its two points along its constrained and free modes.

With G_E, G_P the maps from the twists of the two points to the relative twist of P against E (Bonaventura 2002, eq. 97
and 98), a contact is four small matrices: C = psi_c^T G and U = psi_u^T G for each side. They map twists to the
constrained and free velocities, and their transposes map forces to wrenches on the points (virtual power), so contacts
between modules, within one and with the ground need no rules of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from granite.mrds.contacts.kind import DIRECTIONS, PLANAR, Bases, Kind, Parameters, RelativePose
from granite.mrds.symbols import rotation


@dataclass(frozen=True)
class ContactPoint:
    """A side of a contact, in world axes: a point of a module, or of the ground."""

    module: str | None
    row: int  #: first row of its twist among those of the module
    position: ca.SX
    axes: ca.SX
    twist: ca.SX  #: (6)
    acceleration: ca.SX  #: (6)


@dataclass(frozen=True)
class ContactKinematics:
    """A contact in symbols: n_held constrained modes, n_free free modes."""

    sides: tuple[ContactPoint, ContactPoint]  #: E, P
    C: tuple[ca.SX, ca.SX]  #: rotation psi_c^T G of both sides
    U: tuple[ca.SX, ca.SX]  #: psi_u^T G of both sides
    rotation: ca.SX  #: rotates the constrained modes into axes in which C is sparse
    velocity: ca.SX  #: psi_c^T x'_rel
    free_velocity: ca.SX  #: psi_u^T x'_rel
    acceleration: ca.SX  #: rotation (psi_c^T x''_rel + psi_c'^T x'_rel), with the accelerations of the points
    gap: ca.SX  #: position error along each constrained mode, zero where a mode constrains velocity only
    stretch: ca.SX  #: position error along each mode that a rigid contact of the kind constrains

    @property
    def n_held(self) -> int:
        """Number of constrained modes."""
        return int(self.C[0].shape[0])

    @property
    def n_free(self) -> int:
        """Number of free modes."""
        return int(self.U[0].shape[0])


def contact_kinematics(
    kind: Kind,
    parameters: Parameters,
    E: ContactPoint,
    P: ContactPoint,
    planar: bool,
    moved: dict[str, ca.SX],
    rigid: Kind,
) -> ContactKinematics:
    """The contact of P against E, with prescribed displacements along the directions `moved`; `rigid`: its own kind."""
    rows = PLANAR if planar else list(range(6))
    rho, w_E = P.position - E.position, E.twist[3:]
    v = P.twist[:3] - E.twist[:3] - ca.cross(w_E, rho)
    w = P.twist[3:] - w_E
    # Apparent acceleration in E (eq. 55 to 57), in world axes.
    a = P.acceleration[:3] - E.acceleration[:3] - ca.cross(E.acceleration[3:], rho)
    a -= ca.cross(w_E, ca.cross(w_E, rho)) + 2 * ca.cross(w_E, v)
    alpha = P.acceleration[3:] - E.acceleration[3:] - ca.cross(w_E, w)
    to_E = ca.diagcat(E.axes.T, E.axes.T)
    twist = to_E @ ca.vertcat(v, w)
    pose = RelativePose(E.axes.T @ rho, E.axes.T @ P.axes)
    bases, basis_rate = _bases(kind, parameters, pose, twist, rows)
    psi_c = ca.sparsify(bases.psi_c.T @ to_E[rows, rows])
    psi_u = ca.sparsify(bases.psi_u.T @ to_E[rows, rows])
    rotated, rotation_c = _rotated(bases.psi_c, psi_c, to_E[rows, rows])
    zero, one = ca.SX(3, 3), ca.SX.eye(3)
    G_E = ca.vertcat(ca.horzcat(-one, ca.skew(rho)), ca.horzcat(zero, -one))[rows, rows]
    G_P = ca.diagcat(one, one)[rows, rows]
    return ContactKinematics(
        sides=(E, P),
        C=(ca.sparsify(rotated @ G_E), ca.sparsify(rotated @ G_P)),
        U=(ca.sparsify(psi_u @ G_E), ca.sparsify(psi_u @ G_P)),
        rotation=rotation_c,
        velocity=bases.psi_c.T @ twist[rows],
        free_velocity=bases.psi_u.T @ twist[rows],
        acceleration=rotated @ ca.vertcat(a, alpha)[rows] + rotation_c @ basis_rate,
        gap=_gap(kind, parameters, pose, moved, planar) if moved else bases.gap,
        stretch=rigid.bases(pose, parameters, planar).gap,
    )


def _gap(kind: Kind, parameters: Parameters, pose: RelativePose, moved: dict[str, ca.SX], planar: bool) -> ca.SX:
    """The gap against a prescribed pose r_d, R_d: that of r - r_d, R R_d^T, whose rate is x'_c less the prescribed."""
    at = [moved.get(name, ca.SX(0)) for name in DIRECTIONS]
    R_d = ca.SX.eye(3)
    for i, axis in enumerate(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))):
        if DIRECTIONS[3 + i] in moved:
            R_d = rotation(axis, at[3 + i])
    return kind.bases(RelativePose(pose.r - ca.vertcat(*at[:3]), pose.R @ R_d.T), parameters, planar).gap


def _rotated(psi_c: ca.SX, in_world: ca.SX, to_E: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The constrained modes in world axes, with those of a fully constrained block rotated to the world's own axes.

    A force that is constrained in all directions needs no axes of its own, and products with ones and zeros are free.
    """
    rotated = ca.SX(in_world)
    rotation_c = ca.SX.eye(in_world.shape[0])
    d = to_E.shape[0]
    for block in ([0, 1, 2], [3, 4, 5]) if d == 6 else ([0, 1], [2]):
        unit = ca.SX.eye(d)[:, block]
        columns = [j for b in range(len(block)) for j in range(psi_c.shape[1]) if ca.is_equal(psi_c[:, j], unit[:, b])]
        if len(columns) == len(block):
            rotated[columns, :] = unit.T
            rotation_c[columns, columns] = to_E[block, block].T
    return ca.sparsify(rotated), ca.sparsify(rotation_c)


def _bases(
    kind: Kind, parameters: Parameters, pose: RelativePose, twist: ca.SX, rows: list[int]
) -> tuple[Bases, ca.SX]:
    """The dual basis at a relative pose, and psi_c'^T x'_rel: the modes depend on the pose, r' = v and R' = w x R."""
    at = RelativePose(ca.SX.sym("r", 3), ca.SX.sym("R", 3, 3))
    rate, x = ca.SX.sym("rate", 12), ca.SX.sym("x", len(rows))
    bases = kind.bases(at, parameters, len(rows) == 3)
    basis_rate = ca.jtimes(ca.densify(bases.psi_c.T @ x), ca.vertcat(at.r, ca.vec(at.R)), rate)
    pose_rate = ca.vertcat(twist[:3], ca.vec(ca.skew(twist[3:]) @ pose.R))
    psi_u, psi_c, gap, basis_rate = ca.substitute(
        [bases.psi_u, bases.psi_c, ca.densify(bases.gap), basis_rate],
        [at.r, at.R, x, rate],
        [ca.densify(value) for value in (pose.r, pose.R, twist[rows], pose_rate)],
    )
    return Bases(ca.sparsify(psi_u), ca.sparsify(psi_c), gap), ca.sparsify(basis_rate)
