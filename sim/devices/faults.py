"""Simulated devices with faults at given times."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from granite.config.events import FaultEvent
from granite.config.records import Array, Frame, Status, no_frame
from granite.drivers.checked import SensorWrapper, Wrapper
from granite.drivers.contract import Actuator, Sensor
from granite.mrds.tolerances import SAME_TIME_S

#: faults of units that the simulated device has itself
UNIT_FAULTS = ("dead", "stuck_open", "thrust_factor", "torque_factor", "stays_open")


def _in_force(faults: list[FaultEvent], t: float) -> Iterator[FaultEvent]:
    for fault in faults:
        ends = np.inf if fault.duration_s is None else fault.at_s + fault.duration_s
        if fault.at_s - SAME_TIME_S <= t < ends - SAME_TIME_S:
            yield fault


class FaultySensor(SensorWrapper):
    """A sensor with faults at given times."""

    def __init__(self, sensor: Sensor, faults: list[FaultEvent], signals: list[str]) -> None:
        super().__init__(sensor)
        self._sensor, self._faults, self._signals = sensor, faults, signals
        self._last: Frame | None = None
        #: values of each signal that is frozen, from the first tick of the fault on
        self._frozen: dict[int, float] = {}
        #: frames of a late sensor, with the time at which each would have been read
        self._recent: deque[tuple[float, Frame]] = deque()

    def read(self, t: float) -> Frame:
        """The frame of the sensor, changed by the current faults."""
        frame, frozen = self._sensor.read(t), {}
        for fault in _in_force(self._faults, t):
            value = fault.value or 0.0
            if fault.what == "silent":
                return (self._last or no_frame(len(frame.values)))._replace(status=Status.SILENT)
            if fault.what == "counter_jump" and frame.number:
                frame = frame._replace(number=max(frame.number + round(value), 0))
            elif fault.what == "time_jump":
                frame = frame._replace(t=frame.t + value)
            elif fault.what == "late":
                frame = self._of_before(t, value, frame)
            else:
                values = frame.values.copy()
                if fault.what == "frozen":
                    for i in self._indices(fault):
                        last = self._last.values[i] if self._last else values[i]
                        frozen[i] = values[i] = self._frozen.get(i, last)
                elif fault.what == "not_finite":
                    values[:] = np.nan
                elif fault.what == "offset":
                    values[self._indices(fault)] += value
                elif fault.what == "drift":
                    values[self._indices(fault)] += value * max(frame.t - fault.at_s, 0.0)
                frame = frame._replace(values=values)
        self._frozen, self._last = frozen, frame
        return frame

    def _of_before(self, t: float, late_s: float, frame: Frame) -> Frame:
        """The frame of that long ago, or the first one since the fault began."""
        self._recent.append((t, frame))
        while len(self._recent) > 1 and self._recent[1][0] <= t - late_s + SAME_TIME_S:
            self._recent.popleft()
        return self._recent[0][1]

    def _indices(self, fault: FaultEvent) -> list[int]:
        """Its signal, or all of them."""
        return [i for i, signal in enumerate(self._signals) if fault.unit in (None, signal)]


class FaultyActuator(Wrapper, Actuator):
    """An actuator with faults at given times."""

    def __init__(self, actuator: Actuator, faults: list[FaultEvent], signals: list[str], units: list[str]) -> None:
        super().__init__(actuator)
        self._actuator, self._faults, self._signals, self._names = actuator, faults, signals, units
        self._device: Any = actuator
        self._units: set[tuple[str, str, float | None]] = set()
        self._last: Frame | None = None
        #: set points that are not applied yet, with the time at which they are
        self._waiting: deque[tuple[float, Array]] = deque()

    def write(self, t: float, setpoint: Array) -> Frame:
        """Write as far as the current faults allow."""
        faults = list(_in_force(self._faults, t))
        self._set_units({(f.what, str(f.unit), f.value) for f in faults if f.what in UNIT_FAULTS})
        number, whole = self._last.number if self._last else 0, [fault.what for fault in faults]
        if "silent" in whole:
            return self._silent(len(setpoint))
        if "refuses" in whole:
            self._actuator.stop(t)
            frame = Frame(t, 0, Status.REFUSED, np.zeros(len(setpoint)))
        else:
            order = self._order(faults)
            applied = self._actuator.write(t, self._due(t, setpoint, faults)[order])
            frame = applied._replace(values=setpoint if "late" in whole else applied.values[order])
        values = frame.values.copy()
        for fault in faults:
            if fault.what == "not_finite":
                values[:] = np.nan
            elif fault.what == "offset":
                values[self._signals.index(str(fault.unit))] += fault.value or 0.0
        self._last = frame._replace(number=number + 1, values=values)
        return self._last

    def stop(self, t: float) -> Frame:
        """Stop; a silent one obeys, but does not confirm it, and one that does not stop confirms it."""
        what = [fault.what for fault in _in_force(self._faults, t)]
        if "does_not_stop" in what:
            number = self._last.number if self._last else 0
            return Frame(t, number + 1, Status.OK, np.zeros(len(self._signals)))
        frame = self._actuator.stop(t)
        return self._silent(len(frame.values)) if "silent" in what else frame

    def _silent(self, n: int) -> Frame:
        """The last frame again."""
        return (self._last or Frame(0.0, 0, Status.NO_FRAME, np.zeros(n)))._replace(status=Status.SILENT)

    def _order(self, faults: list[FaultEvent]) -> list[int]:
        """For each unit the one whose set point it gets."""
        order = list(range(len(self._signals)))
        for fault in faults:
            if fault.what == "exchanged":
                i, j = self._names.index(str(fault.unit)), self._names.index(str(fault.other))
                order[i], order[j] = order[j], order[i]
        return order

    def _due(self, t: float, setpoint: Array, faults: list[FaultEvent]) -> Array:
        """The set point that a late device applies now; zero before the first one."""
        late_s = sum(fault.value or 0.0 for fault in faults if fault.what == "late")
        if not late_s:
            return setpoint
        self._waiting.append((t + late_s, setpoint.copy()))
        while len(self._waiting) > 1 and self._waiting[1][0] <= t + SAME_TIME_S:
            self._waiting.popleft()
        at, due = self._waiting[0]
        return due if at <= t + SAME_TIME_S else np.zeros(len(setpoint))

    def _set_units(self, units: set[tuple[str, str, float | None]]) -> None:
        """Faults of single thrusters, motors or grips, which the device itself simulates."""
        if units != self._units:
            self._units = units
            self._device.set_faults(units)
