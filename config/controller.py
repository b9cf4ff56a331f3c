"""The controller's part of a testbed: controlled modules, its parts, and the limits of the guard."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from granite.config.base import Name, NotNegative, Positive, Table, refuse_twice
from granite.config.errors import InputError
from granite.config.law import LawPart
from granite.config.monitor import MonitorTable
from granite.config.parts import EstimatorPart, ModulationPart, SharingPart, part
from granite.config.payload import PayloadTable
from granite.config.responses import FaultReaction, FaultResponse, answer_to, refuse_impossible
from granite.config.zones import KeepOut


class BrakingTable(Table):
    """Braking to rest before a stop and in a hold; decelerations that are not given follow from the data sheets."""

    #: of a base with thrusters
    acceleration_m_s2: Positive | None = None
    acceleration_rad_s2: Positive | None = None  #: the same in rotation
    #: of a joint with a motor
    joint_rad_s2: Positive | None = None
    #: part of the thrusters' force and moment, and of the motors' torque, that decelerations which are not given use
    thrust_ratio: Positive = 0.6
    torque_ratio: Positive = 0.2  #: the same part of the motors' torque
    #: time from the decision until the deceleration, in the predicted stopping distance
    reaction_s: NotNegative = 0.1
    #: a stop closes the valves after this time, at rest or not
    time_limit_s: Positive = 10.0
    #: when floating, joints are damped with this rate
    float_damping_1_s: Positive = 2.0


class YawWheel(Table):
    """A momentum wheel that makes the yaw torque of its vehicle, and is unloaded by the thrusters near its limit."""

    joint: Name  #: the joint of the wheel
    #: rate that unloading returns to
    set_point_rad_s: float = 0.0
    #: unloading begins at this part of the wheel's rate limit from the set point, and ends at the other
    begin_ratio: Annotated[float, Field(gt=0, lt=1)] = 0.7
    #: part of the rate limit from the set point at which unloading ends
    end_ratio: Annotated[float, Field(ge=0, lt=1)] = 0.2
    #: yaw torque that unloads it, beside the one against the estimated disturbance
    torque_n_m: Positive = 0.01

    @model_validator(mode="after")
    def _ends_below_its_begin(self) -> YawWheel:
        if self.end_ratio >= self.begin_ratio:
            expected = f"less than begin_ratio = {self.begin_ratio}"
            raise InputError(key="end_ratio", value=self.end_ratio, expected=expected)
        return self


class Allocation(Table):
    """From a demanded wrench on a root body to valves and a wheel."""

    #: how the wrench is shared among the thrusters
    sharing: SharingPart = part("pseudo_inverse")
    #: from a wanted thrust to the state of an on/off valve
    modulation: ModulationPart = part("delta_sigma")
    #: weight of one newton metre in newtons when wrenches are compared
    torque_weight_1_m: Positive = 8.0
    #: the wheel that turns the vehicle; without one, a wheel follows its reference as every joint does
    yaw_wheel: YawWheel | None = None


class Controller(Table):
    """Estimator, law and allocation on one model of the controlled modules and the known objects."""

    #: which modules it controls; none named: all that have actuators
    modules: tuple[Name, ...] = ()
    #: modules without actuators whose poses it estimates
    objects: tuple[Name, ...] = ()
    estimator: EstimatorPart = part("kalman")  #: from sensor frames to state and covariance
    law: LawPart = part("computed_torque")  #: from state and reference to the demanded force
    allocation: Allocation = Field(default_factory=Allocation)  #: of the demanded wrench to thrusters and wheels
    #: solve the joint torques again for the wrench that the valves will deliver
    resolve_delivered: bool = True
    #: a load in the hand whose mass and centre are estimated in the run; none: there is none
    payload: PayloadTable | None = None

    @model_validator(mode="after")
    def _names_differ(self) -> Controller:
        refuse_twice("modules", "module", self.modules)
        refuse_twice("objects", "module", (*self.modules, *self.objects))
        return self


class JointLimit(Table):
    """Limits of angle and rate of a joint."""

    joint: Name  #: name of the joint
    lower_rad: float  #: least angle
    upper_rad: float  #: largest angle
    rate_rad_s: Positive  #: largest rate

    @model_validator(mode="after")
    def _leaves_room(self) -> JointLimit:
        if self.lower_rad >= self.upper_rad:
            raise InputError(key="lower_rad", value=self.lower_rad, expected=f"less than upper_rad = {self.upper_rad}")
        return self


class Safety(Table):
    """Limits of the guard, and the response to each fault."""

    #: x_min, y_min, x_max, y_max of the table for the origins of the floating roots
    table_m: tuple[float, float, float, float] | None = None
    base_speed_m_s: Positive | None = None  #: largest speed of a floating root; none: no limit
    base_rate_rad_s: Positive | None = None  #: largest rate of turn of a floating root; none: no limit
    joints: tuple[JointLimit, ...] = ()  #: limits of angle and rate of joints
    #: zones that the modules stay out of
    keep_out: Annotated[tuple[KeepOut, ...], Field(max_length=100)] = ()
    #: radius of solid bodies by name: of a disc of a root, of a rounded line along a link; default: their outlines
    footprint: dict[Name, Positive] = Field(default_factory=dict)
    #: modules with outlines or footprints stay out of each other, but for those that a contact joins
    keep_apart: bool = True
    #: distance from zones and other modules that paths keep; the guard brakes where half of it would be left
    clearance_m: NotNegative = 0.02
    tracking_error_m: Positive = 0.3  #: largest tracking error of a coordinate in metres
    tracking_error_rad: Positive = 0.6  #: largest tracking error of an angle
    #: age of the newest frame of a sensor, by the device's name; default: that of its kind
    age_s: dict[Name, Annotated[float, Field(gt=0, le=60)]] = Field(default_factory=dict)
    #: time limit for the first frame of every sensor
    start_up_s: Positive = 2.0
    monitor: MonitorTable = MonitorTable()  #: limits of disagreement between sensors, commands and model
    braking: BrakingTable = BrakingTable()  #: braking to rest before a stop and in a hold
    #: the response to a fault by its name, where it is another than that of the fault table
    responses: dict[Name, FaultResponse] = Field(default_factory=dict)
    #: overruns within a second that are a burst
    burst_overruns: Annotated[int, Field(ge=1)] = 20

    def answer(self, fault: str) -> FaultReaction:
        """The response to a fault."""
        return answer_to(fault, self.responses.get(fault))

    @model_validator(mode="after")
    def _responses_are_possible(self) -> Safety:
        refuse_impossible(self.responses)
        return self

    @model_validator(mode="after")
    def _table_has_an_area(self) -> Safety:
        if self.table_m is not None:
            x_min, y_min, x_max, y_max = self.table_m
            if x_min >= x_max or y_min >= y_max:
                raise InputError(
                    key="table_m",
                    value=list(self.table_m),
                    expected="x_min, y_min, x_max, y_max, each minimum below its maximum",
                )
        return self

    @model_validator(mode="after")
    def _one_zone_of_a_name(self) -> Safety:
        refuse_twice("keep_out", "zone", [zone.name for zone in self.keep_out])
        return self

    @model_validator(mode="after")
    def _one_limit_for_a_joint(self) -> Safety:
        refuse_twice("joints", "joint", [limit.joint for limit in self.joints])
        return self
