"""Paths of all free-flyers of a testbed, one after the other: each stays clear of those that are planned before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.footprints import obstacles
from granite.controllers.model import ControlModel
from granite.controllers.planning.momentum import refuse_unplannable
from granite.controllers.planning.planner import Plan, Planner
from granite.controllers.planning.problem import PathLimits, PathTask
from granite.controllers.trajectories.sampled import SampledPath

Report = Callable[[str], None]


class ObstacleMotion(NamedTuple):
    """The motion of obstacles that nobody plans: they go on as they move, in tubes that grow."""

    rates: Sequence[float]  #: of all coordinates
    begins_s: float  #: time from their measurement to the beginning of the path


def plan_in_turn(
    model: ControlModel,
    limits: PathLimits,
    nodes: int,
    task: PathTask,
    measured: ObstacleMotion,
    report: Report = lambda sentence: None,
) -> Plan:
    """The plan of all coordinates: in the order of the modules, else in the reverse.

    Obstacles are at the start of the task when they are measured.

    Raises
    ------
    InputError
        Where one has no path, or several move without a given duration.
    """
    refuse_unplannable(model.bed)
    parts = model.layout.q
    moved = [name for name, part in parts.items() if np.any(task.start[part] != task.goal[part])] or [*parts][:1]
    if (len(moved) > 1 or obstacles(model.bed)) and task.duration_s[0] != task.duration_s[1]:
        raise InputError("several robots move", key="behaviour.duration_s", expected="one time [s] for all of them")
    try:
        return _planned(model, limits, nodes, task, moved, measured, report)
    except InputError:
        if len(moved) == 1:
            raise
        report("now in the reverse order")
        return _planned(model, limits, nodes, task, moved[::-1], measured, report)


def _planned(
    model: ControlModel,
    limits: PathLimits,
    nodes: int,
    task: PathTask,
    moved: Sequence[str],
    measured: ObstacleMotion,
    report: Report,
) -> Plan:
    known = [name for name in model.layout.q if name not in moved]
    rates = np.zeros_like(task.start)
    for name in obstacles(model.bed):
        rates[model.layout.q[name]] = measured.rates[model.layout.q[name]]
    times = np.array([0.0, task.duration_s[1]])
    ends = [np.stack([task.start + (measured.begins_s + t) * rates, rates, np.zeros_like(rates)]) for t in times]
    path, plans = SampledPath(times, np.stack(ends)), []
    for name in moved:
        part = model.layout.q[name]
        planner = Planner(model, limits, nodes, name, known, measured.begins_s)
        own = task._replace(start=task.start[part], goal=task.goal[part])
        plans.append(planner.plan(own, None, partial(_named, report, name) if len(moved) > 1 else report, path))
        times, motions = plans[-1].path.times, plans[-1].path.motions
        whole = np.array([path.at(t) for t in times])
        whole[:, :, part] = motions
        path = SampledPath(times, whole)
        known.append(name)
    guesses = ", ".join(plan.guess for plan in plans)
    return Plan(path, sum(plan.impulse for plan in plans), guesses, plans[-1].nodes)


def _named(report: Report, name: str, sentence: str) -> None:
    report(f"{name}: {sentence}")
