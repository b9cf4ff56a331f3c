"""Control laws, one file each: from state and reference to demanded accelerations and forces."""

KINDS = {
    "computed_torque": "computed_torque:ComputedTorque",
    "demanded_acceleration": "demanded_acceleration:DemandedAcceleration",
    "joint_pid": "joint_pid:JointPid",
    "object_impedance": "object_impedance:ObjectImpedance",
    "policy": "policy:Policy",
    "predictive": "predictive:PredictiveControl",
    "reach_and_carry": "reach_and_carry:ReachAndCarry",
    "task_computed_torque": "task_computed_torque:TaskComputedTorque",
    "task_space": "task_space:TaskSpace",
    "vibration_damping": "vibration_damping:VibrationDamping",
}
