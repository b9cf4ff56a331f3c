"""Slope of a floor from heights on a grid: the control points of a cubic B-spline, level beyond the grid.

    height(x, y) = sum_ij h_ij b(y / d - i) b(x / d - j),    slope = -grad height

Points beyond the ends of the grid repeat the last ones. `downhill` is the slope in symbols; `slope_rows` has the same
by the heights as numbers, in which it is linear: a map is fitted by least squares.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.floor import HeightMap
from granite.config.records import Array

GRAVITY = 9.81  #: [m/s^2]


def downhill(heights: HeightMap, position: ca.SX) -> ca.SX:
    """Slope (2) at a position (2 or 3) [m/m]: the force on a body is its weight times that."""
    rows, columns = len(heights.heights_m), len(heights.heights_m[0])
    point = ca.SX.sym("point", 2)
    along, across = (_weights(heights, axis, n, point[axis]) for axis, n in enumerate((columns, rows)))
    height = ca.dot(across, ca.DM(heights.heights_m) @ along)
    slope: ca.SX = ca.Function("map", [point], [-ca.gradient(height, point)])(position[:2])
    return slope


def _weights(heights: HeightMap, axis: int, n: int, coordinate: ca.SX) -> ca.SX:
    s = (coordinate - heights.corner_m[axis]) / heights.spacing_m
    s = ca.fmax(0, ca.fmin(n - 1, s))
    # Control points beyond the ends repeat the last ones.
    columns = [_cubic(s - k) for k in range(-1, n + 1)]
    return ca.vertcat(columns[0] + columns[1], *columns[2:-2], columns[-2] + columns[-1])


def _cubic(s: ca.SX) -> ca.SX:
    """The cubic B-spline of knots one apart."""
    d = ca.fabs(s)
    return ca.if_else(d < 1, (4 - 6 * d**2 + 3 * d**3) / 6, ca.if_else(d < 2, (2 - d) ** 3 / 6, 0))


def slope_rows(corner_m: tuple[float, float], spacing_m: float, shape: tuple[int, int], points: Array) -> Array:
    """Slope by each height (p, 2, rows * columns) [1/m] at points (p, 2), for a grid of (rows, columns)."""
    by_axis = []
    for axis, n in enumerate(shape[::-1]):
        s = (points[:, axis] - corner_m[axis]) / spacing_m
        inside = (s > 0) & (s < n - 1)
        d = np.clip(s, 0, n - 1)[:, None] - np.arange(-1, n + 1)
        r = np.abs(d)
        values = np.where(r < 1, (4 - 6 * r**2 + 3 * r**3) / 6, np.where(r < 2, (2 - r) ** 3 / 6, 0.0))
        rates = np.where(r < 1, (9 * r**2 - 12 * r) / 6, np.where(r < 2, -((2 - r) ** 2) / 2, 0.0)) * np.sign(d)
        by_axis.append((_folded(values), _folded(rates) * inside[:, None] / spacing_m))
    (along, along_rate), (across, across_rate) = by_axis
    x = np.einsum("pi,pj->pij", across, -along_rate)
    y = np.einsum("pi,pj->pij", -across_rate, along)
    return np.stack((x, y), axis=1).reshape(len(points), 2, -1)


def _folded(columns: Array) -> Array:
    folded = columns[:, 1:-1].copy()
    folded[:, 0] += columns[:, 0]
    folded[:, -1] += columns[:, -1]
    return folded
