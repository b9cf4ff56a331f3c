"""Dynamixel servos in current mode: motors, or the angles and rates of joints.

In a testbed's file, for motors and joint sensors on the same bus:

    driver = { kind = "dynamixel", port = "/dev/ttyUSB0", ids = { shoulder = 1, elbow = 2 },
               torque_n_m_per_a = { shoulder = 1.78, elbow = 1.78 } }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from granite.config.base import Positive
from granite.config.devices.device import Device
from granite.config.errors import InputError, one_of
from granite.config.parts import PartTable
from granite.config.records import Array, Frame
from granite.config.testbed import Testbed
from granite.drivers.dynamixel.bus import Bus, BusOptions
from granite.drivers.dynamixel.control_table import CENTRE, MODELS, RAD_PER_COUNT, RAD_S_PER_COUNT, Feedback
from granite.drivers.dynamixel.servos import DynamixelServo
from granite.drivers.servo_bus import ServoDevice


class DynamixelDevice(ServoDevice[DynamixelServo]):
    """Sensor or actuator on a bus that it shares with others."""

    class Options(PartTable, BusOptions):
        """The bus, and the servo of each joint."""

        Link: ClassVar = Bus
        #: by joint
        ids: dict[str, Annotated[int, Field(ge=0, le=252)]] = Field(min_length=1)
        #: all servos are of this one, such as XM430-W350; none: any that has a current mode
        model: str | None = None
        #: motors: torque at the joint per ampere, by joint
        torque_n_m_per_a: dict[str, Positive] = Field(default_factory=dict)
        #: joints whose angle grows where that of the servo falls
        reversed: tuple[str, ...] = ()
        #: joint sensors: angle of the joint where the servo is at its centre (count 2048), by joint; default 0
        centre_rad: dict[str, float] = Field(default_factory=dict)

    _BY_JOINT = ("ids", "torque_n_m_per_a", "centre_rad", "reversed")
    _NEEDED_BY_MOTORS: ClassVar = {"torque_n_m_per_a": "the torque per ampere of its servo"}

    def __init__(self, options: Options, name: str, bed: Testbed, bus: Bus) -> None:
        names = [model.name for model in MODELS.values()]
        if options.model is not None and options.model not in names:
            raise InputError("no such model", key="model", value=options.model, expected=one_of(options.model, names))
        super().__init__(options, name, bed, bus)
        device = bed.devices[name]
        assert isinstance(device, Device)
        self._limits = [high for _, high in device.bounds(bed)] if self._is_actuator else []
        self._scales: Array = np.zeros(len(self._rows))
        self._most: list[int] = []
        centres = [options.centre_rad.get(joint, 0.0) for joint in self._joints]
        self._offsets = np.array(
            [centre if q == "angle" else 0.0 for centre, q in zip(centres, self._quantities, strict=True)]
        )

    def _servo(self, joint: str) -> DynamixelServo:
        options: DynamixelDevice.Options = self._options
        return DynamixelServo(joint, options.ids[joint], joint in options.reversed, self._is_actuator, options.model)

    def open(self) -> None:
        """Open the bus, and check that the servos reach the torques that the testbed allows."""
        super().open()
        signs = [servo.sign for servo in self._rows]
        if not self._is_actuator:
            units = [RAD_PER_COUNT if quantity == "angle" else RAD_S_PER_COUNT for quantity in self._quantities]
            self._scales = np.array(units) * signs
            return
        constants = self._options.torque_n_m_per_a
        for servo, limit in zip(self._rows, self._limits, strict=True):
            constant, most = constants[servo.joint], servo.ready.current_limit_a
            if limit / constant > most * (1 + 1e-6):
                problem = f"set points up to {limit:g} N m take {limit / constant:.3g} A"
                expected = f"at most the servo's current limit of {most:.3g} A (register 38)"
                raise InputError(problem, key=f"torque_n_m_per_a.{servo.joint}", value=constant, expected=expected)
        per_count = [servo.ready.model.ampere_per_count for servo in self._rows]
        self._scales = np.array([a * constants[j] for a, j in zip(per_count, self._joints, strict=True)]) * signs
        self._most = [round(s.ready.current_limit_a / a) for s, a in zip(self._rows, per_count, strict=True)]

    def write(self, t: float, setpoint: Array) -> Frame:
        """Set the goal currents that the bus sends next; the torque of the measured currents."""
        for servo, count, most in zip(self._rows, (setpoint / self._scales).tolist(), self._most, strict=True):
            servo.goal = max(-most, min(most, round(count)))
        return self._newest(t, needs_torque=True)

    @property
    def identity(self) -> str:
        """The servos, as they describe themselves."""
        return ", ".join(f"{s.joint}: {s.ready.model.name} firmware {s.ready.firmware}" for s in self._servos)

    def _values(self, feedback: Sequence[Feedback]) -> Array:
        """A servo whose torque is off applies none, whatever its converter reads."""
        counts = [_count(answer, quantity) for answer, quantity in zip(feedback, self._quantities, strict=True)]
        values: Array = np.array(counts) * self._scales + self._offsets
        return values


def _count(feedback: Feedback, quantity: str) -> float:
    if quantity == "torque":
        return float(feedback.current if feedback.torque_on else 0)
    return float(feedback.position - CENTRE if quantity == "angle" else feedback.velocity)
