"""Force distribution from Python: share a wrench between two grips, and check the stability of flexible arms."""

import numpy as np

import granite
from granite.controllers.distribution.flexible_arm import FlexibleArm
from granite.controllers.distribution.stability import Stability, distributed

# Two pins on one object: the least torques that squeeze it with 2.5 N, within torque limits and friction cones.
table = granite.ForceDistributionTable.model_validate(
    {
        "objective": [
            "torque_norm",
            {"kind": "internal_force_set_point", "weight": 10.0, "first": "left", "second": "right", "squeeze_n": 2.5},
        ],
        "limit": ["torque", {"kind": "friction_cone", "coefficient": 0.6}],
    }
)
pins = (granite.Grip("left", n_force=2, n_moment=0), granite.Grip("right", n_force=2, n_moment=0))
shape = granite.GraspShape(
    pins, joints=("l1", "l2", "r1", "r2"), torque_limit=np.full(4, 2.0), stiffness=np.zeros((0, 0)), period_s=0.005
)
distribution = granite.ForceDistribution(table, shape)  # reduced and compiled here, once
grasp = granite.Grasp.rigid(
    matrix=np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, -0.1, 0, 0.1]]),
    load=np.array([0.2, 0.0, 0.0]),
    free_torque=np.zeros(4),
    torque_map=0.3 * np.eye(4),
    positions=np.array([[-0.1, 0.0], [0.1, 0.0]]),
    axes=np.array([np.eye(2), -np.eye(2)]),
)
answer = distribution.solve(grasp)  # in every tick
print(f"{granite.DistributionOutcome(answer.outcome).name}: squeeze {(answer.wrench[0] - answer.wrench[2]) / 2:.2f} N")
print("solved to 1e-8:", max(answer.primal_residual, answer.dual_residual, answer.gap) < 1e-8)

# A flexible arm (three joints, one elastic coordinate) beside a rigid one: does the elastic motion diverge?
M = np.array([[0.30, 0, 0, 0.11], [0, 0.20, 0, 0.07], [0, 0, 0.10, 0.02], [0.11, 0.07, 0.02, 0.09]])
J = np.array([[-0.4, 0.3, 0.1, 1.0], [0.5, 0.4, 0.1, 0.2], [1.0, 1.0, 1.0, 1.5]])
flexible = FlexibleArm.of(M, J, K=np.array([[40.0]]))
rigid = FlexibleArm.of(M[:3, :3], J[:, :3], K=np.zeros((0, 0)))
grasps = (granite.Grip("left", n_force=2, n_moment=1), granite.Grip("right", n_force=2, n_moment=1))
shape = granite.GraspShape(
    grasps, joints=tuple("abcdef"), torque_limit=np.full(6, 9.0), stiffness=np.array([[40.0]]), period_s=0.005
)
matrix = np.array([[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, -0.4, 1, 0, 0.4, 1]])
table = granite.ForceDistributionTable.model_validate({"objective": ["least_internal_force"], "tie_break": 1e-12})
plant = distributed(granite.ForceDistribution(table, shape), [flexible, rigid], matrix)
print(f"{Stability.of(plant).verdict}: grows by {Stability.of(plant).largest:.1e} 1/s")
