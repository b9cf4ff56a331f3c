"""A kind of contact: its free modes, in which P may move against E, and its constrained modes.

The general joint model (Bonaventura 2002, section 3.3, eq. 22 to 26). With the relative twist x' of P against E, in the
axes of E, linear part first:

    x' = phi_u x'_u + phi_c x'_c        F = psi_u F_u + psi_c F_c        [psi_u psi_c]^T = [phi_u phi_c]^-1

x'_c is zero or prescribed, F_u is known, F_c is the constraint force. A kind gives phi_u and phi_c as columns, which
may depend on the relative pose; the dual basis follows. Its `gap` is the position error of the constraint; modes that
constrain velocity only (rolling) have none.

To add a kind, write one small file like those beside this one, and name it in `mrds.contacts.KINDS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array

#: unit twists in the axes of E: linear x, y, z, then angular x, y, z
VX, VY, VZ, WX, WY, WZ = np.eye(6)
#: their names in configuration
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
#: those that exist in a planar system
PLANAR = [0, 1, 5]


class RelativePose(NamedTuple):
    """Pose of P relative to E, in the axes of E."""

    r: ca.SX  #: (3) origin of P
    R: ca.SX  #: (3, 3) axes of P


class Modes(NamedTuple):
    """Columns of twists (6, k): free and constrained modes together are a basis."""

    free: ca.SX
    constrained: ca.SX


class Bases(NamedTuple):
    """The dual basis of a contact, and its position error."""

    psi_u: ca.SX  #: (d, n_free) wrenches of forces along the free modes
    psi_c: ca.SX  #: (d, n_held) wrenches of constraint forces
    gap: ca.SX  #: (n_held) position error; zero where the mode constrains velocity only


Parameters = dict[str, float]


class Parameter(NamedTuple):
    """A number that a kind takes from the configuration."""

    meaning: str
    least: float = -math.inf
    greatest: float = math.inf
    required: bool = True

    @property
    def expected(self) -> str:
        """Meaning and range, for a message."""
        if self.least == -math.inf:
            return self.meaning
        return f"{self.meaning}, " + (
            f"at least {self.least:g}" if self.greatest == math.inf else f"from {self.least:g} to {self.greatest:g}"
        )


@dataclass(frozen=True)
class Kind:
    """A kind of contact. `modes` and `gap` get the relative pose and the contact's parameters."""

    name: str
    modes: Callable[[RelativePose, Parameters], Modes]
    gap: Callable[[RelativePose, Parameters], ca.SX]
    #: names of the modes, from `DIRECTIONS`; a mode that is none of them has the name of its axis of rotation
    free: tuple[str, ...]
    held: tuple[str, ...]
    parameters: dict[str, Parameter] = field(default_factory=dict)
    #: the constrained modes that constrain the pose as well, in the order of the gap's rows; None: all of them
    holonomic: tuple[int, ...] | None = None
    #: constrained modes along which friction acts once it slips; the first constrained mode is then the normal
    friction_modes: tuple[int, ...] = ()
    #: whether the first constrained mode only pushes (unilateral), and opens by itself
    one_sided: bool = False

    @property
    def slipping(self) -> Kind:
        """The same kind while it slips: its friction modes are free, and come first among the free modes."""
        rest = [j for j in range(len(self.held)) if j not in self.friction_modes]

        def modes(relative: RelativePose, parameters: Parameters) -> Modes:
            free, held = self.modes(relative, parameters)
            return Modes(ca.horzcat(held[:, list(self.friction_modes)], free), held[:, rest])

        return replace(
            self,
            modes=modes,
            free=(*(self.held[j] for j in self.friction_modes), *self.free),
            held=tuple(self.held[j] for j in rest),
            holonomic=tuple(rest.index(j) for j in self.holonomic or range(len(self.held)) if j in rest),
            friction_modes=(),
        )

    @property
    def yielding(self) -> Kind:
        """The same kind with springs along what it holds: those modes are free, and come first among the free modes."""

        def modes(relative: RelativePose, parameters: Parameters) -> Modes:
            free, held = self.modes(relative, parameters)
            return Modes(ca.horzcat(held, free), ca.SX(6, 0))

        return replace(self, modes=modes, free=(*self.held, *self.free), held=())

    def check(self, contact: str, values: Parameters) -> None:
        """Refuse parameters that are missing, unknown or out of their range."""
        for name, parameter in self.parameters.items():
            if name not in values:
                if parameter.required:
                    raise InputError.missing(f"contacts.{contact}.parameters.{name}", parameter.expected)
            elif not parameter.least <= values[name] <= parameter.greatest:
                key = f"contacts.{contact}.parameters.{name}"
                raise InputError(key=key, value=values[name], expected=parameter.expected)
        for name in values:
            if name not in self.parameters:
                key = f"contacts.{contact}.parameters.{name}"
                names = ", ".join(self.parameters) or "none"
                raise InputError("unknown", key=key, value=values[name], expected=f"{names} for {self.name}")

    def n_held(self, parameters: Parameters, planar: bool) -> int:
        """Number of constrained modes."""
        relative = RelativePose(ca.SX.sym("r", 3), ca.SX.sym("R", 3, 3))
        return int(self.bases(relative, parameters, planar).psi_c.shape[1])

    def bases(self, relative: RelativePose, parameters: Parameters, planar: bool) -> Bases:
        """The dual basis in 6 rows, or in the 3 of a planar system, and the gap of each constrained mode.

        Parameters
        ----------
        relative
            Pose of P relative to E.
        parameters
            The contact's parameters.
        planar
            Whether the system is planar.

        Raises
        ------
        InputError
            Where the modes are no basis in the plane.
        """
        modes = self.modes(relative, parameters)
        rows = PLANAR if planar else list(range(6))
        free = _meaningful(modes.free[rows, :], planar)
        held = _meaningful(modes.constrained[rows, :], planar)
        basis = ca.horzcat(*(modes.free[rows, j] for j in free), *(modes.constrained[rows, j] for j in held))
        if basis.shape[0] != basis.shape[1]:
            raise InputError(f"contact kind {self.name} does not exist in the plane", expected="another one")
        dual = ca.sparsify(ca.SX(np.linalg.inv(np.array(ca.DM(basis))).T)) if basis.is_constant() else ca.inv(basis).T
        gaps = self.gap(relative, parameters)
        row_of = {mode: i for i, mode in enumerate(self.holonomic or range(gaps.shape[0]))}
        gap = ca.vertcat(*(gaps[row_of[j]] if j in row_of else 0 for j in held))
        return Bases(dual[:, : len(free)], dual[:, len(free) :], gap)


def constant(name: str, free: list[Array]) -> Kind:
    """A kind whose modes are unit twists fixed in E: those in `free`, and the constrained rest."""
    held = [twist for twist in np.eye(6) if not any(np.array_equal(twist, f) for f in free)]

    def modes(relative: RelativePose, parameters: Parameters) -> Modes:
        return Modes(_columns(free), _columns(held))

    def gap(relative: RelativePose, parameters: Parameters) -> ca.SX:
        displacement = ca.vertcat(relative.r, rotation_vector(relative.R))
        return _columns(held).T @ displacement

    return Kind(name, modes, gap, free=_names(free), held=_names(held))


def rotation_vector(R: ca.SX) -> ca.SX:
    """Half the antisymmetric part of a rotation: its axis times the sine of its angle, exactly zero at R = 1.

    Its rate at R = 1 is the angular velocity, as a gap requires.
    """
    return 0.5 * ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])


def directions_in(names: tuple[str, ...], planar: bool) -> tuple[str, ...]:
    """Those of these directions that exist in a planar system, or all of them in space."""
    return tuple(name for name in names if not planar or DIRECTIONS.index(name) in PLANAR)


def _names(twists: list[Array]) -> tuple[str, ...]:
    return tuple(DIRECTIONS[int(np.argmax(twist))] for twist in twists)


def _columns(twists: list[Array]) -> ca.SX:
    return ca.sparsify(ca.SX(np.array(twists).T)) if twists else ca.SX(6, 0)


def _meaningful(modes: ca.SX, planar: bool) -> list[int]:
    """The modes that exist in a planar system: the others are zero in its rows."""
    return [j for j in range(modes.shape[1]) if not planar or ca.sparsify(modes[:, j]).nnz() > 0]
