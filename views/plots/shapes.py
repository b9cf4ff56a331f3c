"""Outlines in the page, from a few points each."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import ConvexHull

from granite.config.records import Array


def wedge(tip: Array, out: Array, slope: float) -> Array:
    """A triangle that opens from its tip along `out`."""
    across = slope * np.array([-out[1], out[0]])
    return np.array([tip, tip + out + across, tip + out - across])


def capsule(start: Array, end: Array, radius: float) -> Array:
    """A bar with round ends."""
    x, y = end - start
    half = np.linspace(-np.pi / 2, np.pi / 2, 13) + math.atan2(y, x)
    arc = radius * np.column_stack((np.cos(half), np.sin(half)))
    return np.vstack((end + arc, start - arc))


def bar(start: Array, end: Array, half_width: float) -> Array:
    """A bar with square ends; none where both ends coincide."""
    x, y = end - start
    across = half_width * np.array([-y, x]) / max(math.hypot(x, y), 1e-12)
    return np.array([start + across, end + across, end - across, start - across])


def circle(middle: Array, radius: float) -> Array:
    """A disc."""
    angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    around: Array = middle + radius * np.column_stack((np.cos(angles), np.sin(angles)))
    return around


def rounded_hull(corners: Array, radius: float) -> Array:
    """The tightest outline around a disc at each corner."""
    angles = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    around = (corners[:, None] + radius * np.column_stack((np.cos(angles), np.sin(angles)))).reshape(-1, 2)
    hull: Array = around[ConvexHull(around).vertices]
    return hull


def edge_along_x(outline: Array) -> float:
    """Distance of the outline from the origin along x; its largest x where the axis does not cross it."""
    start, end = outline, np.roll(outline, -1, axis=0)
    crosses = (start[:, 1] > 0) != (end[:, 1] > 0)
    (x0, y0), (x1, y1) = start[crosses].T, end[crosses].T
    crossings = x0 - y0 * (x1 - x0) / (y1 - y0)
    return float(max(crossings[crossings > 0], default=outline[:, 0].max()))
