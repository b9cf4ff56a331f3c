"""Calibrated and faulty devices of a compiled run: their wrappers in Python around the devices in C."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from granite.config.devices.device import Device
from granite.config.records import NOTHING, Array, Frame, Status
from granite.config.testbed import Testbed
from granite.drivers.corrected import CorrectedActuator, CorrectedSensor, corrected
from granite.sim.devices.device import SimulatedActuator, SimulatedSensor
from granite.sim.devices.faults import FaultyActuator, FaultySensor
from granite.sim.devices.grips import SimulatedGrips
from granite.sim.events import TimedEvents

_CALIBRATED = CorrectedActuator, CorrectedSensor
_WRAPPERS = *_CALIBRATED, FaultyActuator, FaultySensor
_OK = int(Status.OK)


def simulated_behind(device: Any) -> Any:
    """The simulated device behind its wrappers; faulty grips stay wrapped: what they hold is decided in Python."""
    behind = device
    while type(behind) in _WRAPPERS:
        behind = behind.device
    return device if isinstance(behind, SimulatedGrips) else behind


class SensorInC(SimulatedSensor):
    """The frame of a sensor that is read in C: time, number, status and values, in memory."""

    def __init__(self, memory: Array) -> None:
        self._memory, self._frame = memory, _frame(memory)

    def read(self, t: float) -> Frame:
        """The newest frame; the same one again until its number changes."""
        if self._memory[1] != self._frame.number:
            self._frame = _frame(self._memory)
        return self._frame


class ActuatorInC(SimulatedActuator):
    """An actuator that acts in C.

    Parameters
    ----------
    write
        (time, set point, applied values): sends the set point and fills in what was applied.
    set_faults
        Gives single units their faults.
    """

    def __init__(
        self,
        write: Callable[[float, Array, Array], object],
        set_faults: Callable[[Iterable[tuple[str, str, float | None]]], None],
    ) -> None:
        self._write, self.set_faults, self._number = write, set_faults, 0

    def write(self, t: float, setpoint: Array) -> Frame:
        """Send the set point."""
        applied = np.empty(len(setpoint))
        self._write(t, np.ascontiguousarray(setpoint), applied)
        self._number += 1
        return Frame(t, self._number, _OK, applied)

    def stop(self, t: float) -> Frame:
        """Nothing: a device that stops ends the compiled run."""
        return Frame(t, self._number, _OK, NOTHING)


class WrappedDevices:
    """The wrapped devices of a testbed, each new at every start.

    Parameters
    ----------
    bed, events
        The testbed, and its timed events.
    devices
        All devices of the run by name, with their wrappers.
    columns
        Of a row: the frame of each sensor, and the set point of each actuator.
    """

    def __init__(
        self, bed: Testbed, events: TimedEvents, devices: dict[str, Any], columns: Callable[[str], slice]
    ) -> None:
        self._bed, self._events = bed, events
        wrapped = {name: device for name, device in devices.items() if type(device) in _WRAPPERS}
        self.names = [*wrapped]
        self._columns = {name: columns(name) for name in wrapped}
        self._wrapped: dict[str, Any] = {}
        #: of each actuator: the number of the last frame of its wrapper
        self._numbers: dict[str, int] = {}
        self._calibrated = [name for name, device in wrapped.items() if type(device) in _CALIBRATED]

    def ticks(self, devices: Iterable[str], n: int) -> Array:
        """Of n ticks, those in which one of these devices is called in Python: 1, in the others 0."""
        names = [name for name in devices if name in self.names]
        if any(name in self._calibrated for name in names):
            return np.ones(n)
        return self._marked(n, (interval for name in names for interval in self._events.fault_intervals(name)))

    def load_ticks(self, n: int) -> Array:
        """Of n ticks, those with forces of timed events or a payload."""
        return self._marked(n, self._events.load_intervals())

    def _marked(self, n: int, intervals: Iterable[tuple[float, float]]) -> Array:
        """With the ticks before: a faulty device may repeat its last frame; and after: what ends is taken back."""
        is_marked, period = np.zeros(n), self._bed.loop.period_s
        for first_s, last_s in intervals:
            if first_s < n * period:
                first, last = math.floor(first_s / period), math.ceil(min(last_s / period, n))
                is_marked[max(0, first - 2) : last + 2] = 1.0
        return is_marked

    def restart(self, in_c: Callable[[str], Any]) -> None:
        """Begin another run around these devices in C."""
        self._numbers = dict.fromkeys(self.names, 0)
        for name in self.names:
            table = self._bed.devices[name]
            assert isinstance(table, Device)
            self._wrapped[name] = corrected(self._events.on(name, in_c(name)), name, table, self._bed)

    def read(self, t: float, row: Array) -> None:
        """Change the frames of the sensors in a row."""
        for name in self.names:
            if name in self._bed.sensors:
                row[self._columns[name]] = _numbers(self._wrapped[name].read(t))

    def write(self, t: float, row: Array, applied: Callable[[str], Array]) -> None:
        """Send the set points of a row; `applied` has the last frame of each actuator, and gets the new one."""
        for name in self.names:
            if name in self._bed.actuators:
                last, frame = applied(name), self._wrapped[name].write(t, row[self._columns[name]].copy())
                number = last[1] + frame.number - self._numbers[name]  # it was not called in every tick
                self._numbers[name], last[:] = frame.number, _numbers(frame._replace(number=number))


def _numbers(frame: Frame) -> Array:
    """Time, number, status and values of a frame."""
    return np.array([frame.t, frame.number, frame.status, *frame.values.tolist()])


def _frame(memory: Array) -> Frame:
    return Frame(memory.item(0), int(memory[1]), int(memory[2]), memory[3:].copy())
