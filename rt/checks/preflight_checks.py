"""Checks before a run arms: expected values of sensors and actuators at rest. Pure functions of observed samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.records import Array, Frame, Sample, State, Status
from granite.config.testbed import Testbed
from granite.controllers.stack import Estimator
from granite.mrds.contacts.system import System

#: a robot at rest on its bearing may drift a little
_REST = {"m": 0.05, "rad": 0.1, "rad/s": 0.1}
#: mean square of the innovations, in standard deviations: wrong data sheets are tolerated, contradictions are not
_AGREEMENT_SIGMA = 5.0
#: gap of a contact that is closed at the start
_GAP = 0.02
#: of the rate in the data sheet
_RATE_PART = 0.5


class CheckResult(NamedTuple):
    """The result of one check."""

    device: str
    check: str
    passed: bool
    text: str


def sensor_findings(bed: Testbed, name: str, samples: Sequence[Sample]) -> Iterator[CheckResult]:
    """A sensor answers, is fresh, has its rate, changes, and reads plausible values at rest."""
    i, device = list(bed.sensors).index(name), bed.sensors[name]
    frames = [sample.frames[i] for sample in samples]
    number = frames[-1].number
    if frames[-1].status not in (Status.OK, Status.SILENT) or number == 0:
        yield CheckResult(name, "answers", False, f"no frame, status {Status(frames[-1].status).name}")
        return
    yield CheckResult(name, "answers", True, f"{number} frames")
    later = [(sample.t, frame) for sample, frame in zip(samples, frames, strict=True) if frame.number]
    oldest, limit = max(t - frame.t for t, frame in later[len(later) // 2 :]), bed.age_limit(name)
    yield CheckResult(name, "fresh", oldest <= limit, f"at most {oldest * 1e3:.1f} ms old, limit {limit * 1e3:g} ms")
    rate, wanted = _rate(later), _wanted_rate(bed, device)
    if wanted is not None:
        enough = rate >= _RATE_PART * wanted
        yield CheckResult(name, "rate", enough, f"{rate:.0f} frames a second, data sheet {wanted:g}")
    distinct = list({frame.number: frame for _, frame in later}.values())
    yield from _plausible(bed, name, device, distinct)


def actuator_findings(bed: Testbed, name: str, observed: Sequence[Frame | None]) -> Iterator[CheckResult]:
    """An actuator that can be asked without a command answers, and applies nothing."""
    device = bed.actuators[name]
    last = observed[-1]
    if last is None:
        yield CheckResult(name, "answers", True, "it can't be asked without a command")
        return
    if last.status not in (Status.OK, Status.NO_FRAME) or last.number == 0:
        yield CheckResult(name, "answers", False, f"no report, status {Status(last.status).name}")
        return
    yield CheckResult(name, "answers", True, f"{last.number} reports")
    if not device.holds_at_rest:
        largest = float(np.abs(last.values).max(initial=0.0))
        yield CheckResult(name, "at rest", largest == 0.0, f"applies at most {largest:g}")


def agreement(bed: Testbed, estimator: Estimator, samples: Sequence[Sample]) -> Iterator[CheckResult]:
    """Sensors agree: with each other through the model at rest, and pose with joints through closed contacts."""
    states = [estimator.estimate(sample) for sample in samples]
    ready = [state for state in states if state.ready]
    if not ready:
        yield CheckResult("sensors", "agree", False, "the state was never complete")
        return
    innovations = np.array([state.innovation for state in ready[len(ready) // 2 :]])
    signals = [f"{name} {signal.name}" for name, device in bed.sensors.items() for signal in device.signals(bed)]
    if innovations.size:
        squares = np.nan_to_num(innovations) ** 2
        rms = np.sqrt(squares.mean(axis=0))
        i = int(np.argmax(rms))
        text = f"{signals[i]} differs by {rms[i]:.1f} standard deviations, limit {_AGREEMENT_SIGMA:g}"
        yield CheckResult("sensors", "agree", bool(rms[i] <= _AGREEMENT_SIGMA), text)
    yield from _agreements(bed, samples, ready)
    if bed.contacts and bed.known.positions == bed.positions:
        q, u = ready[-1].q, ready[-1].u
        gap, _ = System(bed.modules, bed.contacts).contact_set(bed.contact_sets[0]).errors(q, u)
        largest = float(np.abs(gap).max(initial=0.0))
        text = f"pose and joints leave a gap of {largest * 1e3:.1f} mm (mrad), limit {_GAP * 1e3:g}"
        yield CheckResult("contacts", "agree", largest <= _GAP, text)


def _agreements(bed: Testbed, samples: Sequence[Sample], ready: Sequence[State]) -> Iterator[CheckResult]:
    """A gyro, less its estimated bias, agrees with the rate that the estimate has from the poses."""
    first = 0
    names, later = [c.name for c in bed.known.velocities], samples[len(samples) // 2 :]
    for i, (name, device) in enumerate(bed.sensors.items()):
        signals = [c.name for c in device.signals(bed)]
        bias, first = slice(first, first + len(signals)), first + len(signals)
        for signal, coordinate, most, most_bias in device.agreements(bed):
            if coordinate not in names:
                continue
            measured = np.mean([sample.frames[i].values[signals.index(signal)] for sample in later])
            estimated = np.mean([state.u[names.index(coordinate)] for state in ready[len(ready) // 2 :]])
            biases = np.nan_to_num(ready[-1].bias[bias]) if len(ready[-1].bias) else np.zeros(len(signals))
            off = float(measured - np.clip(biases[signals.index(signal)], -most_bias, most_bias) - estimated)
            unit = device.signals(bed)[signals.index(signal)].unit
            text = f"{signal} differs from the rate of {coordinate} by {off:.3g} {unit}, limit {most:g}"
            yield CheckResult(name, "agrees with the estimate", abs(off) <= most, text)


def _rate(later: Sequence[tuple[float, Frame]]) -> float:
    """Frames a second, over the second half."""
    (t0, first), (t1, last) = later[len(later) // 2], later[-1]
    return (last.number - first.number) / (t1 - t0) if t1 > t0 else 0.0


def _wanted_rate(bed: Testbed, device: Device) -> float | None:
    """Of the data sheet, or one frame per tick, where the device says so."""
    if not hasattr(device, "rate_hz"):
        return None
    return min(device.rate_hz or np.inf, 1 / bed.loop.period_s)


def _plausible(bed: Testbed, name: str, device: Device, frames: Sequence[Frame]) -> Iterator[CheckResult]:
    values: Array = np.array([frame.values for frame in frames])
    t: Array = np.array([frame.t for frame in frames])
    signals, repeats = device.signals(bed), device.repeats(bed)
    wrong = [f"{signal.name} is {value:g}" for signal, value in zip(signals, values[-1], strict=True)
             if not np.isfinite(value)]  # fmt: skip
    wrong = wrong or [
        problem
        for i, signal in enumerate(signals)
        for problem in (
            *_frozen(signal, values[:, i], repeats[i]),
            *_moving(signal, t, values[:, i]),
            *_outside(bed, name, signal, values[-1, i]),
            *_judged(bed, device, signal, values[-1, i]),
        )
    ]
    yield CheckResult(name, "plausible at rest", not wrong, "; ".join(wrong) or _shown(signals, values[-1]))


def _frozen(signal: Coordinate, values: Array, repeats: float) -> Iterator[str]:
    if repeats < 1 and len(values) > 10 and not np.ptp(values):
        yield f"{signal.name} stays at {values[0]:g} without any noise"


def _moving(signal: Coordinate, t: Array, values: Array) -> Iterator[str]:
    limit = _REST.get(signal.unit)
    if limit is None or len(values) < 3 or np.ptp(t) == 0:
        return
    speed = float(values.mean()) if signal.unit == "rad/s" else float(np.polyfit(t - t[0], values, 1)[0])
    if abs(speed) > limit:
        unit = signal.unit.removesuffix("/s")
        yield f"{signal.name} moves by {speed:.3g} {unit}/s, at rest at most {limit:g}"


def _outside(bed: Testbed, name: str, signal: Coordinate, value: float) -> Iterator[str]:
    """Beyond the limits of the guard, the run would end at once."""
    for limit in bed.safety.joints:
        if signal.name == f"{limit.joint}_angle" and not limit.lower_rad <= value <= limit.upper_rad:
            yield f"{signal.name} is {value:.3g} rad, limits {limit.lower_rad:g} to {limit.upper_rad:g}"
    if bed.safety.table_m is not None and signal.unit == "m" and signal.name[-2:] in ("_x", "_y"):
        low, high = bed.safety.table_m["xy".index(signal.name[-1]) :: 2]
        if not low <= value <= high:
            yield f"{signal.name} is {value:.3g} m, the table is from {low:g} to {high:g}"


def _judged(bed: Testbed, device: Device, signal: Coordinate, value: float) -> Iterator[str]:
    """Beyond the bounds that the device knows itself."""
    for name, _, least, most in device.judged(bed):
        if name == signal.name and not least <= value <= most:
            expected = f"at least {least:g}" if value < least else f"at most {most:g}"
            yield f"{name} is {value:.4g} {signal.unit}, expected {expected}"


def _shown(signals: Sequence[Coordinate], values: Array) -> str:
    return ", ".join(f"{signal.name} {value:.3g}" for signal, value in zip(signals, values, strict=True))
