"""The scene in rows of a run: which modules are known, their points at a row, the reference, jets and contacts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.views.plots.scene import Scene

#: thickness of a link, relative to the base that carries it, or to the extent of the scene
_LINK_OF_BASE, _LINK_OF_SCENE = 0.17, 0.012
#: least extent of a scene [m]
_SMALLEST = 0.1


class DrawnParts(NamedTuple):
    """What can be drawn of a row."""

    robot: bool = False
    reference: bool = False


class SceneRows:
    """The scene of a testbed, to be looked up in rows; `first` is the first row, whose finite values are known."""

    def __init__(self, bed: Testbed, channels: Channels, first: Array) -> None:
        truth = channels.columns("/truth", "q")
        has_truth = bed.controller is None or not np.isnan(first[truth]).all()
        #: the modules whose motion is known
        self.modules = bed.modules if has_truth else bed.known.modules
        positions = bed.positions if has_truth else bed.known.positions
        self._q = truth if has_truth else channels.columns("/state", "q")
        self._ready, self._needs_ready = channels.columns("/state", "ready"), not has_truth
        self._reference = channels.columns("/reference", "q")
        self._closed = channels.columns("/truth", "closed")
        self._opening = [channels.columns("/applied", f"{name}.values") for name in bed.devices_of(Thrusters)]
        self._referenced = [positions.index(c) for c in bed.known.positions] if bed.controller else []
        self.scene = scene = Scene(bed, self.modules)
        bases = [s.base.reach for s in scene.silhouettes if s.base and (s.links or s.outlines)]
        at = scene.body_points.at(np.nan_to_num(first[self._q])[None])[0, scene.drawn]
        of_scene = _LINK_OF_SCENE * max(float(np.ptp(at, axis=0).max()), _SMALLEST)
        #: half of that of a link [m]
        self.thickness = _LINK_OF_BASE * bases[0] if bases else of_scene

    def parts(self, row: Array) -> DrawnParts:
        """What can be drawn of a row."""
        ready = row[self._ready] == 1.0
        robot = np.isfinite(row[self._q]).all() and (ready or not self._needs_ready)
        reference = bool(self._referenced) and ready and np.isfinite(row[self._reference]).all()
        return DrawnParts(bool(robot), bool(reference))

    def at(self, row: Array) -> list[list[float]]:
        """x, y and z of every point of the scene [m]."""
        return self.scene.body_points.now(row[self._q])

    def at_reference(self, row: Array, parts: DrawnParts) -> list[list[float]]:
        """The same where the robot should be."""
        q = row[self._q]
        ghost = q.copy() if parts.robot else np.nan_to_num(q)
        ghost[self._referenced] = row[self._reference]
        return self.scene.body_points.now(ghost)

    def opening(self, rows: Array) -> list[float]:
        """The largest opening of each thruster in some rows, 0 to 1."""
        return [part for columns in self._opening for part in np.fmax.reduce(rows[:, columns], axis=0).tolist()]

    def closed(self, row: Array) -> Array:
        """Status of each contact of the testbed."""
        status: Array = row[self._closed]
        return status
