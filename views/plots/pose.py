"""One pose of a module on the page: its base, or its stand on the ground, jets, arms and deflected beams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Polygon, Rectangle

from granite.config.records import Array
from granite.views.plots.outlines import arm_outlines, base_outlines
from granite.views.plots.shapes import wedge
from granite.views.plots.silhouette import Silhouette
from granite.views.plots.style import ARM, HULL_FIRST, INK, PLUME, SOFT, STAND, STOP

#: lengths of the longest plume and of a nozzle, relative to the reach of the base
PLUME_LENGTH, NOZZLE = 1.6, 0.14
#: line widths of a beam and of its core [points]: visible, however thin the beam is
_BEAM, _CORE = 4.6, 2.6
_GHOST = (0, (3, 2))
_CROSS: dict[str, Any] = {"marker": "x", "color": STOP, "ms": 9.0, "mew": 2.2, "ls": ""}


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
    """Jets below the base, arms above it; `points` are in axes of the page, `impulse` of each thruster, largest 1."""

    def fill(patch: Patch, colour: str, alpha: float, level: float, line: float = 0.0) -> None:
        patch.set(fc=to_rgba(colour, alpha), ec=ink.edge, lw=line, zorder=ink.order + level)
        axes.add_patch(patch)

    def dark(patch: Patch, level: float) -> None:
        patch.set(fc=ink.edge, ec=ink.edge, lw=0.0, zorder=ink.order + level)
        axes.add_patch(patch)

    reach = module.base.reach if module.base else 0.0
    jets = [(points[nozzle], reach * (points[down] - points[nozzle])) for nozzle, down in module.jets]
    for (nozzle, jet), length in zip(jets, impulse, strict=True):
        for part in (1.0, 0.75, 0.5):
            fill(Polygon(wedge(nozzle, PLUME_LENGTH * length * part * jet, 0.13)), PLUME, 0.45, 0.0)
    for i, patch in enumerate(base_patches(module, points)):
        fill(patch, ink.hull or HULL_FIRST, 1.0 if ink.hull else 0.25, 0.1 + 0.001 * i, 1.2)
    if module.heading:
        dark(Polygon(points[module.heading]), 0.2)
    for (nozzle, jet), failed in zip(jets, module.failed, strict=True):
        dark(Polygon(wedge(nozzle, NOZZLE * jet, 0.5)), 0.2)
        if failed and ink.hull:
            axes.plot(*(nozzle + 0.6 * NOZZLE * jet), zorder=ink.order + 0.25, **_CROSS)
    # The colour of a pose is that of its base; a module without one has it in its arms.
    arm = ARM if module.base else ink.hull or ARM
    for patch in arm_patches(module, points, ink.thickness):
        fill(patch, arm, ink.strength, 0.3, 1.2)
    for pin in module.pins:
        dark(Circle(points[pin], 0.5 * ink.thickness), 0.4)
    for beam in module.beams:
        _draw_beam(axes, points[beam], arm, ink)


def draw_ghost(axes: Axes, module: Silhouette, points: Array, thickness: float, order: float) -> Patch:
    """The pose of the reference, dashed; returns its legend key."""
    for patch in (*base_patches(module, points), *arm_patches(module, points, thickness)):
        patch.set(fill=False, ec=INK, lw=1.0, ls=_GHOST, zorder=order)
        axes.add_patch(patch)
    return Patch(fill=False, ec=INK, lw=1.0, ls=_GHOST, label="reference at the end")


def failed_key() -> Line2D:
    """Legend key of the cross on a nozzle."""
    return Line2D([], [], label="failed thruster", **_CROSS)


def draw_stand(axes: Axes, outline: Array) -> None:
    """The stand of a fixed base."""
    axes.add_patch(Polygon(outline, fc=STAND, ec=INK, lw=1.2, hatch="/////", zorder=1.6))


def draw_square_stand(axes: Axes, position: Array, half: float) -> None:
    """A stand without a given outline."""
    x, y = position - half
    axes.add_patch(Rectangle((x, y), 2 * half, 2 * half, fc=STAND, ec=INK, lw=1.2, hatch="/////", zorder=1.6))


def base_patches(module: Silhouette, points: Array) -> Iterator[Patch]:
    """A base that floats: struts to its far points below, then the body itself."""
    if (base := module.base) is None:
        return
    *struts, body = base_outlines(module, points)
    yield from map(Polygon, struts)
    yield Circle(points[base.corners[0]], base.radius) if len(base.corners) == 1 else Polygon(body)


def arm_patches(module: Silhouette, points: Array, thickness: float) -> Iterator[Patch]:
    """The rigid parts of its arms, one after the other."""
    yield from map(Polygon, arm_outlines(module, points, thickness))


def _draw_beam(axes: Axes, line: Array, core: str, ink: Ink) -> None:
    x, y = line.T
    if ink.hull is None:
        axes.plot(x, y, color=ink.edge, lw=_CORE, solid_capstyle="round", zorder=ink.order + 0.3)
        return
    axes.plot(x, y, color=ink.edge, lw=_BEAM, solid_capstyle="round", zorder=ink.order + 0.3)
    axes.plot(x, y, color=core, lw=_CORE, solid_capstyle="round", zorder=ink.order + 0.35)
    axes.plot(x[:1], y[:1], "o", color=ink.edge, ms=_BEAM, zorder=ink.order + 0.4)
