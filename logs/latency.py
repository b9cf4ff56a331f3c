"""How old samples are when they are used, and how long a measurement takes to become an applied command; from a log."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from typing_extensions import TypedDict

from granite.config.records import Array
from granite.logs.log import Log


class Spread(TypedDict):
    """Of a duration."""

    median_s: float
    p99_s: float
    max_s: float


class SensorLatency(TypedDict):
    """Of one sensor."""

    age: Spread  #: of its frame at the begin of a tick
    to_command: Spread  #: from its measurement to the first command that used it being applied


def latencies(log: Log) -> dict[str, SensorLatency]:
    """By sensor; none for one without frames, or without an actuator that applied a command. Reads the rows once."""
    stamps = [("/sample", name) for name in log.bed.sensors] + [("/applied", name) for name in log.bed.actuators]
    keys = [("/sample", "t_s"), *((topic, f"{name}_{what}") for topic, name in stamps for what in ("t_s", "number"))]
    t, *columns = log.columns([log.channels.column(*key) for key in keys]).T
    frames = {name: (columns[2 * i], columns[2 * i + 1]) for i, (_, name) in enumerate(stamps)}
    applied = _application_times(t, [frames[name] for name in log.bed.actuators], log.bed.loop.period_s)
    latencies: dict[str, SensorLatency] = {}
    for name in log.bed.sensors:
        measured, number = frames[name]
        is_new = np.diff(number, prepend=0.0) > 0
        used = number > 0
        delays = (applied - measured)[is_new & np.isfinite(applied)]
        if used.any() and len(delays):
            latencies[name] = {"age": _spread((t - measured)[used]), "to_command": _spread(delays)}
    return latencies


def _application_times(t: Array, frames: Iterable[tuple[Array, Array]], period: float) -> Array:
    """When the command of each tick was applied, by the report of the slowest actuator; NaN where none reports it.

    An actuator that reports at once has the time of the tick; a board's report of a command comes with the next tick.
    """
    times: Array = np.full(len(t), np.nan)
    for times_of_frames, number in frames:
        reported = times_of_frames[number > 0]
        if not len(reported):
            continue
        i = np.searchsorted(np.maximum.accumulate(reported), t - 1e-9)
        own = np.append(reported, np.nan)[np.minimum(i, len(reported))]
        # Before it is armed, an actuator applies nothing.
        own[t < reported[0] - 2 * period] = np.nan
        times = np.fmax(times, own)
    return times


def _spread(durations: Array) -> Spread:
    median, p99, largest = np.percentile(durations, [50, 99, 100]).tolist()
    return {"median_s": median, "p99_s": p99, "max_s": largest}
