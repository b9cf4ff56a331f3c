"""The devices of a testbed as their data sheets describe them: what a controller may know of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from granite.config.base import Direction, Name, NotNegative, Positive, Table, Vector, refuse_twice


class JointSensors(Table):
    """RVDTs with an analogue rate filter ab s/((s+a)(s+b)) behind each (Stanford report, section 2.2)."""

    joints: tuple[Name, ...] = Field(min_length=1)
    angle_noise_rad: NotNegative
    #: full range of the converter, centred on zero, and its number of bits
    range_rad: Positive
    converter_bits: Annotated[int, Field(ge=4, le=32)]
    #: 0: the sensor gives the rate itself
    filter_a_rad_s: NotNegative
    filter_b_rad_s: NotNegative
    #: noise added behind the rate filter
    rate_noise_rad_s: NotNegative

    @model_validator(mode="after")
    def _joints_differ(self) -> JointSensors:
        refuse_twice("joints", "joint", self.joints)
        return self


class Vision(Table):
    """A camera that reports the pose of one body, late but with the time of exposure."""

    body: Name
    rate_hz: Positive
    latency_s: NotNegative
    position_noise_m: NotNegative
    heading_noise_rad: NotNegative


class Motor(Table):
    """A torque motor on a joint."""

    joint: Name
    torque_limit_n_m: Positive


class Valve(Table):
    """How the thruster valves answer: dead time, linear rise and fall, and the shortest pulse they make."""

    delay_s: NotNegative
    rise_s: NotNegative
    minimum_on_s: NotNegative


class Thruster(Table):
    """A cold-gas nozzle: `direction` is the force on the body, not the jet."""

    name: Name
    position_m: Vector
    direction: Direction
    thrust_n: Positive
    failed: bool = False


class Thrusters(Table):
    """All thrusters of the vehicle; they sit on its root body and share one kind of valve."""

    valve: Valve
    specific_impulse_s: Positive
    units: tuple[Thruster, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> Thrusters:
        refuse_twice("units", "thruster", [u.name for u in self.units])
        return self


class Devices(Table):
    """Everything with a wire."""

    joint_sensors: JointSensors | None = None
    vision: Vision | None = None
    motors: tuple[Motor, ...] = ()
    thrusters: Thrusters | None = None

    @model_validator(mode="after")
    def _one_motor_on_a_joint(self) -> Devices:
        refuse_twice("motors", "a motor on joint", [m.joint for m in self.motors])
        return self
