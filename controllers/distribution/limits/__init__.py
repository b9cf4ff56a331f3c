"""Limits of the force distribution, one file each: linear constraints on the wrenches in CVXPY.

A limit with `hard = True` holds in every answer; the others are broken as little as possible where all together cannot
be kept.
"""

KINDS = {
    "torque": "torque:TorqueLimit",
    "torque_rate": "torque_rate:TorqueRateLimit",
    "thrusters": "thrusters:ThrusterLimit",
    "friction_cone": "friction_cone:FrictionCone",
    "one_sided": "one_sided:OneSided",
    "gripper_force": "gripper_force:GripperForce",
    "object_stress": "object_stress:ObjectStress",
}
