"""Integrals over a flexible link: its mass, stiffness and damping in terms of its shapes.

Every material point of the axis is at r(x) = sum_a phi_a(x) r_a, where the r_a depend on the deflection alone and

    phi = 1, x, s_i(x), g_k(x), S_ij(x) = integral from 0 to x of s_i' s_j'  (i <= j)

(g_k: shapes of stretch; the S_ij carry the foreshortening, Bonaventura 2002, eq. 129). So the kinetic energy needs
nothing of the link but the integrals of rho phi_a phi_b: it is exact, without truncation, and there is no sum over mass
points at run time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from granite.config.base import spatial
from granite.config.inertia import tensor_of
from granite.config.modules import Flexible
from granite.kernels.kernel import Array
from granite.mrds.flexible.shapes import bending_shapes, stretching_shapes, twisting_shapes
from granite.mrds.tolerances import INTEGRAL_ROUNDING

#: Gauss points: the fastest integrand has four times the waves of the sixth mode
_POINTS = 80


@dataclass(frozen=True)
class Integrals:
    """Numbers of one link; `pairs` are the (i, j) of the S_ij, in order."""

    pairs: tuple[tuple[int, int], ...]
    mass: Array  #: integral of rho phi phi^T, with a point mass at the tip
    rotary: Array  #: inertia of the sections against turning, in the link's angular velocity and all amplitudes' rates
    stiffness: Array  #: of all amplitudes: along y, along z, twist, stretch
    damping: Array


@dataclass(frozen=True)
class AtSection:
    """Numbers of one cross-section."""

    phi: Array
    slope: Array  #: s_i'
    twist: Array  #: twisting shapes
    turn: Array  #: integral from 0 to x of s_i'' s_j': bending in both planes rotates the section about its axis


@cache
def integrals(link: Flexible) -> Integrals:
    """All numbers of the link that do not depend on a position along it."""
    shapes, twisting, stretching = bending_shapes(link), twisting_shapes(link), stretching_shapes(link)
    x, w = _gauss(link.length_m)
    phi, tip = _fields(link, x), _fields(link, np.array([link.length_m]))
    mass = link.line_density_kg_m * (phi * w) @ phi.T
    if not link.has_tip_body:
        mass = mass + link.tip_mass_kg * tip @ tip.T
    rotary = np.zeros((3 + link.n_modes, 3 + link.n_modes))
    for inertia, turn in zip((link.polar_inertia_kg_m, *link.rotary_kg_m), _turns(link, x), strict=True):
        rotary += inertia * (turn * w) @ turn.T
    amplitudes = _modal_mass(link, mass, rotary)
    stiffness, damping, first = [], [], 0
    for stiff, family, derivative in (
        (link.ei_n_m2 or link.eiz_n_m2, shapes[: link.modes_y], 2),
        (link.eiy_n_m2, shapes[: link.modes_z], 2),
        (link.gj_n_m2, twisting, 1),
        (link.ea_n, stretching, 1),
    ):
        strain = np.array([s(x, derivative) for s in family]).reshape(len(family), len(x))
        stiffness.append((stiff or 0.0) * _clean((strain * w) @ strain.T))
        own = slice(first, first + len(family))
        damping.append(_damping(link, stiffness[-1], amplitudes[own, own]))
        first = own.stop
    from scipy.linalg import block_diag  # takes longer to import than a rigid robot takes to start

    return Integrals(_pairs(link), _clean(mass), _clean(rotary), block_diag(*stiffness), block_diag(*damping))


@cache
def at_section(link: Flexible, x: float) -> AtSection:
    """The numbers of the cross-section at x."""
    shapes, section = bending_shapes(link), np.array([x])
    ξ, w = _gauss(x)
    first, second = (np.array([s(ξ, d) for s in shapes]).reshape(len(shapes), len(ξ)) for d in (1, 2))
    return AtSection(
        _fields(link, section)[:, 0],
        np.array([s(section, 1)[0] for s in shapes]),
        np.array([s(section)[0] for s in twisting_shapes(link)]),
        (second * w) @ first.T,
    )


def _fields(link: Flexible, x: Array) -> Array:
    """phi at all x, one row for each field."""
    ξ, w = _gauss(x[:, None])
    shapes = bending_shapes(link)
    slopes = [s(ξ, 1) for s in shapes]
    shortening = [(slopes[i] * slopes[j] * w).sum(axis=1) for i, j in _pairs(link)]
    return np.array([np.ones_like(x), x, *(s(x) for s in (*shapes, *stretching_shapes(link))), *shortening])


def _pairs(link: Flexible) -> tuple[tuple[int, int], ...]:
    n = max(link.modes_y, link.modes_z) if link.foreshortening else 0
    return tuple((i, j) for i in range(n) for j in range(i, n))


def _turns(link: Flexible, x: Array) -> tuple[Array, Array, Array]:
    """Rate of the sections at all x about x, y and z, to first order: a row for each of w_x, w_y, w_z and amplitude."""
    rows = np.zeros((3, 3 + link.n_modes, len(x)))
    for axis in range(3):
        rows[axis, axis] = 1.0
    slopes = np.array([s(x, 1) for s in bending_shapes(link)]).reshape(-1, len(x))
    along_z, twist = 3 + link.modes_y, 3 + link.modes_y + link.modes_z
    rows[2, 3:along_z] = slopes[: link.modes_y]
    rows[1, along_z:twist] = -slopes[: link.modes_z]
    rows[0, twist : twist + link.modes_x] = np.array([s(x) for s in twisting_shapes(link)]).reshape(-1, len(x))
    return rows[0], rows[1], rows[2]


def _modal_mass(link: Flexible, mass: Array, rotary: Array) -> Array:
    """Inertia of the amplitudes of the straight link, its base held, with the body at its tip."""
    n, s = max(link.modes_y, link.modes_z), link.modes_stretch
    y, z, stretch = range(2, 2 + link.modes_y), range(2, 2 + link.modes_z), range(2 + n, 2 + n + s)
    # Of each amplitude the field that moves with it, and the axis along which it moves; twist has none.
    fields = [*y, *z, *[0] * link.modes_x, *stretch]
    axes = np.array([1] * link.modes_y + [2] * link.modes_z + [-1] * link.modes_x + [0] * s)
    along = (axes[:, None] == axes) & (axes >= 0)
    M: Array = np.where(along, mass[np.ix_(fields, fields)], 0.0) + rotary[3:, 3:]
    if link.has_tip_body:
        end = np.array([link.length_m])
        turn = np.array([rows[3:, 0] for rows in _turns(link, end)])
        move = np.where(axes == np.arange(3)[:, None], _fields(link, end)[fields, 0], 0.0)
        move = move + np.cross(turn, np.array(spatial(link.tip_com_m)), axisa=0, axisc=0)
        M = M + link.tip_mass_kg * move.T @ move + turn.T @ tensor_of(link.tip_inertia_kg_m2) @ turn
    return M


def _gauss(end: float | Array) -> tuple[Array, Array]:
    """Points and weights for an integral from 0 to `end`."""
    x, w = _legendre()
    return end * (x + 1) / 2, end * w / 2


def _damping(link: Flexible, K: Array, M: Array) -> Array:
    """Material damping, or the damping with the same ratio for each mode of the free link, M a" + D a' + K a = 0."""
    if link.damping_ratio == 0 or not len(K):
        return link.material_damping_s * K
    from scipy.linalg import eigh

    square, V = eigh(K, M)  # V^T M V = 1
    D: Array = M @ V @ np.diag(2 * link.damping_ratio * np.sqrt(square)) @ V.T @ M
    return _clean(D)


def _clean(matrix: Array) -> Array:
    """The matrix, exactly symmetric, with plain zeros where orthogonal shapes left rounding errors."""
    size = np.sqrt(np.diag(matrix))
    cleaned: Array = np.where(np.abs(matrix) > INTEGRAL_ROUNDING * np.outer(size, size), (matrix + matrix.T) / 2, 0.0)
    return cleaned


@cache
def _legendre() -> tuple[Array, Array]:
    """Points and weights from -1 to 1."""
    x, w = np.polynomial.legendre.leggauss(_POINTS)
    return x, w
