"""moteus servos that apply torques: motors, or the angles and rates of joints.

In a testbed's file, for motors and joint sensors on the same bus:

    driver = { kind = "moteus", port = "/dev/fdcanusb", ids = { shoulder = 1, elbow = 2 } }
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from granite.config.devices.device import Device
from granite.config.errors import InputError, one_of
from granite.config.parts import PartTable
from granite.config.records import Array, Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.drivers.contract import Actuator, Sensor
from granite.drivers.moteus.bus import MoteusBus, MoteusBusOptions, MoteusServo
from granite.drivers.moteus.frames import POSITION

_SENSED = {"angle", "rate"}


class MoteusDevice(Sensor, Actuator):
    """Sensor or actuator on a bus that it shares with others."""

    class Options(PartTable, MoteusBusOptions):
        """The bus, and the servo of each joint."""

        Link: ClassVar = MoteusBus
        #: by joint
        ids: dict[str, Annotated[int, Field(ge=1, le=126)]] = Field(min_length=1)
        #: joints whose angle grows where that of the servo falls
        reversed: tuple[str, ...] = ()
        #: joint sensors: angle of the joint where the servo reports zero, by joint; default 0
        zero_rad: dict[str, float] = Field(default_factory=dict)

    def __init__(self, options: Options, name: str, bed: Testbed, bus: MoteusBus) -> None:
        device = bed.devices[name]
        assert isinstance(device, Device)
        self._is_actuator = device.role == "actuator"
        signals = [signal.name.rpartition("_") for signal in device.signals(bed)]
        if not {quantity for _, _, quantity in signals} <= ({"torque"} if self._is_actuator else _SENSED):
            expected = "motors, or joint sensors that measure angles and rates"
            raise InputError("servos have no such signals", key="kind", value="moteus", expected=expected)
        joints = list(dict.fromkeys(joint for joint, _, _ in signals))
        for key, named in (("ids", options.ids), ("reversed", options.reversed), ("zero_rad", options.zero_rad)):
            for joint in named:
                if joint not in joints:
                    raise InputError("no such joint here", key=key, value=joint, expected=one_of(joint, joints))
        for joint in joints:
            if joint not in options.ids:
                raise InputError.missing(f"ids.{joint}", "the id of its servo")
        self._bus = bus
        self._servos = [bus.add(j, options.ids[j], j in options.reversed, self._is_actuator) for j in joints]
        self._rows = [self._servos[joints.index(joint)] for joint, _, _ in signals]
        self._quantities = [quantity for _, _, quantity in signals]
        self._zeros = [options.zero_rad.get(joint, 0.0) for joint, _, _ in signals]
        self._last = no_frame(len(signals))
        if self._is_actuator:
            self._last = self._last._replace(t=0.0, values=np.zeros(len(signals)))
        self._answered = 0

    def open(self) -> None:
        """Open the bus, with every servo off."""
        self._bus.open()

    def close(self) -> None:
        """Nothing of its own: the bus is closed with all its devices, servos off."""

    @property
    def identity(self) -> str:
        """The servos."""
        return ", ".join(f"{servo.joint}: moteus {servo.id}" for servo in self._servos)

    def read(self, t: float) -> Frame:
        """The newest measurement, with the time of its request."""
        return self._newest(t, needs_torque=False)

    def write(self, t: float, setpoint: Array) -> Frame:
        """Set the torques that the bus sends next; the measured ones."""
        for servo, torque in zip(self._servos, setpoint.tolist(), strict=True):
            servo.torque = -torque if servo.is_reversed else torque
        return self._newest(t, needs_torque=True)

    def report(self, t: float) -> Frame:
        """The measured torques."""
        return self._newest(t, needs_torque=True)

    def observe(self, t: float) -> Frame:
        """What the servos report, off."""
        return self._newest(t, needs_torque=False)

    def stop(self, t: float) -> Frame:
        """All servos of the bus off at once; the frame confirms it when every one has."""
        is_off = self._bus.stop(t)
        frame = self._newest(t, needs_torque=False)
        if not is_off:
            return frame._replace(status=Status.SILENT)
        return frame._replace(status=Status.OK, values=np.zeros(len(self._rows)))

    def _newest(self, t: float, needs_torque: bool) -> Frame:
        """A new frame where all servos of the device have answered the same request."""
        bus, last = self._bus, self._last
        status = bus.status(t, self._servos, needs_torque)
        request = self._servos[0].answered
        if request != self._answered and all(servo.answered == request for servo in self._servos):
            self._answered = request
            self._last = Frame(bus.answered_request_at, last.number + 1, status, self._values())
        elif status != last.status:
            self._last = last._replace(status=status)
        return self._last

    def _values(self) -> Array:
        """In the units of the signals; a servo that is off applies no torque."""
        return np.array([self._value(*row) for row in zip(self._rows, self._quantities, self._zeros, strict=True)])

    @staticmethod
    def _value(servo: MoteusServo, quantity: str, zero: float) -> float:
        feedback, sign = servo.feedback, -1.0 if servo.is_reversed else 1.0
        if feedback is None:
            return 0.0
        if quantity == "torque":
            return sign * feedback.torque if feedback.mode == POSITION else 0.0
        turns = feedback.position if quantity == "angle" else feedback.velocity
        return sign * turns * math.tau + (zero if quantity == "angle" else 0.0)
