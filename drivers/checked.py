"""A user's own device: it can't change its set point, and its frames have the right type and size.

Rows and compiled functions take the bytes of arrays: another type or size would shift all later values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array, Frame
from granite.config.testbed import Testbed
from granite.drivers.contract import OPTIONAL, Actuator, Sensor

_FLOAT64 = np.dtype(np.float64)
#: a float64 holds every whole number below this
_MOST_FRAMES = 2**53


def checked(device: Any, name: str, bed: Testbed) -> Any:
    """A device as it is if it is one of Granite's own, else complete and with a check of every frame.

    Parameters
    ----------
    device
        A `Sensor` or an `Actuator`.
    name, bed
        Its name, and the testbed that it belongs to.

    Raises
    ------
    InputError
        Where it lacks a method of its contract.
    """
    if type(device).__module__.startswith("granite."):
        return device
    table = {**bed.sensors, **bed.actuators}[name]
    verbs = ("open", "read", "close") if table.role == "sensor" else ("open", "write", "stop", "close")
    for verb in verbs:
        if not callable(getattr(device, verb, None)):
            kind = table.driver.kind if table.driver else table.kind
            raise InputError(f"it has no method `{verb}`", key=f"devices.{name}", value=kind, expected=", ".join(verbs))
    size = len(table.signals(bed))
    return CheckedSensor(device, name, size) if table.role == "sensor" else CheckedActuator(device, name, size)


class Wrapped:
    """What a device may have beside its contract is passed on."""

    device: Any

    def __getattr__(self, name: str) -> Any:
        if name not in OPTIONAL:
            raise AttributeError(name)
        return getattr(self.device, name)


class CheckedSensor(Wrapped):
    """A sensor whose frames are checked."""

    def __init__(self, sensor: Sensor, name: str, size: int) -> None:
        self.device, self.open, self.close = sensor, sensor.open, sensor.close
        self._read, self._name, self._shape = sensor.read, name, (size,)

    def read(self, t: float) -> Frame:
        """The newest frame by time t [s]."""
        return _checked(self._read(t), self._name, self._shape)


class CheckedActuator(Wrapped):
    """An actuator whose frames are checked."""

    def __init__(self, actuator: Actuator, name: str, size: int) -> None:
        self.device, self.open, self.close, self.stop = actuator, actuator.open, actuator.close, actuator.stop
        self._write, self._name, self._shape = actuator.write, name, (size,)
        if report := getattr(actuator, "report", None):
            self.report = lambda t: _checked(report(t), name, (size,))

    def write(self, t: float, setpoint: Array) -> Frame:
        """Send the set point, which the actuator can't change: the log has the same array."""
        setpoint.setflags(write=False)
        return _checked(self._write(t, setpoint), self._name, self._shape)


def _checked(frame: Frame, name: str, shape: tuple[int]) -> Frame:
    values = frame.values
    if values.dtype is not _FLOAT64 or values.shape != shape:
        given = f"{values.dtype} of shape {values.shape}"
        raise TypeError(f"device '{name}' gave {given}, expected float64 of shape {shape}")
    number = frame.number
    if not isinstance(number, int | np.integer) or not 0 <= number < _MOST_FRAMES:
        raise TypeError(f"device '{name}' gave frame number {number!r}, expected a whole number of frames so far")
    if number and not math.isfinite(frame.t):
        raise TypeError(f"device '{name}' gave the time {frame.t} s, expected that of the measurement or application")
    return frame
