"""Motion along a path that a file or a function gives over time.

It begins when the state is ready: a lead of `approach_s` from the pose estimated then to the first sample, then the
samples, joined C2 (`path_knots.py`, `trajectories/sampled.py`). Coordinates that are not given stay where they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import model_validator

from granite.config.base import NotNegative, Positive
from granite.config.behaviour import Behaviour
from granite.config.errors import InputError
from granite.config.records import NOTHING, Array, Reference, State
from granite.controllers.behaviours.holds import Holds
from granite.controllers.behaviours.move_check import MoveCheck
from granite.controllers.behaviours.path_knots import path_of
from granite.controllers.behaviours.path_samples import TIME, Samples, is_function, read_csv, sample_function
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.sampled import SampledPath, compiled
from granite.kernels.compiled_form import CompiledForm
from granite.mrds.tolerances import SAME_TIME_S

#: checked points between two knots, and at most in all
_BETWEEN, _CHECKED = 4, 2000
#: shortest step between two samples, as a part of the loop's period
_SHORTEST = 0.01


class FollowPath:
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
        sample_s: Positive = 0.05
        #: of a file: longest step between two rows; none: ten usual ones
        gap_s: Positive | None = None
        #: time from the pose at the start to the first sample
        approach_s: Positive = 2.0
        #: the first sample may be so far from the start of the robot
        start_m: Positive = 0.05
        start_rad: Positive = 0.1
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
        bed = model.bed
        for module in model.floating:
            if module.dimension == "spatial":
                raise InputError(
                    f"'{module.name}' floats in space", key="behaviour.kind", value=options.kind,
                    expected="planar bases and joints only",
                )  # fmt: skip
        assert options.samples is not None
        keys = [c.key for c in model.layout.positions]
        self._start = np.array([bed.simulation.initial.get(key, 0.0) for key in keys])
        try:
            _refuse_short_steps(options.samples, bed.loop.period_s)
            path, self._free = path_of(options.samples, model.layout, self._start)
            _refuse_far_start(options, path, model, self._start, self._free)
            lead = options.approach_s
            if options.check_moves and bed.explains_motion:
                path, lead = _feasible(MoveCheck(model), options, path, self._start)
        except InputError as refusal:
            if refusal.key:
                raise refusal.within("behaviour") from None
            problem, expected = refusal.problem, refusal.expected
            raise InputError(problem, key="behaviour.path", value=options.path, expected=expected) from None
        #: with the lead from `simulation.initial`, until the start is known
        self._path = path.after(lead, self._start)
        self._end = self._path.end + options.hold_s - SAME_TIME_S
        self._lead, self._whole = lead, path
        self._rest: Array = np.zeros(model.n)
        self._rest.setflags(write=False)
        self._holds = Holds(bed)
        #: where the path began, at rest, when [s], and whether it has
        self._path_start, self._began, self._is_begun = np.zeros(3 * model.n), np.zeros(1), np.zeros(1)
        self._path_from: Array = self._start

    def compiled_form(self) -> CompiledForm:
        """The same in C."""
        n, holds = len(self._rest), self._holds.compiled_form()
        return CompiledForm(
            (*holds.sources, Path(__file__).with_suffix(".c")),
            {**holds.sizes, "KNOTS": len(self._path.times)},
            {"FOLLOWED": [int(not free) for free in self._free]},
            {
                **holds.parameters,
                "knot_time": self._path.times,
                "knot_motion": self._path.motions.ravel(),
                "path_end": np.array([self._end]),
            },
            {
                **holds.memory,
                "path_start": self._path_start,
                "path_began": self._began,
                "path_is_begun": self._is_begun,
            },
            {"sampled_path": [compiled(n)]},
            "follow_decide",
        )

    def decide(self, state: State) -> Reference:
        """The reference at the time of the state. Until the state is ready, the reference is the estimate."""
        n = len(self._rest)
        if not self._is_begun[0]:
            if not state.ready:
                rest = self._rest
                return Reference(state.t, np.nan_to_num(state.q), rest, rest, False, self._holds.at(state.t))
            self._path_start[:n], self._began[0], self._is_begun[0] = state.q, state.t, 1.0
        if not np.array_equal(self._path_from, self._path_start[:n]):
            self._begin(self._path_start[:n].copy())
        t = state.t - self._began.item(0)
        q, u, a = self._path.at(t)
        return Reference(state.t, q, u, a, t >= self._end, self._holds.at(state.t), NOTHING)

    def _begin(self, q: Array) -> None:
        """Start at the estimated pose, where coordinates that are not given stay."""
        motions = self._whole.motions.copy()
        motions[:, 0, self._free] = q[self._free]
        self._path, self._path_from = SampledPath(self._whole.times, motions).after(self._lead, q), q


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
        found = read_csv(path, gap if isinstance(gap, int | float) else None)
    elif isinstance(duration, int | float) and duration > 0 and isinstance(sample, int | float) and sample > 0:
        found = sample_function(path, float(duration), float(sample))
    elif duration is None:
        raise InputError.missing("duration_s", "a number, because a function does not say when it ends")
    else:
        return None  # the table's own check names the number
    return {**found.model_dump(), "source": _source(content)}


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


def _feasible(
    check: MoveCheck, options: FollowPath.Options, path: SampledPath, start: Array
) -> tuple[SampledPath, float]:
    """The path and its lead, slower where they are too fast and may be stretched."""
    steps = len(path.times) - 1
    count = min(_BETWEEN * steps, _CHECKED)
    times = np.interp(np.linspace(0, steps, count + 1), np.arange(steps + 1), path.times)
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
