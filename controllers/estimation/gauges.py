"""Readings of gauges for the law: less their tare, and filtered.

The tare is the mean reading of the first `tare_s`, while the actuators rest; the state is not ready before. It removes
the offset of a bridge, and any force that acts at rest. Behind it is a low-pass filter of first order,

    y <- y + (1 - exp(-T / filter_s)) (reading - tare - y),          T the time between two frames

It works with any estimator, which gives the rest of the state.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from granite.config.devices.gauge import Gauge
from granite.config.records import Array, Sample, State
from granite.config.testbed import Testbed
from granite.controllers.estimation.measured_modes import mode_map
from granite.kernels.compilation import compile_once

if TYPE_CHECKING:
    from granite.controllers.stack import Estimator


class GaugeReadings:
    """An estimator, and the gauges of a testbed beside it."""

    def __init__(self, estimator: Estimator, bed: Testbed) -> None:
        self._estimator, devices = estimator, bed.devices_of(Gauge)
        names = list(bed.sensors)
        self._sensors = [names.index(name) for name in devices]
        memory, *_ = expression(bed)
        self.memory: Array = np.zeros(memory.numel())
        self._n = sum(len(device.signals(bed)) for device in devices.values())

        def write() -> list[ca.Function]:
            before, frames, after, outputs = expression(bed)
            return [ca.Function("gauges", [before, frames], [after, outputs])]

        #: amplitudes of the modes from strains, for an estimator that uses them
        self._modes = mode_map(bed) if hasattr(estimator, "measured_modes") else None
        self._run = compile_once("gauges", bed.fingerprint, write)["gauges"].run

    def estimate(self, sample: Sample) -> State:
        """The state of the estimator with the readings; ready when the tares are known."""
        frames: list[Array] = []
        for i in self._sensors:
            t, number, _, values = sample.frames[i]
            frames += (np.array((t, number)), values)
        found = self._run((self.memory, *frames))
        n = len(self.memory)
        self.memory, gauges, is_tared = found[:n], found[n:-1], bool(found[-1])
        if self._modes is not None:
            # Until they are tared the readings are zero: links at rest are straight.
            self._estimator.measured_modes = self._modes @ gauges  # type: ignore[attr-defined]
        state = self._estimator.estimate(sample)
        return state._replace(ready=state.ready and is_tared, gauges=gauges)


def expression(bed: Testbed) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Memory before and frames (time, number and values of each device) -> memory after; readings, and if all are
    tared."""
    memories, frames, afters, readings, ready = [], [], [], [], ca.SX(1)
    for name, device in bed.devices_of(Gauge).items():
        n = len(device.signals(bed))
        number, first, count = (ca.SX.sym(f"{name}_{what}") for what in ("number", "first", "count"))
        tare, reading = ca.SX.sym(f"{name}_tare", n), ca.SX.sym(f"{name}_reading", n)
        t, counted, values = ca.SX.sym(f"{name}_t"), ca.SX.sym(f"{name}_counted"), ca.SX.sym(f"{name}_values", n)
        fresh = counted > number
        for i in range(n):  # NaN is not used; the guard names it
            fresh = ca.logic_and(fresh, ca.fabs(values[i]) < math.inf)
        started = number > 0
        began = ca.if_else(started, first, ca.if_else(fresh, t, 0.0))
        # Half a tick early, so that rounding does not matter.
        taring = t - began < device.tare_s - bed.loop.period_s / 2 if device.tare_s else ca.SX(0)
        in_tare, in_use = ca.logic_and(fresh, taring), ca.logic_and(fresh, ca.logic_not(taring))
        counts = count + ca.if_else(in_tare, 1, 0)
        mean = tare + ca.if_else(in_tare, (values - tare) / ca.fmax(counts, 1), np.zeros(n))
        interval = device.ticks(bed.loop.period_s) * bed.loop.period_s
        part = 1 - math.exp(-interval / device.filter_s) if device.filter_s else 1.0
        filtered = reading + ca.if_else(in_use, part * (values - mean - reading), np.zeros(n))
        memories += [number, first, count, tare, reading]
        frames += [t, counted, values]
        afters += [ca.if_else(fresh, counted, number), began, counts, mean, filtered]
        readings.append(filtered)
        known = ca.logic_and(ca.logic_or(started, fresh), ca.logic_not(taring))
        ready = ca.logic_and(ready, known)
    return ca.vertcat(*memories), ca.vertcat(*frames), ca.vertcat(*afters), ca.vertcat(*readings, ready)
