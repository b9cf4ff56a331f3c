"""Motion through waypoints, from the pose of the modules when the state becomes ready."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import ClassVar, Literal, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from granite.config.base import Name, NotNegative, Positive, Table
from granite.config.behaviour import Behaviour
from granite.config.errors import InputError, one_of
from granite.config.records import Array
from granite.controllers.behaviours.move_check import MoveCheck
from granite.controllers.behaviours.timed_path import PathMotion, TimedPath
from granite.controllers.behaviours.zone_check import ZoneCheck
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.leg import Leg, refuse_long_ramp
from granite.controllers.trajectories.minimum_jerk import MinimumJerk
from granite.controllers.trajectories.segment import Segment, motion
from granite.controllers.trajectories.sine_ramps import SineRamps
from granite.controllers.trajectories.trapezoidal import Trapezoidal
from granite.mrds.tolerances import SAME_TIME_S

#: samples of a leg that are checked against zones
_CHECKED = 101
#: curve of a leg with ramps, by the shape of their acceleration
_RAMPS: dict[str, type[Segment]] = {"constant": Trapezoidal, "sine": SineRamps}


class Waypoint(Table):
    """Go to `target` in `duration_s`, then stay for `hold_s`.

    With `ramp_s`, it accelerates for that time (`ramps`), coasts and decelerates, which needs less propellant. Without
    it the path has minimum jerk.
    """

    #: whose list it belongs to: each module follows its own, in its own time; none: all move together
    module: Name | None = None
    duration_s: Positive  #: time of the move
    hold_s: NotNegative = 0.0  #: time at the target
    ramp_s: Positive | None = None  #: time of acceleration, and of deceleration; none: minimum jerk
    #: by coordinate key, for instance base_x_m or elbow_rad; others keep their value
    target: dict[str, float]

    @model_validator(mode="after")
    def _ramps_fit(self) -> Waypoint:
        refuse_long_ramp(self.ramp_s, self.duration_s)
        return self


class WaypointBehaviour(TimedPath):
    """Follows the waypoints in turn; without any it holds the pose it starts in and is never done."""

    class Options(Behaviour):
        """The waypoints, beside the options of every behaviour."""

        arguments: ClassVar[frozenset[str]] = frozenset({"kind", "waypoints", "ramps", "check_moves", "stretch"})

        waypoints: tuple[Waypoint, ...] = ()  #: in turn
        #: acceleration of waypoints with ramp_s: constant, or half a sine
        ramps: Literal["constant", "sine"] = "constant"
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
        keys, lists = [c.key for c in model.layout.positions], leg_lists(waypoints, model, _RAMPS[options.ramps])
        start = np.array([bed.simulation.initial.get(key, 0.0) for key in keys])
        if options.check_moves and waypoints and bed.explains_motion and len(keys) == model.n:
            check = MoveCheck(model)  # modules that do not touch each other are checked one by one
            lists = [
                one._replace(legs=check.feasible(start, one.legs, stretch=options.stretch, numbers=one.numbers))
                for one in lists
            ]
        if options.check_moves and len(keys) == model.n:
            _refuse_zones(ZoneCheck(model), start, lists)
        #: of each coordinate the number of its list
        groups = np.array([next(k for k, one in enumerate(lists) if one.moves[i]) for i in range(len(keys))])
        times, rows = leg_table(lists, groups)
        key = f"{'' if len(lists) == 1 else groups.tolist()}{options.ramps if options.ramps != 'constant' else ''}"
        super().__init__(model, "waypoints", key, times, rows, partial(_motion, groups, _RAMPS[options.ramps]))

    def begin_again(self, tau: float) -> float | None:
        """When the same motion begins, of which `tau` is a time; none where contacts have changed with it."""
        if len(self.tables["holds"].times) > 1:
            return None
        began = self.memory["began"].item(0)
        return began if math.isfinite(began) else tau


class LegList(NamedTuple):
    """Legs that follow each other, and the coordinates that they move."""

    moves: NDArray[np.bool_]
    legs: tuple[Leg, ...]
    numbers: tuple[int, ...]  #: of their waypoints

    def begins(self) -> list[float]:
        """Of each leg [s], and the end of the last hold."""
        return [0.0, *accumulate(leg.duration_s + leg.hold_s for leg in self.legs)]

    def segments(self, start: Array) -> list[Segment]:
        """The motion of each leg, of all coordinates; others than its own stay at the start."""
        segments, here = [], start
        for leg, begins in zip(self.legs, self.begins(), strict=False):
            there = np.where(np.isnan(leg.target), here, leg.target)
            segments.append(leg.segment(here, there, begins))
            here = there
        return segments


def leg_lists(waypoints: Sequence[Waypoint], model: ControlModel, ramps: type[Segment] = Trapezoidal) -> list[LegList]:
    """One list for all modules together, or one for each."""
    positions, layout = model.layout.positions, model.layout
    legs = [
        Leg(np.array([w.target.get(c.key, np.nan) for c in positions]), w.duration_s, w.hold_s, w.ramp_s, ramps)
        for w in waypoints
    ]
    modules = [w.module for w in waypoints]
    if not any(modules):
        return [LegList(np.ones(len(positions), dtype=bool), tuple(legs), tuple(range(len(legs))))]
    lists, names = [], [module.name for module in layout.modules]
    for i, module in enumerate(modules):
        key = f"behaviour.waypoints.{i}"
        if module not in names:
            expected = f"in each waypoint or in none; {one_of(str(module), names)}"
            raise InputError("no such module", key=f"{key}.module", value=module, expected=expected)
        for c in positions:
            if c.key in waypoints[i].target and c not in positions[layout.q[module]]:
                raise InputError(
                    f"not of '{module}'", key=f"{key}.target.{c.key}", expected="coordinates of the module"
                )
    for name in names:
        moves = np.zeros(len(positions), dtype=bool)
        moves[layout.q[name]] = True
        numbers = tuple(i for i, module in enumerate(modules) if module == name)
        lists.append(LegList(moves, tuple(legs[i] for i in numbers), numbers))
    return lists


def _refuse_zones(check: ZoneCheck, start: Array, lists: Sequence[LegList]) -> None:
    """Raise where the start, or a leg, is too near to a zone or another module."""
    try:
        check.refuse([(0.0, start, np.zeros_like(start))])
    except InputError as refusal:
        raise refusal.within("simulation.initial") from None
    ways = [(one, one.begins()[:-1], one.segments(start)) for one in lists if one.legs]

    def motion_at(t: float) -> tuple[Array, Array]:
        q, u = start.copy(), np.zeros_like(start)
        for one, begins, segments in ways:
            position, rate, _ = segments[bisect_right(begins, t) - 1].at(t)
            q[one.moves], u[one.moves] = position[one.moves], rate[one.moves]
        return q, u

    for one, begins, _ in ways:
        for t0, leg, number in zip(begins, one.legs, one.numbers, strict=True):
            times = np.linspace(t0, t0 + leg.duration_s, _CHECKED).tolist()
            try:
                check.refuse((t, *motion_at(t)) for t in times)
            except InputError as refusal:
                raise refusal.within(f"behaviour.waypoints.{number}.target") from None


def leg_table(lists: Sequence[LegList], groups: NDArray[np.int64]) -> tuple[Array, Array]:
    """When a leg begins [s], and the numbers from then on: when the last hold is over; of each list when its leg
    begins, how long it is, and its ramp as a part of that; pose before and after. NaN stays where the path began.

    Without legs the path stays at its start, never done.
    """
    n = len(groups)
    tables = [_rows(one.legs, n) for one in lists]
    times = np.unique(np.concatenate([table[:, 0] for table in tables]))
    is_moved = any(one.legs for one in lists)
    end = max(one.begins()[-1] for one in lists) - SAME_TIME_S if is_moved else math.inf
    rows = []
    for t in times:
        now = [table[np.searchsorted(table[:, 0], t, side="right") - 1] for table in tables]
        poses = np.array([now[group][3:].reshape(2, n)[:, i] for i, group in enumerate(groups)]).T
        rows.append(np.concatenate([[end], *(numbers[:3] for numbers in now), poses.ravel()]))
    return times, np.array(rows)


def _rows(legs: Sequence[Leg], n: int) -> Array:
    """Of each leg: when it begins, its duration, its ramp as a part of that, pose before it and after it."""
    t, here, rows = 0.0, np.full(n, math.nan), []
    for leg in legs or (Leg(here, 1.0, 0.0),):
        there = np.where(np.isnan(leg.target), here, leg.target)
        rows.append([t, leg.duration_s, (leg.ramp_s or 0.0) / leg.duration_s, *here, *there])
        t, here = t + leg.duration_s + leg.hold_s, there
    return np.array(rows)


def _motion(
    groups: NDArray[np.int64], ramps: type[Segment], since: ca.SX, start: ca.SX, row: ca.SX, n_u: int
) -> PathMotion:
    """At rest before a leg begins and after it ends."""
    n, lists = start.numel(), int(groups.max(initial=0)) + 1
    end, numbers = row[0], ca.reshape(row[1 : 1 + 3 * lists], 3, lists)
    # One list is one number for all, as one.
    begins, duration, ramp = ca.vertsplit(numbers if lists == 1 else numbers[:, groups.tolist()])
    begins, duration, ramp = (number.T for number in (begins, duration, ramp))
    before, after = row[1 + 3 * lists : 1 + 3 * lists + n], row[1 + 3 * lists + n :]
    here = ca.if_else(ca.fabs(before) < math.inf, before, start)
    there = ca.if_else(ca.fabs(after) < math.inf, after, start)
    tau = (since - begins) / duration
    curves = (motion(kind.curve, here, there - here, tau, duration, ramp) for kind in (ramps, MinimumJerk))
    q, u, a = (ca.if_else(ramp > 0, *both) for both in zip(*curves, strict=True))
    moves = ca.logic_and(tau > 0, tau < 1)
    stays = ca.if_else(tau >= 1, there, here)
    # Only a path that stays has a base in space, with more coordinates than velocities.
    rate, acceleration = (ca.if_else(moves, x, 0.0) if n == n_u else ca.SX.zeros(n_u) for x in (u, a))
    return PathMotion(ca.if_else(moves, q, stays), rate, acceleration, since >= end)
