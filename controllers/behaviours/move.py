"""The behaviour that goes through the configured waypoints, from where the robot is when it becomes ready."""

from __future__ import annotations

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array, Reference, State, new
from granite.config.testbed import Testbed
from granite.controllers.behaviours.holds import Holds
from granite.controllers.trajectories.minimum_jerk import compiled
from granite.controllers.trajectories.waypoints import Leg, WaypointPath
from granite.mrds.compilation import mode


class Move:
    """Follows the waypoints in turn; without any it holds the pose it starts in and is never done."""

    def __init__(self, bed: Testbed) -> None:
        robot, waypoints = bed.robot, bed.behaviour.waypoints
        if waypoints and robot.dimension == "spatial" and robot.base == "floating":
            raise InputError(
                f"behaviour.waypoints: {len(waypoints)} given for '{robot.name}', which floats in space, "
                "expected none: a minimum-jerk path turns planar headings and joints only"
            )
        keys = [c.key for c in bed.estimated_positions]
        self._legs = tuple(
            Leg(np.array([w.target.get(key, np.nan) for key in keys]), w.duration_s, w.hold_s) for w in waypoints
        )
        self._rest: Array = np.zeros(len(bed.estimated_velocities))
        self._rest.setflags(write=False)
        compiled(len(keys), mode())  # the path begins in the loop, where nothing may be compiled
        self._holds = Holds(bed)
        self._path: WaypointPath | None = None
        self._began = 0.0

    def decide(self, state: State) -> Reference:
        """Where the robot should be now. Until the state is ready, that is where it seems to be."""
        if self._path is None:
            if not state.ready:
                rest = self._rest
                return Reference(state.t, np.nan_to_num(state.q), rest, rest, False, self._holds.at(state.t))
            self._path, self._began = WaypointPath(state.q, self._legs), state.t
        q, u, a, done = self._path.at(state.t - self._began)
        if not self._legs:
            u = a = self._rest
        return new(Reference, (state.t, q, u, a, done, self._holds.at(state.t)))
