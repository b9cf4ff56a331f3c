"""The controller's part of a testbed: estimation, gains, thruster allocation, and the limits of the guard."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from granite.config.base import Name, NotNegative, Positive, Table, refuse_twice


class Gain(Table):
    """Feedback of the acceleration demand: a = a_ref + damping (u_ref - u) + stiffness (q_ref - q)."""

    stiffness_1_s2: NotNegative
    damping_1_s: NotNegative


class Estimation(Table):
    """Process noise: how wrong the model's acceleration may be (spectral density, one sigma)."""

    translation_m_s2_per_rthz: Positive
    rotation_rad_s2_per_rthz: Positive
    joint_rad_s2_per_rthz: Positive


class Allocation(Table):
    """From a demanded wrench on the root body to valves."""

    #: how the wrench is shared among the thrusters
    method: Literal["pseudo_inverse", "least_propellant", "best_pattern"]
    #: how a wanted thrust becomes an on/off valve; `proportional` is for ideal, throttled thrusters only
    modulation: Literal["threshold", "pulse_width", "delta_sigma", "proportional"]
    #: of the nominal thrust (Table 4.2's R_th / R)
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    pulse_period_s: Positive = 0.1
    #: what one newton metre counts in newtons when patterns are compared
    torque_weight_1_m: Positive = 8.0
    #: what one newton of thrust costs when patterns are compared
    propellant_weight: NotNegative = 0.0


class Controller(Table):
    """Computed torque on the model, thruster allocation behind it."""

    estimation: Estimation
    #: by coordinate name, or `base` and `joints` for all of a kind
    gains: dict[str, Gain]
    allocation: Allocation | None = None
    #: solve the joint torques again for the wrench the valves will really deliver
    resolve_delivered: bool = True


class JointLimit(Table):
    """Where and how fast a joint may go."""

    joint: Name
    lower_rad: float
    upper_rad: float
    rate_rad_s: Positive

    @model_validator(mode="after")
    def _leaves_room(self) -> JointLimit:
        if self.lower_rad >= self.upper_rad:
            raise ValueError(f"lower_rad = {self.lower_rad}: expected less than upper_rad = {self.upper_rad}")
        return self


class Safety(Table):
    """Limits of the guard: beyond one of them the run ends with valves closed and motors at zero.

    Errors of tracking and ages of measurements have limits wherever there is a controller.
    """

    #: x_min, y_min, x_max, y_max of the table for the root's origin
    table_m: tuple[float, float, float, float] | None = None
    base_speed_m_s: Positive | None = None
    base_rate_rad_s: Positive | None = None
    joints: tuple[JointLimit, ...] = ()
    tracking_error_m: Positive | None = None
    tracking_error_rad: Positive | None = None
    joint_sensor_age_s: Positive | None = None
    vision_age_s: Positive | None = None
    #: how long the sensors may take to report for the first time
    start_up_s: Positive = 2.0

    @model_validator(mode="after")
    def _table_has_an_area(self) -> Safety:
        if self.table_m is not None:
            x_min, y_min, x_max, y_max = self.table_m
            if x_min >= x_max or y_min >= y_max:
                raise ValueError(
                    f"table_m = {list(self.table_m)}: expected x_min, y_min, x_max, y_max, "
                    "each minimum below its maximum"
                )
        return self

    @model_validator(mode="after")
    def _one_limit_for_a_joint(self) -> Safety:
        refuse_twice("joints", "joint", [limit.joint for limit in self.joints])
        return self
