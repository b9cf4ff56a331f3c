"""A device behind its calibration: readings become measured values, set points become commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from granite.config.devices.device import Device
from granite.config.records import Array, Frame
from granite.config.testbed import Testbed
from granite.drivers.checked import ActuatorWrapper, SensorWrapper, checked
from granite.drivers.contract import Actuator, Sensor


def corrected(device: Any, name: str, table: Device, bed: Testbed) -> Any:
    """A device with the calibrated response or gain of its table; the device itself where there is none."""
    if table.role == "sensor":
        correction = table.correction(bed)
        return device if correction is None else CorrectedSensor(checked(device, name, bed), correction)
    gain = table.gain(bed)
    return device if gain is None else CorrectedActuator(checked(device, name, bed), gain)


class CorrectedSensor(SensorWrapper):
    """A sensor whose readings are corrected, each frame once."""

    def __init__(self, sensor: Sensor, correction: Callable[[Array], Array]) -> None:
        super().__init__(sensor)
        self._read, self._correction = sensor.read, correction
        self._raw: Frame | None = None
        self._frame: Frame | None = None

    def read(self, t: float) -> Frame:
        """The newest frame by time t [s]."""
        raw = self._read(t)
        if self._frame is None or raw is not self._raw:
            self._raw = raw
            self._frame = Frame(raw.t, raw.number, raw.status, self._correction(raw.values))
        return self._frame


class CorrectedActuator(ActuatorWrapper):
    """An actuator whose commands are divided by its gain, and whose frames are multiplied by it."""

    def __init__(self, actuator: Actuator, gain: Array) -> None:
        super().__init__(actuator)
        self._gain = gain

    def write(self, t: float, setpoint: Array) -> Frame:
        """Send the set point."""
        return self.applied(self.device.write(t, setpoint / self._gain))

    def applied(self, frame: Frame) -> Frame:
        """The frame in units of the testbed."""
        return Frame(frame.t, frame.number, frame.status, frame.values * self._gain)
