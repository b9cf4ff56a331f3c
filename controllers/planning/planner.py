"""Paths of least propellant or time: guesses, solves, and a check between the nodes.

The line is tried first, then the way around zones on a grid, and that with a folded arm; of those that hold, the
cheapest is taken. A path counts only when its samples, 50 ms apart or less, keep all limits. Brakes to rest must end
clear of zones, too: they are a part of the programme where a path that was solved without them fails for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from granite.config.convex import half_planes
from granite.config.errors import InputError
from granite.config.footprints import obstacles
from granite.config.records import Array
from granite.controllers.behaviours.move_check import Motion, MoveCheck
from granite.controllers.behaviours.zone_check import ZoneCheck
from granite.controllers.model import ControlModel
from granite.controllers.planning.guesses import along_line, around_zones, aside, base_radius
from granite.controllers.planning.momentum import MomentumModel
from granite.controllers.planning.moving_discs import MovingDiscs
from granite.controllers.planning.problem import (
    PathLimits,
    PathNodes,
    PathObstacles,
    PathProblem,
    PathSolution,
    PathTask,
)
from granite.controllers.trajectories.sampled import SampledPath

#: longest time between two samples [s]
_SAMPLE_S = 0.05
#: margin beside the clearance, for the way between nodes and of a brake; more where it is too small [m]
_MARGINS_M = (0.015, 0.04, 0.08, 0.12)
#: where measured obstacles will be, so long after every node: a robot that brakes there must not be in their way [s]
_AHEAD_S = (3.0, 6.0, 9.0)
#: part of the clearance that a brake leaves: more than the guard asks for, because the robot moves about its path
_BRAKE_LEAVES = 0.65
#: part of the nodes at either end in which the margin grows
_NEAR_ENDS = 0.15


class Plan(NamedTuple):
    """A path that was found."""

    path: SampledPath
    impulse: float  #: of the thrusters, without what noise and errors will cost [N s]
    guess: str  #: that led to it
    nodes: PathNodes  #: to begin the next one with; of several robots, those of the last


class Planner:
    """Plans paths of one free-flyer; built once, for any start, goal and duration, and for other places of discs.

    Parameters
    ----------
    model
        The controller's model.
    limits
        Of thrust and joints.
    nodes
        Number of intervals of a path.
    module
        The free-flyer, by name; none: the only one.
    others
        Modules that it stays clear of; of further ones it knows nothing.
    begins_s
        Time from the measurement of obstacles to the beginning of the path.
    """

    def __init__(
        self,
        model: ControlModel,
        limits: PathLimits,
        nodes: int,
        module: str = "",
        others: Sequence[str] = (),
        begins_s: float = 0.0,
    ) -> None:
        bed, self._begins = model.bed, begins_s
        self._module = module or model.layout.modules[0].name
        self._part = model.layout.q[self._module]
        zones = [zone for zone in bed.safety.keep_out if zone.module is None]
        discs = [(*zone.disc.position_m, zone.disc.radius_m) for zone in zones if zone.disc]
        self._discs: Array = np.array(discs, dtype=float).reshape(-1, 3)
        self._polygons = tuple(half_planes(zone.polygon_m) for zone in zones if zone.polygon_m)
        self._others, self._obstacles = MovingDiscs(model, others), MovingDiscs(model, [*obstacles(bed)])
        own, *theirs = (base_radius(bed, bed.module(name)) for name in (self._module, *others))
        self._offset = own + max(theirs, default=0.0) + 3 * bed.safety.clearance_m
        self._clearance, self._whole_model, self._limits, self._nodes = bed.safety.clearance_m, model, limits, nodes
        unknown = {one.name for one in model.layout.modules} - {self._module, *others}
        self._moves, self._zones = MoveCheck(model), ZoneCheck(model, compiled=False, without=unknown)

    def _problem(self, *, brakes: bool) -> PathProblem:
        """Built at its first use: start and goal are checked before."""
        discs = len(self._discs), len(self._others), len(self._obstacles) * len(_AHEAD_S)
        around = PathObstacles(*discs, self._polygons, brakes)
        return _problem(self._whole_model, self._model, self._limits, self._nodes, around)

    @cached_property
    def _model(self) -> MomentumModel:
        return MomentumModel(self._whole_model, self._module)

    def plan(
        self,
        task: PathTask,
        near: PathNodes | None = None,
        report: Callable[[str], None] = lambda sentence: None,
        around: SampledPath | None = None,
    ) -> Plan:
        """The cheapest path that holds; `near` is the solution of a similar task, tried before the guesses.

        `around` is a path of all coordinates that takes as long, along which the other modules move.

        Raises
        ------
        InputError
            Where no guess leads to one, with what was wrong with the last.
        """
        ends = task.duration_s[1]
        for q, key, t in ((task.start, "simulation.initial", 0.0), (task.goal, "behaviour.target", ends)):
            pose, rate, _ = self._whole((q, np.zeros_like(q), np.zeros_like(q)), around, t)
            try:
                self._zones.refuse([(self._begins + t, pose, rate)])
                self._moves.refuse_outside(pose)
            except InputError as refusal:
                at = refusal.key.removeprefix("target.")
                raise InputError(refusal.problem, key=f"{key}.{at}".rstrip("."), expected=refusal.expected) from None
        plans, problem = [], ""
        for name, guess in self._guesses(task, near):
            report(f"{name}: solving")
            try:
                plans.append(self._solved(task, guess, name, around))
                report(f"{name}: {plans[-1].impulse:.2f} N s in {plans[-1].path.end:.1f} s")
            except InputError as refusal:
                problem = refusal.problem or str(refusal)
                report(f"{name}: {problem}")
            if plans and name in ("near", "line", "grid"):
                break
        if not plans:
            expected = "a longer duration_s, another target, or more thrust_ratio"
            raise InputError(f"no path was found: {problem}", key="behaviour.target", expected=expected)
        return min(plans, key=lambda plan: plan.impulse)

    def _whole(self, motion: Motion, around: SampledPath | None, t: float) -> Motion:
        """With that of the other modules at a time."""
        if around is None:
            return motion
        q, u, a = (part.copy() for part in around.at(t))
        q[self._part], u[self._part], a[self._part] = motion
        return q, u, a

    def _guesses(self, task: PathTask, near: PathNodes | None) -> Iterator[tuple[str, PathNodes]]:
        model, nodes, (least, most) = self._model, self._nodes, task.duration_s
        duration = least if least == most else min(max(self._usual(task), least), most)
        if near is not None:
            yield "near", near
        yield "line", along_line(model, nodes, task.start, task.goal, duration)
        for side, offset in (("left", self._offset), ("right", -self._offset)) if len(self._others) else ():
            yield f"aside, {side}", aside(model, nodes, task.start, task.goal, duration, offset)
        if not len(self._discs) and not self._polygons:
            return
        for name, folds in (("grid", False), ("grid with a folded arm", True)):
            route = around_zones(model, nodes, task.start, task.goal, duration, self._distance, folds=folds)
            if route is not None:
                yield name, route

    def _usual(self, task: PathTask) -> float:
        """A duration that is long enough: twice that of full thrust half of the way, and slow joints."""
        model = self._model
        force = self._limits.thrust_ratio * float(np.sort(model.thrust)[:2].sum())
        base = 4 * np.sqrt(float(np.hypot(*(task.goal - task.start)[:2])) * model.mass / force)
        turns = np.abs(task.goal - task.start)[2:].max(initial=0.0) / self._limits.joint_rate_rad_s
        return float(max(base, 3 * turns, 2.0))

    def _distance(self, x: float, y: float) -> float:
        discs = [np.hypot(x - cx, y - cy) - r for cx, cy, r in self._discs]
        polygons = [max(nx * x + ny * y - offset for nx, ny, offset in planes) for planes in self._polygons]
        return float(min([*discs, *polygons], default=np.inf)) - self._clearance

    def _solved(self, task: PathTask, guess: PathNodes, name: str, around: SampledPath | None) -> Plan:
        discs = self._discs
        if around is not None and len(self._others):
            times = np.linspace(0.0, task.duration_s[1], self._nodes + 1)
            motions = [around.at(t) for t in times]
            moving = [self._others.at([q for q, _, _ in motions], self._begins + times)]
            for ahead in _AHEAD_S:
                poses = [q + ahead * u for q, u, _ in motions]
                moving.append(self._obstacles.at(poses, self._begins + ahead + times))
            discs = np.concatenate([np.broadcast_to(discs, (len(times), *discs.shape)), *moving], axis=1)
        # None at start and goal, which may be as near as the clearance.
        nodes = np.arange(self._nodes + 1)
        more = np.clip(np.minimum(nodes, nodes[::-1]) / (_NEAR_ENDS * self._nodes), 0.0, 1.0) ** 2
        still = bool(len(self._discs) or self._polygons)
        # A path that nearly all brakes leave clear is found in half of the time without them.
        tries = [(False, _MARGINS_M[0])] if still and name in ("near", "line") else []
        refusal = InputError("not tried")
        for brakes, margin in (*tries, *((still, margin) for margin in _MARGINS_M)):
            solution = self._problem(brakes=brakes).solve(task, discs, self._clearance + margin * more, guess)
            if not solution.holds:
                inside = f", {1e3 * solution.slack:.3g} mm too near" if solution.slack > 1e-4 else ""
                refusal = InputError(f"{solution.status.replace('_', ' ').lower()}{inside}")
                if brakes or not still:
                    break
                continue
            path = self._sampled(task, solution)
            try:
                self._refuse(path, around)
                return Plan(path, solution.impulse, name, solution.nodes)
            except InputError as reason:
                refusal, guess = reason, solution.nodes
        raise refusal

    def _refuse(self, path: SampledPath, around: SampledPath | None) -> None:
        """Raise where the samples come too near to a zone, or need too much."""
        times = np.linspace(0.0, path.end, 2 * len(path.times) - 1)[:-1]
        samples = [self._whole(path.at(t), around, t) for t in times]
        rows = ((self._begins + t, q, u) for t, (q, u, _) in zip(times.tolist(), samples, strict=True))
        self._zones.refuse(rows, _BRAKE_LEAVES)
        for q, _, _ in samples:
            self._moves.refuse_outside(q)
        slowest = self._moves.slowest(samples)
        if slowest.ratio > 1.0:
            raise InputError(f"between nodes it would need {slowest.ratio:.3g} times the {slowest.name}")

    def _sampled(self, task: PathTask, solution: PathSolution) -> SampledPath:
        """q, u and u' between the nodes, too."""
        (states, controls, duration), model = solution.nodes, self._model
        h, step = duration / self._nodes, self._problem(brakes=False).step
        parts = max(1, int(np.ceil(h / _SAMPLE_S)))
        times, motions = [], []
        for k in range(self._nodes):
            x, before, change = states[:, k], controls[:, k], controls[:, k + 1] - controls[:, k]
            for i in range(parts):
                now = before + change * i / parts
                motions.append(np.array([np.array(part).ravel() for part in model.motion(x, now)]))
                times.append((k + i / parts) * h)
                x = np.array(step(x, now, now + change / parts, h / parts)).ravel()
        motions.append(np.array([task.goal, np.zeros_like(task.goal), np.zeros_like(task.goal)]))
        return SampledPath(np.array([*times, duration]), np.array(motions))


def _problem(
    whole: ControlModel, model: MomentumModel, limits: PathLimits, nodes: int, around: PathObstacles
) -> PathProblem:
    """The programme, kept for testbeds that differ in start, target and discs alone."""
    bed = whole.bed
    kept = bed.safety.model_dump_json(exclude={"keep_out", "responses"}), bed.simulation.table.model_dump_json()
    parts = (part.model_dump_json() for part in (*bed.modules, *bed.actuators.values()))
    key = (*kept, *parts, model.module.name, limits, nodes, repr(around))
    if key not in _kept:
        if len(_kept) == _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = PathProblem(model, limits, nodes, around)
    return _kept[key]


_kept: dict[tuple[object, ...], PathProblem] = {}
_MOST_KEPT = 4
