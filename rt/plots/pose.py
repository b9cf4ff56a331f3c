"""One pose of a module on the page: its base, or the ground it stands on, its jets, its arms and its bent beams."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Circle, Patch, Polygon, Rectangle
from scipy.spatial import ConvexHull

from granite.config.records import Array
from granite.rt.plots.look import ARM, HULL_FIRST, INK, PLUME, SOFT, STAND
from granite.rt.plots.silhouette import Silhouette

#: of the longest plume, in radii of the base
_PLUME_LENGTH = 1.6
#: of a beam's line and of its core [points]: a beam is as thin as it is, and seen all the same
_BEAM, _CORE = 4.6, 2.6


class Ink(NamedTuple):
    """How a pose is drawn: one without a hull colour is pale."""

    hull: str | None
    thickness: float  #: of rigid links [m]
    order: float  #: above which other poses

    @property
    def edge(self) -> tuple[float, float, float, float]:
        """Of all outlines."""
        return to_rgba(INK) if self.hull else to_rgba(SOFT, 0.5)

    @property
    def strength(self) -> float:
        """Of all fillings."""
        return 1.0 if self.hull else 0.5


def draw_pose(axes: Axes, module: Silhouette, points: Array, impulse: Array, ink: Ink) -> None:
    """Jets below the base, arms above it; `points` are in the page, `impulse` is of each thruster, the most as 1."""

    def fill(patch: Patch, colour: str, alpha: float, level: float, line: float = 0.0) -> None:
        patch.set(fc=to_rgba(colour, alpha), ec=ink.edge, lw=line, zorder=ink.order + level)
        axes.add_patch(patch)

    def dark(patch: Patch, level: float) -> None:
        patch.set(fc=ink.edge, ec=ink.edge, lw=0.0, zorder=ink.order + level)
        axes.add_patch(patch)

    jets = [(points[nozzle], module.radius * (points[down] - points[nozzle])) for nozzle, down in module.jets]
    for (nozzle, jet), length in zip(jets, impulse, strict=True):
        for part in (1.0, 0.75, 0.5):
            fill(Polygon(_wedge(nozzle, _PLUME_LENGTH * length * part * jet, 0.13)), PLUME, 0.45, 0.0)
    if module.corners:
        fill(_base(points[module.corners], module.radius), ink.hull or HULL_FIRST, 1.0 if ink.hull else 0.25, 0.1, 1.2)
    for nozzle, jet in jets:
        dark(Polygon(_wedge(nozzle, 0.14 * jet, 0.5)), 0.2)
    # The colour of a pose is seen in its base; a module without one shows it in its arms.
    arm = ARM if module.corners else ink.hull or ARM
    for start, end in module.links:
        fill(Polygon(_capsule(points[start], points[end], ink.thickness)), arm, ink.strength, 0.3, 1.2)
    for start, _ in module.links:
        dark(Circle(points[start], 0.5 * ink.thickness), 0.4)
    for beam in module.beams:
        _draw_beam(axes, points[beam], arm, ink)


def draw_stand(axes: Axes, place: Array, half: float) -> None:
    """A square that is bolted to the ground."""
    x, y = place - half
    axes.add_patch(Rectangle((x, y), 2 * half, 2 * half, fc=STAND, ec=INK, lw=1.2, hatch="/////", zorder=1.6))


def _draw_beam(axes: Axes, line: Array, core: str, ink: Ink) -> None:
    x, y = line.T
    if ink.hull is None:
        axes.plot(x, y, color=ink.edge, lw=_CORE, solid_capstyle="round", zorder=ink.order + 0.3)
        return
    axes.plot(x, y, color=ink.edge, lw=_BEAM, solid_capstyle="round", zorder=ink.order + 0.3)
    axes.plot(x, y, color=core, lw=_CORE, solid_capstyle="round", zorder=ink.order + 0.35)
    axes.plot(x[:1], y[:1], "o", color=ink.edge, ms=_BEAM, zorder=ink.order + 0.4)


def _base(corners: Array, radius: float) -> Patch:
    """A disc, or the tightest outline around a disc at each corner."""
    if len(corners) == 1:
        return Circle(corners[0], radius)
    angles = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    around = (corners[:, None] + radius * np.column_stack((np.cos(angles), np.sin(angles)))).reshape(-1, 2)
    return Polygon(around[ConvexHull(around).vertices])


def _wedge(tip: Array, out: Array, slope: float) -> Array:
    """A triangle that opens from its tip along `out`."""
    across = slope * np.array([-out[1], out[0]])
    return np.array([tip, tip + out + across, tip + out - across])


def _capsule(start: Array, end: Array, thickness: float) -> Array:
    """The outline of a bar with round ends."""
    x, y = end - start
    half = np.linspace(-np.pi / 2, np.pi / 2, 13) + math.atan2(y, x)
    arc = thickness * np.column_stack((np.cos(half), np.sin(half)))
    return np.vstack((end + arc, start - arc))
