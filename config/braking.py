"""How a robot brakes to rest and floats: the limits of the supervisor's own motions."""

from __future__ import annotations

from granite.config.base import NotNegative, Positive, Table


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
