"""The motion of a run in space: instants, positions, scale and projections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from granite.config.records import Array
from granite.views.plots.projection import FROM_ABOVE, Projection, best_projections
from granite.views.plots.run import PlottedRun
from granite.views.plots.scene import Scene

Indices = npt.NDArray[np.intp]

#: a path is drawn through this many points at most
_POINTS = 2000
#: the modules are drawn this often
_POSES = 5
#: thickness of a rigid link as a part of the base that carries it, or of the extent of the view
_LINK_OF_BASE, _LINK_OF_SCENE = 0.17, 0.012
#: space for a time beside a module, as a part of the extent of the view
ROOM = 0.07


class View:
    """A scene at the instants at which it is known."""

    def __init__(self, run: PlottedRun, ticks: Indices) -> None:
        self.run = run
        self.ticks = ticks
        scene = self.scene = Scene(run.bed, run.modules)
        #: x, y, z of every point at every tick
        self.positions = scene.body_points.at(run.q[ticks])
        drawn = self.positions[:, scene.drawn]
        planar = run.bed.planar
        self.projections = (FROM_ABOVE,) if planar else best_projections(drawn)
        self.size = float(np.ptp(drawn.reshape(-1, 3), axis=0).max())
        bases = [s.base.reach for s in scene.silhouettes if s.base and (s.links or s.outlines)]
        self.thickness = _LINK_OF_BASE * bases[0] if bases else _LINK_OF_SCENE * self.size
        main = scene.main
        #: distance around the main module that is kept free of text
        self.clearance = max(main.base.reach if main.base else 0.0, ROOM * self.size)
        #: the first instant, the last, and some between
        self.poses = _poses(drawn, self.size)

    @property
    def pose_times(self) -> tuple[float, float]:
        """When the first and the last pose were [s]."""
        run = self.run
        first = self.ticks[self.poses[0]]
        last = self.ticks[-1]
        # The last tick holds until the run ends; where something stopped it, the tick itself is the end.
        ends = last == len(run.t) - 1 and not run.stop
        return float(run.t[first]), run.end if ends else float(run.t[last])

    def extent(self, projection: Projection) -> tuple[float, float]:
        """Width and height of the drawing, with space for the text beside it [m]."""
        around = [s.base.reach for s in self.scene.silhouettes if s.base]
        width, height = np.ptp(projection(self.positions[:, self.scene.drawn]).reshape(-1, 2), axis=0)
        room = max([*around, 2 * self.thickness]) + 1.5 * ROOM * self.size
        return float(width) + 2 * room, float(height) + 2 * room


class Sight(NamedTuple):
    """A view along one projection."""

    view: View
    projection: Projection
    points: Array  #: every point at every tick, in axes of the page (ticks, points, 2)


def sights(view: View) -> list[Sight]:
    """One for each projection."""
    return [Sight(view, projection, projection(view.positions)) for projection in view.projections]


def known_ticks(q: Array) -> Indices:
    """Ticks at which all of q is known, or some of them where they are many; none where there is no q."""
    ticks = np.flatnonzero(np.isfinite(q).all(axis=1) & (q.shape[1] > 0))
    return ticks[np.linspace(0, len(ticks) - 1, min(len(ticks), _POINTS)).astype(np.intp)]


def _poses(positions: Array, size: float) -> Indices:
    """The first instant, the last, and some between that are equally far apart in motion rather than in time."""
    moved = np.cumsum(np.linalg.norm(np.diff(positions, axis=0, prepend=positions[:1]), axis=2).mean(axis=1))
    if moved[-1] < 0.01 * size:
        return np.array([len(positions) - 1])
    return np.unique(np.searchsorted(moved, np.linspace(0, moved[-1], _POSES)))
