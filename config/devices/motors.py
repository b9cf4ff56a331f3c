"""Torque motors on joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Name, NotNegative, Positive, Spread, Table, refuse_twice
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.errors import InputError, one_of
from granite.config.records import Array

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class Motor(Table):
    """A torque motor on a joint."""

    joint: Name  #: the joint that it drives
    torque_limit_n_m: Positive  #: largest torque at the joint, either sign


class Gear(Table):
    """A gear between a motor and its joint: a rotor that touches the joint through flanks with play."""

    #: play from one flank to the other, at the joint
    backlash_rad: NotNegative = 0.0
    stiffness_n_m_rad: Positive  #: stiffness of the flanks, at the joint
    #: of the rotor, counted at the joint: times the square of the gear's ratio
    rotor_inertia_kg_m2: Positive
    #: part by which flanks push more for each radian a second at which they are pressed
    damping_s_rad: NotNegative = 1.0


class MotorErrors(Table):
    """Errors of the simulated motors, alike for all of a device; no frame reports them."""

    #: applied torque per commanded (and reported) newton metre, by joint; default 1
    gain: dict[str, NotNegative] = Field(default_factory=dict)
    #: each motor's gain is off by a part of it that the seed draws, at most this
    gain_error: Spread = 0.0
    #: amplitude as a part of the torque, sinusoidal over the angle; the seed draws the phase
    ripple_ratio: Spread = 0.0
    ripple_per_turn: Positive = 6.0  #: periods of the ripple in a turn
    #: amplitude, whatever the torque is, sinusoidal over the angle; the seed draws the phase
    cogging_n_m: NotNegative = 0.0
    cogging_per_turn: Positive = 12.0  #: periods of the cogging in a turn
    #: by back-EMF the limit of the torque falls to zero at this rate; a motor that brakes has all of it
    no_load_rate_rad_s: Positive | None = None
    #: time constant in which the torque follows its command (first order); none: at once
    lag_s: Positive | None = None
    #: none: the torque acts on the joint itself
    gear: Gear | None = None


class Motors(Device):
    """Motors that are commanded together; their set points are torques."""

    role: ClassVar[Literal["sensor", "actuator"]] = "actuator"
    clamps: ClassVar[bool] = True

    units: tuple[Motor, ...] = Field(min_length=1)  #: the motors, in the order of the commands
    #: torque at the joint per newton metre of command, as calibrated, by joint; default 1
    torque_gain: dict[str, Positive] = Field(default_factory=dict)
    #: how the simulated ones differ from this data sheet
    simulated: MotorErrors = MotorErrors()

    @model_validator(mode="after")
    def _one_motor_on_a_joint(self) -> Motors:
        refuse_twice("units", "a motor on joint", [motor.joint for motor in self.units])
        return self

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """The torque of each."""
        return tuple(Coordinate(f"{motor.joint}_torque", "N m") for motor in self.units)

    def gain(self, bed: Testbed) -> Array | None:
        """The calibrated gain of each."""
        gains = np.array([self.torque_gain.get(motor.joint, 1.0) for motor in self.units])
        return None if (gains == 1.0).all() else gains

    def modules(self, bed: Testbed) -> tuple[str, ...]:
        """Those of their joints."""
        return bed.modules_of(motor.joint for motor in self.units)

    def bounds(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """Plus and minus the limit of each."""
        return tuple((-motor.torque_limit_n_m, motor.torque_limit_n_m) for motor in self.units)

    def check(self, bed: Testbed) -> None:
        """Its joints exist."""
        for i, motor in enumerate(self.units):
            if motor.joint not in bed.joints:
                expected = one_of(motor.joint, bed.joints)
                raise InputError("no such joint", key=f"units.{i}.joint", value=motor.joint, expected=expected)
        driven = [motor.joint for motor in self.units]
        for key, gains in (("simulated.gain", self.simulated.gain), ("torque_gain", self.torque_gain)):
            for joint, gain in gains.items():
                if joint not in driven:
                    raise InputError("no motor there", key=f"{key}.{joint}", value=gain, expected=one_of(joint, driven))

    def describe(self, bed: Testbed) -> list[str]:
        """The limit of each."""
        return [f"{motor.joint}: up to {motor.torque_limit_n_m:g} N m" for motor in self.units]
