"""The test of one device: small bounded commands to each of its units in turn, and the values that were applied.

The actuator is stopped on every way out, signals and pauses of the process included, and a board stops it by itself if
this process dies. A motor gets a torque and then the opposite one for as long, so that a free joint comes to rest
again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from granite.config.devices.device import Device
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.records import Array, Frame, Sample, Status
from granite.config.testbed import Testbed
from granite.drivers.board.wire import VALVE_RESOLUTION_S
from granite.drivers.device_set import DeviceSet
from granite.rt.checks.device_ticks import DeviceTicks
from granite.rt.devices import build_subset
from granite.rt.loop.clock import Clock
from granite.rt.process.posix_signals import StopSignals

#: of the greatest set point, if the user does not say
LEVEL, GREATEST_LEVEL = 0.05, 0.3
#: length of each part of a command [s]
_PART_S = 0.05
#: parts of the command of a valve, and of a grip
_OPEN, _SWITCHED = 2, 10
_PAUSE_S = 0.3
_ARMING_S = 3.0
_SENSOR_S = 2.0
#: applied less commanded, as a part of the range
_TOLERANCE = 0.05


class UnitTestResult(NamedTuple):
    """Command to one unit, and its answer."""

    unit: str
    command: str
    applied: str
    response: str
    passed: bool


class Exercise(NamedTuple):
    """A command to one unit: a set point for each part, then rest."""

    signal: str
    unit_index: int
    parts: tuple[float, ...]


def exercises(bed: Testbed, name: str, level: float) -> list[Exercise]:
    """The commands that try every unit of an actuator in turn."""
    device = bed.actuators[name]
    commands = []
    for i, (signal, (low, high)) in enumerate(zip(device.signals(bed), device.bounds(bed), strict=True)):
        if device.binary:
            other = low if device.initial(bed)[i] == high else high
            parts: tuple[float, ...] = (other,) * _SWITCHED
        elif isinstance(device, Thrusters):
            parts = (1.0,) * _OPEN
        else:
            parts = (level * high, max(-level * high, low))
        commands.append(Exercise(signal.name, i, parts))
    return commands


def try_units(
    bed: Testbed, name: str, clock: Clock, simulate: Collection[str] = (), level: float = LEVEL
) -> Generator[UnitTestResult, None, None]:
    """Try one device of a testbed. Beside an actuator the sensors are read that can see what it does.

    Parameters
    ----------
    bed, name
        The testbed, and which of its devices.
    clock
        The real clock.
    simulate
        Devices to simulate; sensors among them are not opened while a real device is tried.
    level
        Greatest set point, as a part of the device's own limit.

    Raises
    ------
    InputError
        Where there is no such device, or it can't be opened.
    TooLateError
        Where a tick was later than `loop.longest_lateness_s`.
    SignalInterrupt
        After a signal.
    """
    if name not in bed.devices:
        raise InputError("no such device", key="device", value=name, expected=one_of(name, bed.devices))
    if not 0 < level <= GREATEST_LEVEL:
        raise InputError(key="level", value=level, expected=f"above 0, at most {GREATEST_LEVEL}")
    devices, subset = build_subset(bed, {name, *_observing_sensors(bed, name, simulate)}, simulate)
    with StopSignals(clock.is_real, pass_on=False) as signals:
        devices.open()
        ticks = DeviceTicks(subset, devices, clock, signals)
        test = _DeviceTest(subset, devices, ticks)
        try:
            if name in bed.sensors:
                yield from test.watch(name)
            else:
                yield from test.exercise(name, exercises(bed, name, level))
        finally:
            signals.patience = math.inf
            unconfirmed = devices.stop(ticks.t, paced=True)
            devices.close(paced=True)
    for device, why in unconfirmed.items():
        yield UnitTestResult(device, "stop", why, "", False)


def _observing_sensors(bed: Testbed, name: str, simulate: Collection[str]) -> list[str]:
    """The sensors that can see an actuator move: real ones a real actuator, simulated ones a simulated one."""
    if name in bed.sensors:
        return []
    simulated = name in simulate
    there = [n for n, device in bed.sensors.items() if device.driver is not None or n in simulate]
    return [n for n in there if (n in simulate) == simulated]


class _DeviceTest:
    """What is commanded and measured."""

    def __init__(self, bed: Testbed, devices: DeviceSet, ticks: DeviceTicks) -> None:
        self._bed, self._devices, self._ticks, self._period = bed, devices, ticks, bed.loop.period_s

    def watch(self, name: str) -> Iterator[UnitTestResult]:
        """Read a sensor for a while: rate, mean and noise of every signal."""
        i = list(self._bed.sensors).index(name)
        frames: dict[int, Frame] = {}
        for _ in range(round(_SENSOR_S / self._period)):
            frame = self._ticks.tick().frames[i]
            if frame.number:
                frames[frame.number] = frame
        signals = self._bed.sensors[name].signals(self._bed)
        if not frames:
            yield UnitTestResult(name, f"read for {_SENSOR_S:g} s", "no frame", "", False)
            return
        rate = len(frames) / _SENSOR_S
        values = np.array([frame.values for frame in frames.values()])
        for signal, column in zip(signals, values.T, strict=True):
            spread = f"{column.min():.5g} to {column.max():.5g}, noise {column.std():.2g} {signal.unit}"
            mean = f"mean {column.mean():.6g} {signal.unit}"
            yield UnitTestResult(
                signal.name, f"{rate:.0f} frames a second", mean, spread, bool(np.isfinite(column).all())
            )

    def exercise(self, name: str, commands: list[Exercise]) -> Iterator[UnitTestResult]:
        """Arm the actuator, then command one unit after the other."""
        device = self._bed.actuators[name]
        rest: Array = np.array(device.initial(self._bed), dtype=np.float64)
        if not self._arm(rest):
            status = Status(self._applied.status).name
            yield UnitTestResult(name, "arm", f"status {status}", "it did not arm", False)
            return
        for command in commands:
            yield self._try(device, command, rest)

    def _arm(self, rest: Array) -> bool:
        """Commands at rest until the actuator applies them."""
        for _ in range(round(_ARMING_S / self._period)):
            self._tick(rest)
            if self._applied.status == Status.OK and self._applied.number:
                return True
        return False

    def _try(self, device: Device, command: Exercise, rest: Array) -> UnitTestResult:
        before = self._measured(self._tick(rest))
        length = round(_PART_S / self._period)
        applied: list[list[float]] = []
        frames, began = [self._applied], self._ticks.t
        for part in command.parts:
            setpoint = rest.copy()
            setpoint[command.unit_index] = part
            mean = []
            for k in range(length):
                self._tick(setpoint.copy())
                frames.append(self._applied)
                if k >= (length + 1) // 2 and self._applied.status == Status.OK:  # the first half is on its way
                    mean.append(self._applied.values.item(command.unit_index))
            applied.append(mean)
        sample = self._tick(rest.copy())
        commanded_s = self._ticks.now() - began
        frames.append(self._applied)
        for _ in range(round(_PAUSE_S / self._period)):
            sample = self._tick(rest.copy())
            frames.append(self._applied)
        response = self._changes(before, self._measured(sample))
        if isinstance(device, Thrusters):
            longest = commanded_s + device.valve.minimum_on_s + self._period + VALVE_RESOLUTION_S
            open_s = _open_time(frames, command.unit_index)
            if open_s > longest:
                late = f"open for {open_s:.3g} s, expected at most {longest:.3g} s"
                return self._result(device, command, applied, f"{late}; {response}")._replace(passed=False)
        return self._result(device, command, applied, response)

    def _result(self, device: Device, command: Exercise, applied: list[list[float]], response: str) -> UnitTestResult:
        signal = device.signals(self._bed)[command.unit_index]
        low, high = device.bounds(self._bed)[command.unit_index]
        means = [float(np.mean(values)) if values else np.nan for values in applied]
        errors = [abs(mean - part) for mean, part in zip(means, command.parts, strict=True)]
        unit = "" if signal.unit == "1" else f" {signal.unit}"
        different = list(dict.fromkeys(command.parts))
        commanded = ", ".join(f"{part:g}" for part in different)
        got = ", ".join(f"{x:.3g}" for x in means[-len(different) :])
        length = f"{_PART_S * len(command.parts) / len(different):g} s{' each' if len(different) > 1 else ''}"
        passed = bool(max(errors) <= _TOLERANCE * (high - low))
        return UnitTestResult(signal.name, f"{commanded}{unit} for {length}", f"{got}{unit}", response, passed)

    def _tick(self, setpoint: Array) -> Sample:
        return self._ticks.tick((setpoint,))

    @property
    def _applied(self) -> Frame:
        """The newest frame of the actuator."""
        return self._devices.applied[0]

    def _measured(self, sample: Sample) -> dict[str, float]:
        """The value of every signal that has one, by its name and unit."""
        values = {}
        for frame, device in zip(sample.frames, self._bed.sensors.values(), strict=True):
            for signal, value in zip(device.signals(self._bed), frame.values.tolist(), strict=True):
                if frame.number and signal.unit in ("m", "rad"):
                    values[f"{signal.name} [{signal.unit}]"] = value
        return values

    @staticmethod
    def _changes(before: dict[str, float], after: dict[str, float]) -> str:
        """The three signals that changed most."""
        moved = {key: after[key] - value for key, value in before.items() if key in after}
        largest = sorted(moved, key=lambda key: -abs(moved[key]))[:3]
        return ", ".join(f"{key} {moved[key]:+.4f}" for key in largest) or "no sensor was read"


def _open_time(frames: list[Frame], index: int) -> float:
    """How long a valve was open [s]: each new frame has the part of the time since the one before."""
    pairs = [(old, new) for old, new in pairwise(frames) if new.number != old.number]
    return sum(new.values.item(index) * (new.t - old.t) for old, new in pairs)
