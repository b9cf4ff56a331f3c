"""Motion through waypoints, from the pose of the modules when the state becomes ready."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import model_validator

from granite.config.base import NotNegative, Positive, Table
from granite.config.behaviour import Behaviour
from granite.config.errors import InputError
from granite.config.records import NOTHING, Array, Reference, State
from granite.controllers.behaviours.holds import Holds
from granite.controllers.behaviours.move_check import MoveCheck
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.minimum_jerk import MinimumJerk
from granite.controllers.trajectories.trapezoidal import Trapezoidal
from granite.controllers.trajectories.waypoints import Leg, WaypointPath
from granite.kernels.compiled_form import CompiledForm


class Waypoint(Table):
    """Go to `target` in `duration_s`, then stay for `hold_s`.

    With `ramp_s`, the velocity is trapezoidal: constant acceleration for that time, coasting, and the same
    deceleration, which needs less propellant. Without it the path has minimum jerk.
    """

    duration_s: Positive
    hold_s: NotNegative = 0.0
    ramp_s: Positive | None = None
    #: by coordinate key, for instance base_x_m or elbow_rad; others keep their value
    target: dict[str, float]

    @model_validator(mode="after")
    def _ramps_fit(self) -> Waypoint:
        if self.ramp_s is not None and self.ramp_s > self.duration_s / 2:
            half = f"at most half of duration_s, {self.duration_s / 2:g}"
            raise InputError(key="ramp_s", value=self.ramp_s, expected=half)
        return self


class WaypointBehaviour:
    """Follows the waypoints in turn; without any it holds the pose it starts in and is never done."""

    class Options(Behaviour):
        """The waypoints, beside the options of every behaviour."""

        arguments: ClassVar[frozenset[str]] = frozenset({"kind", "waypoints", "check_moves", "stretch"})

        waypoints: tuple[Waypoint, ...] = ()
        #: refuse moves that the actuators or the limits of `safety` do not allow; false: the guard ends such a run
        check_moves: bool = True
        #: lengthen moves that are too fast instead
        stretch: bool = False

    def __init__(self, options: Options, model: ControlModel) -> None:
        bed, waypoints = model.bed, options.waypoints
        for module in model.floating:
            if waypoints and module.dimension == "spatial":
                raise InputError(
                    f"{len(waypoints)} given, but '{module.name}' floats in space",
                    key="behaviour.waypoints",
                    expected="none: a path turns planar headings and joints only",
                )
        keys = [c.key for c in model.layout.positions]
        self._legs = tuple(
            Leg(np.array([w.target.get(key, np.nan) for key in keys]), w.duration_s, w.hold_s, w.ramp_s)
            for w in waypoints
        )
        if options.check_moves and self._legs and bed.explains_motion and len(keys) == model.n:
            start = np.array([bed.simulation.initial.get(key, 0.0) for key in keys])
            self._legs = MoveCheck(model).feasible(start, self._legs, stretch=options.stretch)
        self._rest: Array = np.zeros(model.n)
        self._rest.setflags(write=False)
        for segment in (MinimumJerk, Trapezoidal):  # the path is built in the loop, where nothing may be compiled
            segment.compiled(len(keys))
        self._holds = Holds(bed)
        # Without waypoints the path is one leg that stays where it begins.
        legs = self._legs or (Leg(np.full(len(keys), np.nan), 1.0, 0.0),)
        #: the path from where it began: start, end and amplitude of each leg, when it began [s], and whether it has
        self._legs_begun = {f"leg_{what}": np.zeros((len(legs), len(keys))) for what in ("start", "end", "amplitude")}
        self._began, self._is_begun = np.zeros(1), np.zeros(1)
        #: the path from the start in memory
        self._path = WaypointPath(np.zeros(len(keys)), self._legs)

    def compiled_form(self) -> CompiledForm:
        """The same in C."""
        legs, n = self._legs or (Leg(np.full(len(self._rest), np.nan), 1.0, 0.0),), len(self._rest)
        path = WaypointPath(self._rest, legs)
        holds = self._holds.compiled_form()
        return CompiledForm(
            (*holds.sources, Path(__file__).with_suffix(".c")),
            {**holds.sizes, "LEGS": len(legs), "PATH_STAYS": int(not self._legs)},
            {"LEG_IS_TRAPEZOIDAL": [int(leg.ramp_s is not None) for leg in legs]},
            {
                **holds.parameters,
                "leg_target": np.concatenate([leg.target for leg in legs]),
                "leg_begins": np.array(path.begins),
                "leg_duration": np.array([leg.duration_s for leg in legs]),
                "leg_ramp": np.array([(leg.ramp_s or 0.0) / leg.duration_s for leg in legs]),
                "path_end": np.array([path.end if self._legs else np.inf]),
            },
            {
                **holds.memory,
                **self._legs_begun,
                "path_began": self._began,
                "path_is_begun": self._is_begun,
            },
            {segment.name: [segment.compiled(n)] for segment in (MinimumJerk, Trapezoidal)},
            "waypoints_decide",
        )

    def begin_again(self, tau: float) -> float | None:
        """When the same motion begins, of which `tau` is a time; none where contacts have changed with it."""
        if self._holds.change:
            return None
        return self._began.item(0) if self._is_begun[0] else tau

    def decide(self, state: State) -> Reference:
        """The reference at the time of the state. Until the state is ready, the reference is the estimate."""
        if not self._is_begun[0]:
            if not state.ready:
                rest = self._rest
                return Reference(state.t, np.nan_to_num(state.q), rest, rest, False, self._holds.at(state.t))
            self._begin(state.t, state.q)
        start = self._legs_begun["leg_start"][0]
        if not np.array_equal(start, self._path.start):
            self._path = WaypointPath(start.copy(), self._legs)
        q, u, a, done = self._path.at(state.t - self._began.item(0))
        if not self._legs:
            u = a = self._rest
        return Reference(state.t, q, u, a, done, self._holds.at(state.t), NOTHING)

    def _begin(self, t: float, q: Array) -> None:
        here, legs = q, self._legs_begun
        for k in range(len(legs["leg_start"])):
            target = self._legs[k].target if self._legs else q
            there = np.where(np.isnan(target), here, target)
            legs["leg_start"][k], legs["leg_end"][k], legs["leg_amplitude"][k] = here, there, there - here
            here = there
        self._began[0], self._is_begun[0] = t, 1.0
