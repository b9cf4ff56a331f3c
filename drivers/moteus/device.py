"""moteus servos that apply torques: motors, or the angles and rates of joints.

In a testbed's file, for motors and joint sensors on the same bus:

    driver = { kind = "moteus", port = "/dev/fdcanusb", ids = { shoulder = 1, elbow = 2 } }
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from granite.config.parts import PartTable
from granite.config.records import Array, Frame
from granite.drivers.moteus.bus import MoteusBus, MoteusBusOptions, MoteusServo
from granite.drivers.moteus.frames import POSITION, MoteusFeedback
from granite.drivers.servo_bus import ServoDevice


class MoteusDevice(ServoDevice[MoteusServo]):
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

    _BY_JOINT = ("ids", "reversed", "zero_rad")

    def _servo(self, joint: str) -> MoteusServo:
        options: MoteusDevice.Options = self._options
        return MoteusServo(joint, options.ids[joint], joint in options.reversed, self._is_actuator)

    @property
    def identity(self) -> str:
        """The servos."""
        return ", ".join(f"{servo.joint}: moteus {servo.id}" for servo in self._servos)

    def write(self, t: float, setpoint: Array) -> Frame:
        """Set the torques that the bus sends next; the measured ones."""
        for servo, torque in zip(self._rows, setpoint.tolist(), strict=True):
            servo.torque = -torque if servo.is_reversed else torque
        return self._newest(t, needs_torque=True)

    def _values(self, feedback: Sequence[MoteusFeedback]) -> Array:
        rows = zip(self._rows, feedback, self._quantities, strict=True)
        return np.array([self._value(*row) for row in rows])

    def _value(self, servo: MoteusServo, feedback: MoteusFeedback, quantity: str) -> float:
        if quantity == "torque":
            return servo.sign * feedback.torque if feedback.mode == POSITION else 0.0
        turns = feedback.position if quantity == "angle" else feedback.velocity
        zero = self._options.zero_rad.get(servo.joint, 0.0) if quantity == "angle" else 0.0
        return servo.sign * turns * math.tau + zero
