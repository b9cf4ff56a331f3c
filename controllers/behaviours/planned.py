"""Motion along a path that is planned: from the start to a target with least propellant, in least time, or both.

The plan is made before the run, or taken from the cache, and its samples are a part of the testbed from then on, so
that a log replays without a solver. It is flown as the samples of `follow` are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from granite.config.base import NotNegative, Positive
from granite.config.behaviour import Behaviour
from granite.config.errors import InputError, one_of
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.behaviours.follow import knot_motion, knot_table
from granite.controllers.behaviours.path_knots import path_of
from granite.controllers.behaviours.path_samples import TIME, Column, Samples
from granite.controllers.behaviours.timed_path import TimedPath
from granite.controllers.model import ControlModel
from granite.controllers.planning.in_turn import ObstacleMotion, plan_in_turn
from granite.controllers.planning.planner import Plan
from granite.controllers.planning.problem import PathLimits, PathTask
from granite.controllers.trajectories.sampled import SampledPath
from granite.kernels import code_cache
from granite.kernels.compilation import own_code_hash, put_entry
from granite.mrds.tolerances import SAME_TIME_S

#: weight of impulse and of time in each objective, before `time_weight_n`
_WEIGHTS: Mapping[str, tuple[float, float]] = {"propellant": (1.0, 0.0), "time": (0.01, 1.0), "blend": (1.0, 1.0)}


class PlannedPath(TimedPath):
    """Follows the plan, then holds the target."""

    class Options(Behaviour):
        """Target, objective and limits of the path, beside the options of every behaviour."""

        arguments: ClassVar[frozenset[str]] = frozenset(
            {"kind", "target", "objective", "duration_s", "longest_s", "time_weight_n", "approach_s", "hold_s"}
            | {"thrust_ratio", "joint_rate_rad_s", "joint_acceleration_rad_s2", "nodes", "samples"}
        )

        #: by coordinate key; others keep their value
        target: dict[str, float]
        #: least impulse in `duration_s`, least time, or least impulse + `time_weight_n` times the duration
        objective: Literal["propellant", "time", "blend"] = "propellant"
        duration_s: Positive | None = None  #: of the path, with `propellant` alone
        longest_s: Positive = 60.0  #: longest duration with `time` and `blend`
        time_weight_n: Positive = 0.5  #: weight of the duration, for `blend`
        #: from the pose at the start to the first sample
        approach_s: Positive = 0.5
        #: time at the target until the path is done
        hold_s: NotNegative = 0.0
        #: part of the thrust that the plan uses
        thrust_ratio: Annotated[float, Field(gt=0, le=1)] = 0.8
        joint_rate_rad_s: Positive = 1.0  #: largest rate of a joint
        joint_acceleration_rad_s2: Positive = 1.0  #: largest acceleration of a joint
        #: intervals of the path, in each of which thrust is linear
        nodes: Annotated[int, Field(ge=10, le=400)] = 80
        #: the plan; it replaces the solver in a log
        samples: Samples | None = None

        @model_validator(mode="after")
        def _has_its_duration(self) -> PlannedPath.Options:
            if (self.duration_s is None) != (self.objective != "propellant"):
                needs = self.objective == "propellant"
                expected = (
                    "a time [s] for the least propellant" if needs else f"none, because {self.objective} finds it"
                )
                raise InputError(key="duration_s", value=self.duration_s, expected=expected)
            return self

    def __init__(self, options: Options, model: ControlModel) -> None:
        samples = _samples_of(model.bed)
        start = _start(model.bed)
        path, free = path_of(samples, model.layout, start)
        whole = path.after(options.approach_s, start)
        end = whole.end + options.hold_s - SAME_TIME_S
        super().__init__(model, "follow", "", *knot_table(whole, free, end), knot_motion)


def with_plan(bed: Testbed) -> Testbed:
    """The testbed with the samples of its plan, where its behaviour is planned.

    Raises
    ------
    InputError
        Where there is no path.
    """
    if not isinstance(bed.behaviour, PlannedPath.Options):
        return bed
    return bed.model_copy(update={"behaviour": bed.behaviour.model_copy(update={"samples": _samples_of(bed)})})


def planned(bed: Testbed, report: Callable[[str], None] = lambda sentence: None) -> Plan:
    """The plan of a testbed whose behaviour is `planned`, made anew.

    Parameters
    ----------
    bed
        The testbed.
    report
        Gets a sentence for each step.

    Raises
    ------
    InputError
        Where there is no path.
    """
    options = bed.behaviour
    if not isinstance(options, PlannedPath.Options):
        raise InputError(key="behaviour.kind", value=options.kind, expected="'planned'")
    keys, start = [c.key for c in bed.known.positions], _start(bed)
    for key in options.target:
        if key not in keys:
            raise InputError("no such coordinate", key=f"behaviour.target.{key}", expected=one_of(key, keys))
    goal = np.array([options.target.get(key, q) for key, q in zip(keys, start, strict=True)])
    duration = options.duration_s
    impulse, time = _WEIGHTS[options.objective]
    time *= options.time_weight_n if options.objective == "blend" else 1.0
    times = (1.0, options.longest_s) if duration is None else (duration, duration)
    limits = PathLimits(options.thrust_ratio, options.joint_rate_rad_s, options.joint_acceleration_rad_s2)
    measured = ObstacleMotion(
        [bed.simulation.initial.get(c.key, 0.0) for c in bed.known.velocities], options.approach_s
    )
    task = PathTask(start, goal, times, impulse, time)
    return plan_in_turn(ControlModel(bed), limits, options.nodes, task, measured, report)


def samples_of_path(bed: Testbed, path: SampledPath, source: str) -> Samples:
    """A path as columns, with rates and accelerations."""
    rates = [c.key for c in bed.known.velocities]
    keys = [*(c.key for c in bed.known.positions), *rates, *(f"{key}2" for key in rates)]
    rows = path.motions.reshape(len(path.times), -1)
    columns = [Column(key=key, values=tuple(rows[:, i].tolist())) for i, key in enumerate(keys)]
    return Samples(source=source, columns=(Column(key=TIME, values=tuple(path.times.tolist())), *columns))


def _samples_of(bed: Testbed) -> Samples:
    """Those that it has, if they are of this testbed; else from the cache; else of a new plan."""
    options = bed.behaviour
    assert isinstance(options, PlannedPath.Options)
    source = _source(bed)
    if options.samples is not None and options.samples.source == source:
        return options.samples
    cache, digest = code_cache.trusted_cache(), hashlib.sha256(f"{source} {own_code_hash()}".encode()).hexdigest()
    entry = cache / f"plan-{digest[:24]}.json" if cache else None
    if entry is not None:
        try:
            return Samples.model_validate(json.loads(code_cache.content_of_entry(entry)))
        except (OSError, ValueError):
            pass  # not there yet, or damaged
    samples = samples_of_path(bed, planned(bed).path, source)
    if entry is not None:
        put_entry(entry, samples.model_dump_json())
    return samples


def _source(bed: Testbed) -> str:
    """Hash of what the plan follows from."""
    options = bed.behaviour.model_dump_json(exclude={"samples", "approach_s", "hold_s"})
    devices = [device.model_dump_json() for device in (*bed.actuators.values(),)]
    modules = [module.model_dump_json() for module in bed.modules]
    safety, table = bed.safety.model_dump_json(exclude={"responses"}), bed.simulation.table.model_dump_json()
    content = [options, *devices, *modules, safety, table, json.dumps(bed.simulation.initial, sort_keys=True)]
    return f"plan {hashlib.sha256(''.join(content).encode()).hexdigest()}"


def _start(bed: Testbed) -> Array:
    return np.array([bed.simulation.initial.get(c.key, 0.0) for c in bed.known.positions])
