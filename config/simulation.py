"""The simulated lab: where the robot starts, and every fault of table, sensors and actuators, one by one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from granite.config.base import NotNegative, Positive, Probability, Table


class JointSensorFaults(Table):
    """`perfect` has no noise, no offset and no converter steps. The rate filter is the sensor's own and stays."""

    perfect: bool = False
    #: by joint name
    offset_rad: dict[str, float] = Field(default_factory=dict)


class VisionFaults(Table):
    """`perfect` reports the true pose at every tick at once."""

    perfect: bool = False
    latency_jitter_s: NotNegative = 0.0
    dropout_probability: Probability = 0.0


class ThrusterFaults(Table):
    """`ideal` delivers any thrust between zero and nominal, at once, for ever."""

    ideal: bool = False
    #: impulse in the full tank [N s]; thrust is proportional to what is left. None: constant pressure.
    tank_n_s: Positive | None = None


class GraniteTable(Table):
    """The granite: slope as an acceleration, and the drag of the air pads as a part of the weight."""

    ideal: bool = False
    tilt_g: NotNegative = 1e-5
    #: downhill, from the x axis
    tilt_direction_rad: float = 0.0
    drag_ratio: NotNegative = 1e-4
    drag: Literal["coulomb", "viscous"] = "coulomb"
    #: coulomb: speed below which the drag fades out; viscous: speed at which it reaches drag_ratio
    drag_speed_m_s: Positive = 1e-3


class ConstraintStabilisation(Table):
    """Against drift of closed contacts by rounding and integration error.

    `projection` projects the state onto the constraints at every step; `baumgarte` adds feedback of the constraint
    errors to the accelerations (Bonaventura 2002, 6.4); `none` leaves the drift.
    """

    method: Literal["projection", "baumgarte", "none"] = "projection"
    #: gains of baumgarte: x''_c gets -stiffness gap - damping slip
    stiffness_1_s2: NotNegative = 100.0
    damping_1_s: NotNegative = 20.0

    @field_validator("method", mode="before")
    @classmethod
    def _none_is_a_method(cls, value: object) -> object:
        """On the command line, `none` stands for no value."""
        return "none" if value is None else value


class Simulation(Table):
    """The plant behind the simulated devices."""

    physics_step_s: Positive
    #: by coordinate key; what is not named starts at zero
    initial: dict[str, float] = Field(default_factory=dict)
    #: where the start does not fit the contacts that are closed: move it to the nearest pose that does, or refuse it
    fit_start: bool = False
    constraint_stabilisation: ConstraintStabilisation = ConstraintStabilisation()
    #: record energy, momentum, gaps and condition, and say in the summary whether they held
    audit: bool = False
    joint_sensors: JointSensorFaults = JointSensorFaults()
    vision: VisionFaults = VisionFaults()
    thrusters: ThrusterFaults = ThrusterFaults()
    table: GraniteTable = GraniteTable()
