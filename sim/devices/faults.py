"""Simulated devices with faults at given times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from granite.config.events import MOTOR_FAULTS, THRUSTER_FAULTS, FaultEvent
from granite.config.records import Array, Frame, Status, no_frame
from granite.drivers.checked import SensorWrapper, Wrapper
from granite.drivers.contract import Actuator, Sensor
from granite.mrds.tolerances import SAME_TIME_S


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
            else:
                values = frame.values.copy()
                if fault.what == "frozen":
                    for i in self._places(fault):
                        last = self._last.values[i] if self._last else values[i]
                        frozen[i] = values[i] = self._frozen.get(i, last)
                elif fault.what == "not_finite":
                    values[:] = np.nan
                elif fault.what == "offset":
                    values[self._places(fault)] += value
                elif fault.what == "drift":
                    values[self._places(fault)] += value * max(frame.t - fault.at_s, 0.0)
                frame = frame._replace(values=values)
        self._frozen, self._last = frozen, frame
        return frame

    def _places(self, fault: FaultEvent) -> list[int]:
        """Its signal, or all of them."""
        return [i for i, signal in enumerate(self._signals) if fault.unit in (None, signal)]


class FaultyActuator(Wrapper, Actuator):
    """An actuator with faults at given times."""

    def __init__(self, actuator: Actuator, faults: list[FaultEvent], signals: list[str]) -> None:
        super().__init__(actuator)
        self._actuator, self._faults, self._signals = actuator, faults, signals
        self._device: Any = actuator
        self._units: set[tuple[str, str, float | None]] = set()
        self._last: Frame | None = None

    def write(self, t: float, setpoint: Array) -> Frame:
        """Write as far as the current faults allow."""
        faults = list(_in_force(self._faults, t))
        self._set_units({(f.what, str(f.unit), f.value) for f in faults if f.what in THRUSTER_FAULTS + MOTOR_FAULTS})
        number, whole = self._last.number if self._last else 0, [fault.what for fault in faults]
        if "silent" in whole:
            return self._silent(len(setpoint))
        if "refuses" in whole:
            self._actuator.stop(t)
            frame = Frame(t, 0, Status.REFUSED, np.zeros(len(setpoint)))
        else:
            frame = self._actuator.write(t, setpoint)
        values = frame.values.copy()
        for fault in faults:
            if fault.what == "not_finite":
                values[:] = np.nan
            elif fault.what == "offset":
                values[self._signals.index(str(fault.unit))] += fault.value or 0.0
        self._last = frame._replace(number=number + 1, values=values)
        return self._last

    def stop(self, t: float) -> Frame:
        """Stop; a silent one obeys, but does not confirm it."""
        frame = self._actuator.stop(t)
        is_silent = any(fault.what == "silent" for fault in _in_force(self._faults, t))
        return self._silent(len(frame.values)) if is_silent else frame

    def _silent(self, n: int) -> Frame:
        """The last frame again."""
        return (self._last or Frame(0.0, 0, Status.NO_FRAME, np.zeros(n)))._replace(status=Status.SILENT)

    def _set_units(self, units: set[tuple[str, str, float | None]]) -> None:
        """Faults of single thrusters or motors, which the device itself simulates."""
        if units == self._units:
            return
        changed = {what for what, _, _ in units | self._units}
        self._units = units
        if changed & set(MOTOR_FAULTS):
            self._device.set_factors({unit: value for _, unit, value in units})
        else:
            self._device.set_faults(*([unit for what, unit, _ in units if what == kind] for kind in THRUSTER_FAULTS))
