"""Paths to goals from a motion (q, u, a), and their check: both compiled, used in the tick and by who searches a goal.

A path is rows: when each begins [s], how long it is, and q, u, a of all coordinates at its beginning and its end,
joined by fifth-order polynomials (`trajectories/sampled.py`). So every path continues the motion with its acceleration.

**To a pose** in a time T: the speed of each coordinate changes to v within r = 0.3 T, stays, and goes to zero within r:

    v = (D - r u0/2 - r^2 a0/12) / (T - r)

From rest to rest that takes 0.76 of the impulse of a path of minimum jerk, with 1.23 times its acceleration.

**Jog**: the speeds change to those that are asked for, in the time that the deceleration A of the jog needs for the
largest change. After `jog_s` they go to zero in |u|/A, wherever the change is then. The mean of A is three quarters of
the deceleration of the brake, its peak half as much again.

Rows have the coordinates of a measured obstacle, too: it goes on at its rate from the beginning of the path.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from granite.config.footprints import obstacles
from granite.config.records import NOTHING, Array
from granite.controllers.behaviours.motion_limits import (
    MotionLimit,
    MotionSymbols,
    motion_limits,
    pairs_of,
    robot_limits,
    zone_limits,
)
from granite.controllers.behaviours.path_distances import distance_check
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import braked
from granite.controllers.trajectories.sampled import compiled, polynomial
from granite.kernels.compilation import compile_once

#: time of a change of speed on the way to a pose, as a part of the whole
_RAMP = 0.3
#: deceleration of a jog, as a part of that of the brake
_GENTLE = 0.75
#: checked instants of a row, and of a row of many
_SAMPLES, _FEWER_SAMPLES = 24, 9
#: rows of a path that is not merged
_FEW_ROWS = 3
#: knots of two paths that are nearer to each other are one [s]
_SAME_KNOT_S = 1e-4
#: part by which a limit may be exceeded: numerical noise at the edge of what was found to be feasible
_TOLERANCE = 1e-6
#: durations that are tried for a goal [s]
_DURATIONS = np.geomspace(0.5, 900.0, 80)
#: part of what a goal may use of forces and rates that is used where nobody asks for a duration
_UNHURRIED = 0.75


class PathUse(NamedTuple):
    """The part of a limit that a path uses; above 1 it is not possible."""

    limit: int
    part: float


class GoalPaths:
    """Paths of a testbed.

    Parameters
    ----------
    model
        The controller's model: planar, with a rate for each coordinate.
    """

    def __init__(self, model: ControlModel) -> None:
        bed, self.n = model.bed, model.n
        self._limits: list[MotionLimit] = motion_limits(bed)
        count, zones = len(robot_limits(bed)), len(zone_limits(bed))
        self._robot, self._zones = self._limits[:count], self._limits[count : count + zones]
        self._tubes = self._limits[count + zones :]
        layout = model.layout
        #: coordinates of measured obstacles
        self._measured = np.array([i for name in obstacles(bed) for i in range(self.n)[layout.q[name]]], dtype=int)
        self._is_pose = np.array([limit.is_pose for limit in self._limits], dtype=bool)
        self._is_effort = np.array([limit.scale is None for limit in self._limits], dtype=bool)
        self._width = 2 + 6 * self.n
        kernels = compile_once("goals", bed.fingerprint, lambda: self._functions(model))
        self._to_pose, self._jog, self._check = (kernels[name].run for name in ("to_pose", "jog", "path_check"))
        self._checks = {name: kernel.run for name, kernel in kernels.items()}
        self._polynomial = compiled(self.n).run
        self._jog_numbers = np.array([bed.operator.jog_s, bed.loop.period_s])

    def to_pose(self, t: float, motion: Array, target: Array, duration: float) -> Array:
        """From a motion (q, u, a in one array) at time t to rest at the target."""
        rows: Array = self._to_pose((np.array([t, duration]), motion, target)).reshape(-1, self._width)
        return self.with_obstacles(rows, motion)

    def jog(self, t: float, motion: Array, speeds: Array) -> Array:
        """From a motion at time t to these speeds, for `operator.jog_s`, and to rest."""
        rows: Array = self._jog((np.array([t]), self._jog_numbers, motion, speeds)).reshape(-1, self._width)
        return self.with_obstacles(rows, motion)

    def between(self, t: float, before: Array, after: Array, duration: float) -> Array:
        """The row from one knot at time t to another."""
        return np.concatenate([[t, duration], before, after])

    def with_obstacles(self, rows: Array, motion: Array) -> Array:
        """A path with measured obstacles that go on as they move at its beginning."""
        if not (indices := self._measured).size:
            return rows
        q, u = motion[indices], motion[self.n + indices]
        for t, first in ((rows[:, 0], 2), (rows[:, 0] + rows[:, 1], 2 + 3 * self.n)):
            rows[:, first + indices] = q + (t - rows[0, 0])[:, None] * u
            rows[:, first + self.n + indices], rows[:, first + 2 * self.n + indices] = u, 0.0
        return rows

    def resting(self, t: float, q: Array) -> Array:
        """At rest at a pose from time t on."""
        knot = np.concatenate([q, np.zeros(2 * self.n)])
        return self.between(t, knot, knot, 1.0)[None]

    def merged(self, rows: Array, others: Array, is_ours: NDArray[np.bool_]) -> Array:
        """A path of some coordinates and another one of the others, as one: each keeps its own time.

        A polynomial that is cut in two stays the same polynomial.
        """
        both = sorted((*rows[:, 0].tolist(), *others[1:, 0].tolist()))
        times = [both[0], *(t for before, t in pairwise(both) if t - before > _SAME_KNOT_S)]
        n, merged = 3 * self.n, np.empty((len(times), self._width))
        merged[:, 0], knots = times, merged[:, 2 : 2 + n]
        knots[:] = self._at(others, times)
        np.copyto(knots, self._at(rows, times), where=np.concatenate([is_ours] * 3))
        knots[-1, self.n :] = 0.0
        merged[:-1, 1], merged[-1, 1] = merged[1:, 0] - merged[:-1, 0], 1.0
        merged[:-1, 2 + n :], merged[-1, 2 + n :] = knots[1:], knots[-1]
        return merged

    def _at(self, rows: Array, times: list[float]) -> list[Array]:
        """q, u, a of a path at some times, at rest at its end."""
        begins, knots, n = rows[:, :2].tolist(), [], 3 * self.n
        for t in times:
            k = max(bisect_right(begins, t, key=itemgetter(0)) - 1, 0)
            (begin, step), row = begins[k], rows[k]
            knots.append(
                row[2 : 2 + n]
                if t == begin
                else self._polynomial((row[2 : 2 + n], row[2 + n :], np.array([(t - begin) / step, step])))
            )
        return knots

    def worst(self, rows: Array) -> PathUse:
        """The limit that a path uses most; it rests in its last row. Beyond a limit at first, it may only come back."""
        return self._worst(*self._parts(rows))

    def worst_row(self, row: Array) -> PathUse:
        """The same of a row of a path that begins at another time than it says: without measured obstacles."""
        return self._worst(*self._parts(np.stack([row, row]), knows_time=False))

    def worst_tube(self, rows: Array) -> PathUse:
        """Of the distances from measured obstacles."""
        others = np.zeros(len(self._limits) - len(self._tubes))
        return self._worst(*(np.concatenate([others, part]) for part in self._tube_parts(rows, np.ones(1))))

    def _worst(self, most: Array, first: Array) -> PathUse:
        if not len(most):
            return PathUse(0, 0.0)
        most = most / np.maximum(first, 1.0)
        worst = int(most.argmax())
        if most[worst] <= 1.0:
            return PathUse(worst, float(most[worst]))
        most[np.isnan(most)] = math.inf
        outside = self._is_pose & (most > 1.0)  # named first
        worst = int(np.where(outside, most, 0.0).argmax() if outside.any() else most.argmax())
        return PathUse(worst, float(most[worst]))

    def steady(self, q: Array, rates: Array) -> PathUse:
        """The limit of rates and forces that a constant motion uses most: a short jog does not reach its rates."""
        rest = np.zeros(self.n)
        row = np.concatenate([[0.0, 1.0], q, rates, rest, q + rates, rates, rest])
        parts = np.where(self._is_effort[: len(self._robot)], self._check((row,)).reshape(_SAMPLES, -1)[0], 0.0)
        return PathUse(int(parts.argmax()), float(parts.max(initial=0.0)))

    def is_possible(self, use: PathUse) -> bool:
        """Whether a path with this worst limit may be followed."""
        return use.part <= 1.0 + _TOLERANCE

    def duration(self, motion: Array, target: Array) -> tuple[float, bool]:
        """A duration to the target that leaves forces and rates unhurried, and true; else that which uses least.

        In mid-motion a longer time is not always easier, so durations are tried one after the other.
        """
        return self._first(lambda duration: self.to_pose(0.0, motion, target, duration))

    def lead(self, motion: Array, knot: Array) -> tuple[float, bool]:
        """The same for the way to the first knot of a path."""
        return self._first(lambda lead: self.between(0.0, motion, knot, lead)[None].repeat(2, 0))

    def _first(self, rows_of: Callable[[float], Array]) -> tuple[float, bool]:
        best, least = math.nan, math.inf
        for duration in _DURATIONS.tolist():
            rows = rows_of(duration)
            most, first = self._parts(rows)
            use = self._worst(most, first)
            if self.is_possible(use) and (most[self._is_effort] <= _UNHURRIED).all():
                return float(duration), True
            if use.part < least:
                best, least = duration, use.part
        return float(best), False

    def _parts(self, rows: Array, *, knows_time: bool = True) -> tuple[Array, Array]:
        """The part of each limit that a path uses: the largest, and the first one; of distances zero if they are kept.

        Without the time of the path, nothing is said about measured obstacles.
        """
        check = "path_check" if len(rows) <= _FEW_ROWS + 1 else "row_check"
        robot = self._of_rows(check, rows, self._robot)
        if not self._zones and not self._tubes:
            return robot
        # Of a motion that the robot can't have, it is not asked where a brake would end.
        can_be = robot[0] <= np.maximum(robot[1], 1.0) * (1.0 + _TOLERANCE)
        brakes = np.array([float((can_be | ~self._is_effort[: len(can_be)]).all())])
        zones = self._of_rows("zone_check", rows, self._zones, brakes)
        tubes = self._tube_parts(rows, brakes) if knows_time else (np.zeros(len(self._tubes)),) * 2
        most, first = (np.concatenate(parts) for parts in zip(robot, zones, tubes, strict=True))
        return most, first

    def _tube_parts(self, rows: Array, brakes: Array) -> tuple[Array, Array]:
        return self._of_rows("tube_check", rows, self._tubes, brakes)

    def _of_rows(self, check: str, rows: Array, limits: list[MotionLimit], *more: Array) -> tuple[Array, Array]:
        """The largest parts of some limits, and the first ones: a check gives a row of them for each instant."""
        if not limits:
            return NOTHING, NOTHING
        run = self._checks[check]
        since = (rows[0, :1], *more) if more else ()
        parts = np.concatenate([run((row, *since)) for row in rows[:-1]]).reshape(-1, len(limits))
        return parts.max(axis=0), parts[0]

    def _functions(self, model: ControlModel) -> list[ca.Function]:
        checks = [
            _check("path_check", model, self._robot, _SAMPLES),
            _check("row_check", model, self._robot, _FEWER_SAMPLES),
        ]
        for name, is_measured in (("zone_check", False), ("tube_check", True)):
            if pairs := pairs_of(model.bed, is_measured):
                checks.append(distance_check(name, model, pairs))
        return [_to_pose(self.n), _jog(model), *checks]


def _knot(q: ca.SX, u: ca.SX, a: ca.SX) -> ca.SX:
    return ca.vertcat(q, u, a)


def _rows(t: ca.SX, knots: list[ca.SX], steps: list[ca.SX]) -> ca.SX:
    """A column for each row of a path, the last one at rest."""
    last, columns = knots[-1], []
    for before, after, step in zip(knots, [*knots[1:], last], [*steps, ca.SX(1.0)], strict=True):
        columns.append(ca.vertcat(t, step, before, after))
        t = t + step
    return ca.horzcat(*columns)


def _changed(before: ca.SX, speeds: ca.SX, r: ca.SX) -> ca.SX:
    """The knot at which the speeds have changed: the rate is a cubic, without overshoot from rest."""
    q, u, a = ca.vertsplit(before, before.numel() // 3)
    return _knot(q + r * (u + speeds) / 2 + r**2 * a / 12, speeds, ca.SX.zeros(speeds.numel()))


def _to_pose(n: int) -> ca.Function:
    numbers, motion, target = ca.SX.sym("numbers", 2), ca.SX.sym("motion", 3 * n), ca.SX.sym("target", n)
    t, T = ca.vertsplit(numbers)
    q, u, a = ca.vertsplit(motion, n)
    r = _RAMP * T
    v = (target - q - r * u / 2 - r**2 * a / 12) / (T - r)
    rest = ca.SX.zeros(n)
    coasts = _changed(motion, v, r)
    knots = [motion, coasts, _knot(target - r * v / 2, v, rest), _knot(target, rest, rest)]
    return ca.Function("to_pose", [numbers, motion, target], [_rows(t, knots, [r, T - 2 * r, r])])


def _jog(model: ControlModel) -> ca.Function:
    n = model.n
    t, numbers = ca.SX.sym("t"), ca.SX.sym("numbers", 2)
    motion, speeds = ca.SX.sym("motion", 3 * n), ca.SX.sym("speeds", n)
    jog_s, period = ca.vertsplit(numbers)
    inertia = ca.substitute(ca.diag(model.mass_matrix), model.q, motion[:n])
    per_speed = ca.SX.zeros(n)
    for group in braked(model):
        for i in group.indices:
            per_speed[i] = 1 / (_GENTLE * (group.deceleration or group.effort / inertia[i]))

    def takes(change: ca.SX) -> ca.SX:
        return ca.fmax(ca.mmax(ca.fabs(change) * per_speed), 2 * period)

    r = takes(speeds - motion[n : 2 * n])
    until = ca.fmin(r, jog_s)
    reached = _knot(*polynomial(motion, _changed(motion, speeds, r), until / r, r))
    q, u, a = ca.vertsplit(reached, n)
    # No row may be empty: a change that is cut off goes on for a tenth of a tick.
    goes_on = ca.fmax(jog_s - until, period / 10)
    last = _knot(q + goes_on * u + goes_on**2 * a / 2, u + goes_on * a, a)
    stops = takes(last[n : 2 * n])
    knots = [motion, reached, last, _changed(last, ca.SX.zeros(n), stops)]
    return ca.Function("jog", [t, numbers, motion, speeds], [_rows(t, knots, [until, goes_on, stops])])


def _check(name: str, model: ControlModel, limits: list[MotionLimit], samples: int) -> ca.Function:
    """(row) -> the part of each limit of the robot, a column an instant."""
    n, row, tau = model.n, ca.SX.sym("row", 2 + 6 * model.n), ca.SX.sym("tau")
    demanded = ca.SX.sym("a", n)
    acceleration = model.complete(demanded, ca.SX.zeros(n))
    force = model.inverse(acceleration)
    symbols = MotionSymbols(model, model.q, model.u, acceleration, force, model.wrenches(force))
    parts = ca.vertcat(ca.SX(0, 1), *(limit.part(symbols) for limit in limits if limit.part))
    at = ca.Function("at", [model.q, model.u, demanded], [ca.densify(parts)], {"cse": True})
    instant = ca.Function("instant", [row, tau], [at(*polynomial(row[2 : 2 + 3 * n], row[2 + 3 * n :], tau, row[1]))])
    path_row = ca.MX.sym("row", 2 + 6 * n)
    taus = ca.DM(np.linspace(0.0, 1.0, samples)).T
    return ca.Function(name, [path_row], [instant.map(samples)(ca.repmat(path_row, 1, samples), taus)])
