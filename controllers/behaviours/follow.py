"""Motion along a path that a file or a function gives over time.

It begins when the state is ready: a lead of `approach_s` from the pose estimated then to the first sample, then the
samples, joined C2 (`path_knots.py`, `trajectories/sampled.py`). Coordinates that are not given stay where they were.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import casadi as ca
import numpy as np
from pydantic import model_validator

from granite.config.base import NotNegative, Positive
from granite.config.behaviour import Behaviour
from granite.config.errors import InputError
from granite.config.records import Array
from granite.controllers.behaviours.move_check import MoveCheck
from granite.controllers.behaviours.path_knots import path_of
from granite.controllers.behaviours.path_samples import TIME, Samples, is_function, read_csv, sample_function
from granite.controllers.behaviours.timed_path import PathMotion, TimedPath
from granite.controllers.behaviours.zone_check import ZoneCheck
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.sampled import SampledPath, polynomial
from granite.mrds.tolerances import SAME_TIME_S

#: checked points between two knots, and at most in all
_BETWEEN, _CHECKED = 4, 2000
#: shortest step between two samples, as a part of the loop's period
_SHORTEST = 0.01


class FollowPath(TimedPath):
    """Follows the samples, then holds the last one."""

    class Options(Behaviour):
        """The path, beside the options of every behaviour."""

        arguments: ClassVar[frozenset[str]] = frozenset(
            {"kind", "path", "samples", "duration_s", "sample_s", "gap_s", "approach_s", "start_m", "start_rad"}
            | {"hold_s", "check_moves", "stretch"}
        )

        #: a CSV file, or FILE.py:FUNCTION, beside the testbed's file
        path: str
        #: of a function: it is called from 0 to this time, at steps of `sample_s`
        duration_s: Positive | None = None
        sample_s: Positive = 0.05  #: step of the samples of a function
        #: of a file: longest step between two rows; none: ten usual ones
        gap_s: Positive | None = None
        #: time from the pose at the start to the first sample
        approach_s: Positive = 2.0
        #: the first sample may be so far from the start of the robot
        start_m: Positive = 0.05
        start_rad: Positive = 0.1  #: the same for angles
        #: time at the last sample until the path is done
        hold_s: NotNegative = 0.0
        #: refuse a path that the actuators or the limits of `safety` do not allow; false: the guard ends such a run
        check_moves: bool = True
        #: slow the path down instead where it is too fast
        stretch: bool = False
        #: what was read of the path; it replaces the file in a log
        samples: Samples | None = None

        @model_validator(mode="before")
        @classmethod
        def _read(cls, content: Any) -> Any:
            """Read the path, unless this is a testbed that has its samples."""
            if not isinstance(content, dict) or not isinstance(content.get("path"), str):
                return content
            path, kept = content["path"], content.get("samples")
            if isinstance(kept, dict) and kept.get("source") == _source(content):
                return content
            try:
                return {**content, "samples": _sampled(path, content)}
            except InputError as refusal:
                if refusal.key:
                    raise
                raise InputError(refusal.problem, key="path", value=path, expected=refusal.expected) from None

    def __init__(self, options: Options, model: ControlModel) -> None:
        assert options.samples is not None
        refuse_spatial(model, options.kind)
        start = start_of(model)
        try:
            _refuse_short_steps(options.samples, model.bed.loop.period_s)
            path, free = path_of(options.samples, model.layout, start)
            _refuse_far_start(options, path, model, start, free)
            whole = checked_path(model, options, path, start)
        except InputError as refusal:
            if refusal.key:
                raise refusal.within("behaviour") from None
            problem, expected = refusal.problem, refusal.expected
            raise InputError(problem, key="behaviour.path", value=options.path, expected=expected) from None
        end = whole.end + options.hold_s - SAME_TIME_S
        super().__init__(model, "follow", "", *knot_table(whole, free, end), knot_motion)


class Flight(Protocol):
    """How a path is begun and checked."""

    @property
    def approach_s(self) -> float:
        """Time from the start to the first sample [s]."""

    @property
    def check_moves(self) -> bool:
        """Whether paths beyond limits are refused."""

    @property
    def stretch(self) -> bool:
        """Whether they are slowed down instead."""


def refuse_spatial(model: ControlModel, kind: str) -> None:
    """Raise where a base floats in space."""
    for module in model.floating:
        if module.dimension == "spatial":
            raise InputError(
                f"'{module.name}' floats in space", key="behaviour.kind", value=kind,
                expected="planar bases and joints only",
            )  # fmt: skip


def start_of(model: ControlModel) -> Array:
    """Pose at the start of a run."""
    return np.array([model.bed.simulation.initial.get(c.key, 0.0) for c in model.layout.positions])


def checked_path(model: ControlModel, flight: Flight, path: SampledPath, start: Array) -> SampledPath:
    """The path after its lead from the start, slower where it may be stretched.

    Raises
    ------
    InputError
        Where actuators, limits or zones do not allow it.
    """
    lead = flight.approach_s
    if flight.check_moves and model.bed.explains_motion:
        path, lead = _feasible(MoveCheck(model), flight, path, start)
    whole = path.after(lead, start)
    if flight.check_moves:
        ZoneCheck(model).refuse((t, *whole.at(t)[:2]) for t in _checked_times(whole)[:-1])
    return whole


def _checked_times(path: SampledPath) -> Array:
    """Some times between its samples, from the first to the last."""
    steps = len(path.times) - 1
    count = min(_BETWEEN * steps, _CHECKED)
    return np.interp(np.linspace(0, steps, count + 1), np.arange(steps + 1), path.times)


def knot_table(path: SampledPath, free: Array, end: float) -> tuple[Array, Array]:
    """Times of the knots [s], and of each: that time, the time to the next one, whether it is the first, when the path
    is done, its motion and that of the next one. NaN are coordinates that are not given; after the last knot it rests.
    """
    times, motions = path.times, path.motions.copy()
    motions[:, :, free] = math.nan
    last = np.zeros((1, *motions.shape[1:]))
    last[0, 0] = motions[-1, 0]
    before, after = np.concatenate([motions[:-1], last]), np.concatenate([motions[1:], last])
    steps, is_first = np.append(np.diff(times), 1.0), np.arange(len(times)) == 0
    numbers = np.stack([times, steps, is_first, np.full(len(times), end)], axis=1)
    return times, np.hstack([numbers, before.reshape(len(times), -1), after.reshape(len(times), -1)])


def knot_motion(since: ca.SX, start: ca.SX, row: ca.SX, n_u: int) -> PathMotion:
    """Coordinates that are not given stay where they were."""
    n = start.numel()
    begins, step, is_first, end = ca.vertsplit(row[:4])
    before, after = row[4 : 4 + 3 * n], row[4 + 3 * n :]
    before = ca.if_else(is_first, ca.vertcat(start, ca.SX.zeros(2 * n)), before)
    q, u, a = polynomial(before, after, (since - begins) / step, step)
    is_given = ca.fabs(after[:n]) < math.inf
    rate, acceleration = (ca.if_else(is_given, x, 0.0) for x in (u, a))
    return PathMotion(ca.if_else(is_given, q, start), rate, acceleration, since >= end)


def _source(content: Mapping[str, Any]) -> str:
    """What the samples depend on, as text."""
    path = content["path"]
    if not is_function(path):
        return str(path)
    return f"{path}, {content.get('duration_s')} s in steps of {content.get('sample_s', 0.05)} s"


def _sampled(path: str, content: Mapping[str, Any]) -> Any:
    """The samples of a path, as content of a table."""
    duration, sample, gap = content.get("duration_s"), content.get("sample_s", 0.05), content.get("gap_s")
    if not is_function(path):
        if duration is not None:
            raise InputError(key="duration_s", value=duration, expected="none: a file has its own times")
        samples = read_csv(path, gap if isinstance(gap, int | float) else None)
    elif isinstance(duration, int | float) and duration > 0 and isinstance(sample, int | float) and sample > 0:
        samples = sample_function(path, float(duration), float(sample))
    elif duration is None:
        raise InputError.missing("duration_s", "a number, because a function does not say when it ends")
    else:
        return None  # the table's own check names the number
    return {**samples.model_dump(), "source": _source(content)}


def _refuse_short_steps(samples: Samples, period: float) -> None:
    times, shortest = samples.columns[0].values, _SHORTEST * period
    for before, t in pairwise(times):
        if t - before < shortest * (1 - 1e-9):
            raise InputError(
                f"column '{TIME}': a step of {t - before:g} s after {before:g}",
                expected=f"at least {shortest:g} s, a hundredth of loop.period_s = {period:g}",
            )


def _refuse_far_start(
    options: FollowPath.Options, path: SampledPath, model: ControlModel, start: Array, free: Array
) -> None:
    first = path.motions[0, 0]
    for i, c in enumerate(model.layout.positions):
        key = "start_m" if c.unit == "m" else "start_rad"
        most = getattr(options, key)
        if not free[i] and abs(first[i] - start[i]) > most:
            raise InputError(
                f"column '{c.key}': {first[i]:g} in the first row, too far from the robot's start",
                expected=f"within {most:g} of simulation.initial.{c.key} = {start[i]:g}, or a larger {key}",
            )


def _feasible(check: MoveCheck, options: Flight, path: SampledPath, start: Array) -> tuple[SampledPath, float]:
    """The path and its lead, slower where they are too fast and may be stretched."""
    times = _checked_times(path)
    samples = [path.at(t) for t in times[:-1]] + [tuple(path.motions[-1])]
    for t, (q, _, _) in zip(times, samples, strict=True):
        try:
            check.refuse_outside(q)
        except InputError as refusal:
            key = refusal.key.removeprefix("target.")
            problem = f"at {t:g} s its '{key}' is {refusal.value:.4g}"
            raise InputError(problem, expected=refusal.expected) from None
    slowest = check.slowest(samples)
    if slowest.stretch > 1.0:
        least = path.end * slowest.stretch * (1 + 1e-6)
        if not options.stretch:
            problem = f"in its {path.end:g} s it would need {slowest.ratio:.3g} times the {slowest.name}"
            raise InputError(problem, expected=f"at least {least:.3g} s, or behaviour.stretch = true")
        path = path.stretched(least / path.end)
    lead = options.approach_s
    approach = path.after(lead, start)
    slowest = check.slowest([approach.at(t) for t in np.linspace(0.0, lead, 41)])
    if slowest.stretch > 1.0:
        if not options.stretch:
            problem = f"the way to the first sample would need {slowest.ratio:.3g} times the {slowest.name}"
            raise InputError(
                problem, key="approach_s", value=lead, expected="a longer one, or behaviour.stretch = true"
            )
        lead *= slowest.stretch * (1 + 1e-6)
    return path, lead
