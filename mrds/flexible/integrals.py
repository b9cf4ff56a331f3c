"""Integrals over a flexible link: its mass, stiffness and damping in terms of its shapes.

Every material point of the axis is at r(x) = sum_a phi_a(x) r_a, where the r_a depend on the deflection alone and

    phi = 1, x, s_i(x), S_ij(x) = integral from 0 to x of s_i' s_j'  (i <= j)

(the S_ij carry the foreshortening, Bonaventura 2002, eq. 129). So the kinetic energy needs nothing of the link but the
integrals of rho phi_a phi_b: it is exact, without truncation, and there is no sum over mass points at run time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from granite.config.modules import Flexible
from granite.kernels.kernel import Array
from granite.mrds.flexible.shapes import Shape, bending_shapes, twisting_shapes
from granite.mrds.tolerances import INTEGRAL_ROUNDING

#: Gauss points: the fastest integrand has four times the waves of the sixth mode
_POINTS = 80


@dataclass(frozen=True)
class Integrals:
    """Numbers of one link; `pairs` are the (i, j) of the S_ij, in order."""

    pairs: tuple[tuple[int, int], ...]
    mass: Array  #: integral of rho phi phi^T, with the tip mass
    roll: Array  #: integral of the polar inertia times (1, twisting shapes) (1, twisting shapes)^T
    stiffness: Array  #: of all amplitudes: along y, along z, twist
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
    shapes, twisting = bending_shapes(link), twisting_shapes(link)
    x, w = _gauss(link.length_m)
    tip = np.array([link.length_m])
    phi, phi_tip = _fields(shapes, x), _fields(shapes, tip)
    mass = link.line_density_kg_m * (phi * w) @ phi.T + link.tip_mass_kg * phi_tip @ phi_tip.T
    twist = np.array([np.ones_like(x), *(s(x) for s in twisting)])
    roll = link.polar_inertia_kg_m * (twist * w) @ twist.T
    stiffness, damping = [], []
    for modes, ei in ((link.modes_y, link.ei_n_m2 or link.eiz_n_m2), (link.modes_z, link.eiy_n_m2)):
        curvature = np.array([s(x, 2) for s in shapes[:modes]]).reshape(modes, len(x))
        stiffness.append((ei or 0.0) * _clean((curvature * w) @ curvature.T))
        damping.append(_damping(link, stiffness[-1], mass[2 : 2 + modes, 2 : 2 + modes]))
    rates = np.array([s(x, 1) for s in twisting]).reshape(len(twisting), len(x))
    stiffness.append((link.gj_n_m2 or 0.0) * _clean((rates * w) @ rates.T))
    damping.append(_damping(link, stiffness[-1], roll[1:, 1:]))
    from scipy.linalg import block_diag  # takes longer to import than a rigid robot takes to start

    return Integrals(_pairs(shapes), _clean(mass), _clean(roll), block_diag(*stiffness), block_diag(*damping))


@cache
def at_section(link: Flexible, x: float) -> AtSection:
    """The numbers of the cross-section at x."""
    shapes, section = bending_shapes(link), np.array([x])
    ξ, w = _gauss(x)
    first, second = (np.array([s(ξ, d) for s in shapes]).reshape(len(shapes), len(ξ)) for d in (1, 2))
    return AtSection(
        _fields(shapes, section)[:, 0],
        np.array([s(section, 1)[0] for s in shapes]),
        np.array([s(section)[0] for s in twisting_shapes(link)]),
        (second * w) @ first.T,
    )


def _fields(shapes: tuple[Shape, ...], x: Array) -> Array:
    """phi at all x, one row for each field."""
    ξ, w = _gauss(x[:, None])
    slopes = [s(ξ, 1) for s in shapes]
    shortening = [(slopes[i] * slopes[j] * w).sum(axis=1) for i, j in _pairs(shapes)]
    return np.array([np.ones_like(x), x, *(s(x) for s in shapes), *shortening])


def _pairs(shapes: tuple[Shape, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((i, j) for i in range(len(shapes)) for j in range(i, len(shapes)))


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
