"""Objectives of the force distribution, one file each: costs in CVXPY, convex and quadratic in the wrenches."""

KINDS = {
    "least_internal_force": "least_internal_force:LeastInternalForce",
    "task_load_sharing": "task_load_sharing:TaskLoadSharing",
    "joint_load_sharing": "joint_load_sharing:JointLoadSharing",
    "torque_norm": "torque_norm:TorqueNorm",
    "least_elastic_acceleration": "least_elastic_acceleration:LeastElasticAcceleration",
    "least_strain_energy": "least_strain_energy:LeastStrainEnergy",
    "led_from_outside": "led_from_outside:LedFromOutside",
    "base_load_sharing": "base_load_sharing:BaseLoadSharing",
    "internal_force_set_point": "internal_force_set_point:InternalForceSetPoint",
}
