"""Motion through waypoints, from the pose of the modules when the state becomes ready."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import casadi as ca
import numpy as np
from pydantic import model_validator

from granite.config.base import NotNegative, Positive, Table
from granite.config.behaviour import Behaviour
from granite.config.errors import InputError
from granite.config.records import Array
from granite.controllers.behaviours.move_check import MoveCheck
from granite.controllers.behaviours.timed_path import PathMotion, TimedPath
from granite.controllers.behaviours.zone_check import ZoneCheck
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.leg import Leg
from granite.controllers.trajectories.minimum_jerk import MinimumJerk
from granite.controllers.trajectories.segment import motion
from granite.controllers.trajectories.trapezoidal import Trapezoidal
from granite.mrds.tolerances import SAME_TIME_S

#: samples of a leg that are checked against zones
_CHECKED = 101


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


class WaypointBehaviour(TimedPath):
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
        start = np.array([bed.simulation.initial.get(key, 0.0) for key in keys])
        if options.check_moves and self._legs and bed.explains_motion and len(keys) == model.n:
            self._legs = MoveCheck(model).feasible(start, self._legs, stretch=options.stretch)
        if options.check_moves and len(keys) == model.n:
            _refuse_zones(ZoneCheck(model), start, self._legs)
        super().__init__(model, "waypoints", "", *leg_table(self._legs, len(keys)), _motion)

    def begin_again(self, tau: float) -> float | None:
        """When the same motion begins, of which `tau` is a time; none where contacts have changed with it."""
        if len(self.tables["holds"].times) > 1:
            return None
        began = self.memory["began"].item(0)
        return began if math.isfinite(began) else tau


def _refuse_zones(check: ZoneCheck, start: Array, legs: Sequence[Leg]) -> None:
    """Raise where the start, or a leg, is too near to a zone or another module."""
    try:
        check.refuse([(0.0, start, np.zeros_like(start))])
    except InputError as refusal:
        raise refusal.within("simulation.initial") from None
    here, begins = start, 0.0
    for i, leg in enumerate(legs):
        there = np.where(np.isnan(leg.target), here, leg.target)
        segment = leg.segment(here, there, 0.0)
        times = np.linspace(0.0, leg.duration_s, _CHECKED).tolist()
        try:
            check.refuse((begins + t, *segment.at(t)[:2]) for t in times)
        except InputError as refusal:
            raise refusal.within(f"behaviour.waypoints.{i}.target") from None
        here, begins = there, begins + leg.duration_s + leg.hold_s


def leg_table(legs: Sequence[Leg], n: int) -> tuple[Array, Array]:
    """When each leg begins [s], and its numbers: that time, duration, ramp as a part of it, when the last hold is over,
    pose before it and after it. NaN are coordinates that stay where the path began.

    Without legs the path stays at its start, never done.
    """
    t, here, rows = 0.0, np.full(n, math.nan), []
    for leg in legs or (Leg(here, 1.0, 0.0),):
        there = np.where(np.isnan(leg.target), here, leg.target)
        rows.append([t, leg.duration_s, (leg.ramp_s or 0.0) / leg.duration_s, math.inf, *here, *there])
        t, here = t + leg.duration_s + leg.hold_s, there
    table = np.array(rows)
    if legs:
        table[:, 3] = t - SAME_TIME_S
    return table[:, 0].copy(), table


def _motion(since: ca.SX, start: ca.SX, row: ca.SX, n_u: int) -> PathMotion:
    """At rest before a leg begins and after it ends."""
    n = start.numel()
    begins, duration, ramp, end = ca.vertsplit(row[:4])
    before, after = row[4 : 4 + n], row[4 + n :]
    here = ca.if_else(ca.fabs(before) < math.inf, before, start)
    there = ca.if_else(ca.fabs(after) < math.inf, after, start)
    tau = (since - begins) / duration
    curves = (motion(kind.curve, here, there - here, tau, duration, ramp) for kind in (Trapezoidal, MinimumJerk))
    q, u, a = (ca.if_else(ramp > 0, *both) for both in zip(*curves, strict=True))
    moves = ca.logic_and(tau > 0, tau < 1)
    stays = ca.if_else(tau >= 1, there, here)
    # Only a path that stays has a base in space, with more coordinates than velocities.
    rate, acceleration = (ca.if_else(moves, x, 0.0) if n == n_u else ca.SX.zeros(n_u) for x in (u, a))
    return PathMotion(ca.if_else(moves, q, stays), rate, acceleration, since >= end)
