"""Readings of gauges for the law: less their tare, and filtered.

The tare is the mean reading of the first `tare_s`, while the actuators rest; the state is not ready before. It removes
the offset of a bridge, and any force that acts at rest. Behind it is a low-pass filter of first order,

    y <- y + (1 - exp(-T / filter_s)) (reading - tare - y),          T the time between two frames

It works with any estimator, which gives the rest of the state.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from granite.config.devices.gauge import Gauge
from granite.config.records import Sample, State
from granite.config.testbed import Testbed
from granite.controllers.estimation.measured_modes import MeasuredModes, filtered, mode_map
from granite.controllers.symbolic import named_frames, record_sizes
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm, form_of, in_turn
from granite.kernels.function_part import FunctionPart, named_function

if TYPE_CHECKING:
    from granite.controllers.stack import Estimator


class GaugeReadings:
    """An estimator, and the gauges of a testbed beside it.

    The readings come first, because an estimator may use the modes of flexible links that follow from them; then the
    estimator; then its state gets the readings.
    """

    def __init__(self, estimator: Estimator, bed: Testbed) -> None:
        self._estimator, self._bed = estimator, bed
        modes = getattr(estimator, "modes", MeasuredModes(0))
        modes.are_measured = bool(len(modes.amplitude)) and mode_map(bed) is not None
        n, sizes = sum(len(device.signals(bed)) for device in bed.devices_of(Gauge).values()), record_sizes(bed)
        key = bed.fingerprint and f"{bed.fingerprint} {modes.are_measured}"
        kernels = compile_once("gauges", key, lambda: [_readings(bed, modes.are_measured), _with_readings(n)])
        memory = {
            "gauges": np.zeros(kernels["gauges"].function.numel_in(0)),
            "readings": np.zeros(n),
            "are_tared": np.zeros(1),
        }
        if modes.are_measured:
            memory |= {"last": np.zeros(1), "amplitude": modes.amplitude, "rate": modes.rate}
        self._first = FunctionPart("estimate", kernels["gauges"], {}, memory, sizes, changes={})
        results = {name: memory[name] for name in ("readings", "are_tared")}
        self._then = FunctionPart("estimate", kernels["tared"], results, {}, sizes, changes=sizes)

    def estimate(self, sample: Sample) -> State:
        """The state of the estimator with the readings; ready when the tares are known."""
        self._first.run(sample=named_frames(self._bed, sample))
        state: State = self._then.run(state=self._estimator.estimate(sample))
        return state

    def compiled_form(self) -> CompiledForm | None:
        """The same in C; None where the estimator has no form in C."""
        forms = [self._first.form(), form_of(self._estimator, "estimate"), self._then.form()]
        return in_turn("gauges_estimate", forms)


def _readings(bed: Testbed, with_modes: bool) -> ca.Function:
    """Frames of the gauges -> their readings, and amplitudes of modes from these."""
    memory, frames, after, readings, are_tared = expression(bed)
    inputs, outputs = {"memory_gauges": memory, **frames}, {"next_gauges": after, "next_readings": readings}
    outputs["next_are_tared"] = are_tared
    if with_modes:
        # Until they are tared the readings are zero: links at rest are straight.
        to_modes: Any = mode_map(bed)
        t, last = ca.SX.sym("t"), ca.SX.sym("last")
        amplitude, rate = ca.SX.sym("amplitude", len(to_modes)), ca.SX.sym("rate", len(to_modes))
        modes = filtered(ca.DM(to_modes) @ readings, amplitude, rate, ca.fmax(t - last, bed.loop.period_s))
        inputs |= {"sample_t": t, "memory_last": last, "memory_amplitude": amplitude, "memory_rate": rate}
        outputs |= {"next_last": t, "next_amplitude": modes[0], "next_rate": modes[1]}
    return named_function("gauges", inputs, outputs)


def _with_readings(n: int) -> ca.Function:
    ready, tared, readings = ca.SX.sym("ready"), ca.SX.sym("tared"), ca.SX.sym("readings", n)
    inputs = {"state_ready": ready, "parameter_are_tared": tared, "parameter_readings": readings}
    return named_function("tared", inputs, {"state_ready": ca.logic_and(ready, tared), "state_gauges": readings})


def expression(bed: Testbed) -> tuple[ca.SX, dict[str, ca.SX], ca.SX, ca.SX, ca.SX]:
    """Memory before and frames -> memory after; readings, and if all are tared."""
    memories, afters, readings, ready = [], [], [], ca.SX(1)
    frames: dict[str, ca.SX] = {}
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
        frames |= {f"sample_{name}_{what}": x for what, x in (("t", t), ("number", counted), ("values", values))}
        afters += [ca.if_else(fresh, counted, number), began, counts, mean, filtered]
        readings.append(filtered)
        known = ca.logic_and(ca.logic_or(started, fresh), ca.logic_not(taring))
        ready = ca.logic_and(ready, known)
    return ca.vertcat(*memories), frames, ca.vertcat(*afters), ca.vertcat(*readings), ready
