"""Limits of the guard's monitor from a flight without a fault: what this robot shows that its model does not explain.

The monitor's own numbers (residual forces, disturbance, torque that a wrong gain would explain, mean innovations) are
computed again from the log. Of each, the largest in every block of 30 s is kept: largest values of many samples follow
Gumbel's distribution, whose mean m and deviation s give the value that is exceeded once in n blocks,

    m + s sqrt(6)/pi (ln n - 0.5772)          Gumbel, Statistics of extremes, 1958, 5.2

The limit is exceeded once in `ALARM_HOURS`. Bounded causes, such as cogging, are exceeded more rarely.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite.calibration.fit import CalibrationFit, FittedKey, Residuals
from granite.calibration.flight_calibration import FlightCalibration
from granite.calibration.procedure import BenchMeasurement
from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.log import Log
from granite.rt.guard.limits import limits_of

#: flight hours without a false alarm of one limit, on average
ALARM_HOURS = 1000.0
#: length of a block, and least number of them [s]
BLOCK_S, LEAST_BLOCKS = 30.0, 6
#: no limit becomes smaller than this part of that of the testbed: one flight does not show everything
_LEAST = 0.25
#: ticks that are computed at a time
_CHUNK = 500
_EULER = 0.5772156649015329
_TABLE = "safety.monitor"


class FlightResiduals(FlightCalibration):
    """What the log of a flight says about the limits of the monitor."""

    def __init__(self, bed: Testbed, log: Log) -> None:
        super().__init__(bed, log)
        self.of = _TABLE
        #: all that residuals depend on
        self.fitted_on = ("controller.estimator", "modules", "devices")
        self.refuse_another_testbed(())
        if log.summary is None or log.summary["ended"] not in ("completed", "operator_stop"):
            ended = "unknown" if log.summary is None else log.summary["ended"]
            raise InputError(f"it ended by {ended}", key="--log", expected="a flight without a fault")

    def fit(self, measured: Sequence[BenchMeasurement] = ()) -> CalibrationFit:
        """The limits."""
        numbers, values = self.statistics()
        period = self.log.bed.loop.period_s
        ticks = round(BLOCK_S / period)
        blocks = len(values) // ticks
        if not numbers or blocks < LEAST_BLOCKS:
            expected = f"at least {BLOCK_S * LEAST_BLOCKS:g} s of a controlled flight"
            raise InputError("too short, or without a judged motion", key="--log", expected=expected)
        largest = values[: blocks * ticks].reshape(blocks, ticks, -1).max(axis=1)
        mean, spread = largest.mean(axis=0), largest.std(axis=0, ddof=1)
        k = np.sqrt(6) / np.pi * (np.log(ALARM_HOURS * 3600 / BLOCK_S) - _EULER)
        # Deviation of the quantile by moments, with skewness 1.14 and kurtosis 5.4 of the distribution.
        deviation = spread * np.sqrt((1 + 1.14 * k + 1.1 * k**2) / blocks)
        t: Array = np.linspace(BLOCK_S / 2, (blocks - 0.5) * BLOCK_S, blocks)
        residuals = tuple(
            Residuals(number.key.partition(f"{_TABLE}.")[2], "time [s]", t, largest[:, i] - mean[i], number.unit)
            for i, number in enumerate(numbers)
        )
        return CalibrationFit(
            numbers, mean + k * spread, np.diag(deviation**2), blocks - 1, len(values), residuals, self._notes(largest)
        )

    def _notes(self, largest: Array) -> tuple[str, ...]:
        return (f"limits that are exceeded once in {ALARM_HOURS:g} hours; {len(largest)} blocks of {BLOCK_S:g} s",)

    @property
    def _settling(self) -> float:
        return self.log.bed.safety.monitor.settling_s

    def statistics(self) -> tuple[tuple[FittedKey, ...], Array]:
        """The monitor's numbers with a limit of their own (ticks, numbers), since they are judged."""
        bed, channels = self.log.bed, self.log.channels
        limits = limits_of(bed)
        keys = list(dict.fromkeys(limits.statistics))
        memory, parts = limits.memory, []
        if not keys:
            return (), np.zeros((0, 0))
        entries = [
            ("/sample", list(channels.topic("/sample").entries)),
            *(("/state", [e]) for e in ("ages", "q", "u", "innovation", "bias", "correction", "disturbance", "faults")),
            ("/state", ["payload"] if "payload" in channels.topic("/state").entries else []),
            *(("/reference", [entry]) for entry in ("q", "u", "a")),
            *(("/demand", [entry]) for entry in ("acceleration", "force", "wrench")),
            ("/demand", ["distribution"] if "distribution" in channels.topic("/demand").entries else []),
            ("/command", [f"setpoint.{name}" for name in bed.actuators]), ("/command", ["thrust"]),
        ]  # fmt: skip
        rows = self.log.rows
        ready = rows[:, channels.column("/state", "ready")] > 0
        rows = rows[int(np.argmax(ready)) if ready.any() else len(rows) :]
        function = limits.statistics_function().mapaccum("statistics", _CHUNK)
        inputs = [np.hstack([_columns(rows, channels.columns(topic, e)) for e in names] or [rows[:, :0]])
                  for topic, names in entries]  # fmt: skip
        for start in range(0, len(rows) - _CHUNK + 1, _CHUNK):
            after, values = function(memory, *(part[start : start + _CHUNK].T for part in inputs))
            memory = np.asarray(after)[:, -1]
            parts.append(np.asarray(values).T)
        every = np.vstack(parts) if parts else np.zeros((0, len(limits.statistics)))
        every = every[round(2 * self._settling / bed.loop.period_s) :]
        of_key = [[i for i, key in enumerate(limits.statistics) if key == one] for one in keys]
        together = np.column_stack([every[:, indices].max(axis=1) for indices in of_key])
        return tuple(FittedKey(f"{_TABLE}.{key}", unit, float(_LEAST * limit)) for key, unit, limit in keys), together


def _columns(rows: Array, columns_of_entry: slice | int) -> Array:
    columns: Array = rows[:, columns_of_entry]
    return columns[:, None] if columns.ndim == 1 else columns
