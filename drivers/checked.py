"""A user's own device: it can't change its set point, and its frames have the right type and size.

Rows and compiled functions take the bytes of arrays: another type or size would shift all later values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from granite.config.errors import InputError
from granite.config.own_code import WrongResultError
from granite.config.records import Array, Frame
from granite.config.testbed import Testbed
from granite.drivers.contract import Actuator, Driver, Sensor
from granite.drivers.link_history import LinkHistory

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


class Wrapper(Driver):
    """A device around another one, which may lack what has a default in its contract."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def open(self) -> None:
        """Open the device."""
        self.device.open()

    def close(self) -> None:
        """Close the device."""
        self.device.close()

    @property
    def identity(self) -> str:
        """How the open device describes itself."""
        return str(getattr(self.device, "identity", type(self.device).__name__))

    @property
    def link_history(self) -> LinkHistory | None:
        """What its link counted."""
        history: LinkHistory | None = getattr(self.device, "link_history", None)
        return history


def has_own(device: Any, member: str, contract: type) -> bool:
    """Whether a device has a member of its own instead of the contract's default, behind all wrappers."""
    while isinstance(device, Wrapper):
        device = device.device
    return hasattr(device, member) and getattr(type(device), member, None) is not getattr(contract, member)


class SensorWrapper(Wrapper, Sensor):
    """A sensor around another one."""

    def __init__(self, sensor: Any) -> None:
        super().__init__(sensor)
        self._note_delay = getattr(sensor, "note_delay", super().note_delay)

    def note_delay(self, delay: float) -> None:
        """Take down how late the tick is that reads next [s]."""
        self._note_delay(delay)


class ActuatorWrapper(Wrapper, Actuator):
    """An actuator around another one; `applied` may change or check its frames."""

    def __init__(self, actuator: Any) -> None:
        super().__init__(actuator)
        self._report = getattr(actuator, "report", super().report)
        self._observe = getattr(actuator, "observe", super().observe)

    def applied(self, frame: Frame) -> Frame:
        """The frame of the other one as it is here."""
        return frame

    def stop(self, t: float) -> Frame:
        """Go to the safe state."""
        return self.applied(self.device.stop(t))

    def report(self, t: float) -> Frame | None:
        """The newest frame by time t [s], where it is newer than that of `write`."""
        frame = self._report(t)
        return None if frame is None else self.applied(frame)

    def observe(self, t: float) -> Frame | None:
        """The newest frame without a command that acts."""
        frame = self._observe(t)
        return None if frame is None else self.applied(frame)


class CheckedSensor(SensorWrapper):
    """A sensor whose frames are checked."""

    def __init__(self, sensor: Any, name: str, size: int) -> None:
        super().__init__(sensor)
        self._read, self._name, self._shape = sensor.read, name, (size,)
        self._newest: Frame | None = None

    def read(self, t: float) -> Frame:
        """The newest frame by time t [s]; a measurement that is given again under a new number is no new one."""
        frame, newest = _checked(self._read(t), self._name, self._shape, self._read), self._newest
        if newest is not None and newest.number and frame.number > newest.number and frame.t == newest.t:
            return newest._replace(status=frame.status)
        self._newest = frame
        return frame


class CheckedActuator(ActuatorWrapper):
    """An actuator whose frames are checked."""

    def __init__(self, actuator: Any, name: str, size: int) -> None:
        super().__init__(actuator)
        self._write, self._name, self._shape = actuator.write, name, (size,)

    def write(self, t: float, setpoint: Array) -> Frame:
        """Send the set point, which the actuator can't change: the log has the same array."""
        setpoint.setflags(write=False)
        return _checked(self._write(t, setpoint), self._name, self._shape, self._write)

    def applied(self, frame: Frame) -> Frame:
        """The frame, if it has the right type and size."""
        return _checked(frame, self._name, self._shape, self._write)

    def stop(self, t: float) -> Frame:
        """Go to the safe state; whether the frame confirms it is judged by who stops."""
        frame: Frame = self.device.stop(t)
        return frame


def _checked(frame: Any, name: str, shape: tuple[int], method: Callable[..., Any]) -> Frame:
    if not isinstance(frame, Frame):
        raise _wrong(name, method, type(frame).__name__, "Frame")
    t, number, status, values = frame
    if (
        type(values) is np.ndarray
        and values.dtype is _FLOAT64
        and values.shape == shape
        and type(number) is type(status) is int
        and 0 <= number < _MOST_FRAMES
        and type(t) is float
        and math.isfinite(t)
        and values.flags.c_contiguous
    ):
        return frame  # nearly always
    if not isinstance(values, np.ndarray):
        raise _wrong(name, method, f"values of type {type(values).__name__}", f"float64 of shape {shape}")
    if values.dtype is not _FLOAT64 or values.shape != shape:
        raise _wrong(name, method, f"{values.dtype} of shape {values.shape}", f"float64 of shape {shape}")
    if not isinstance(number, int | np.integer) or not 0 <= number < _MOST_FRAMES:
        raise _wrong(name, method, f"frame number {number!r}", "a whole number of frames so far")
    if not isinstance(status, int | np.integer):
        raise _wrong(name, method, f"status {status!r}", "a granite.Status")
    if not isinstance(t, float | int | np.floating) or (number and not math.isfinite(t)):
        raise _wrong(name, method, f"the time {t} s", "that of the measurement or application")
    # Rows and compiled functions take bytes: those of a slice with steps are not the numbers that it shows.
    return frame if values.flags.c_contiguous else frame._replace(values=np.ascontiguousarray(values))


def _wrong(name: str, method: Callable[..., Any], given: str, expected: str) -> WrongResultError:
    return WrongResultError(f"device '{name}' gave {given}, expected {expected}", method)
