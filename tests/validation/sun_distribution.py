"""The planar test bed of Sun 1996 for force distribution: arms, grasp and distributions of chapters 5 and 6."""

from __future__ import annotations

from functools import cache

import numpy as np

from granite.config.distribution import ForceDistributionTable
from granite.config.records import Array
from granite.controllers.distribution.flexible_arm import FlexibleArm
from granite.controllers.distribution.force_distribution import ForceDistribution
from granite.controllers.distribution.grasp import GraspShape, Grip
from tests.validation.sun_testbed import BASES, LEFT, REACH, RIGHT, arm, reduced

#: Table 5.1: base, elbow, wrist [N m]
LIMITS = np.array([150.0, 40.0, 9.8] * 2)
JOINTS = tuple(f"{side}_{joint}" for side in ("left", "right") for joint in ("base", "elbow", "wrist"))
#: torques of the left arm alone (5.24)
LEFT_ALONE = {f"right_{joint}": 1e-10 for joint in ("base", "elbow", "wrist")}


@cache
def flexible_arm(links: str, side: str) -> FlexibleArm:
    """An arm in the initial configuration; letters from its base outward."""
    angles, base = (LEFT, BASES[0]) if side == "left" else (RIGHT, BASES[1])
    matrices = reduced(arm(links, angles, base, side))
    return FlexibleArm.of(matrices.M, matrices.J, matrices.K[matrices.n_r :, matrices.n_r :])


def arms(left: str, right: str) -> list[FlexibleArm]:
    return [flexible_arm(left, "left"), flexible_arm(right, "right")]


def grasp_matrix(angle: float = np.pi / 4, reach: float = REACH) -> Array:
    """(4.59), with the hands at this distance from the centre of the bar."""
    x, y = reach * np.cos(angle), reach * np.sin(angle)
    return np.array([[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [y, -x, 1, -y, x, 1.0]])


def positions(angle: float = np.pi / 4, reach: float = REACH) -> Array:
    c = reach * np.array([np.cos(angle), np.sin(angle)])
    return np.array([-c, c])


def shape(K: Array, limits: Array = LIMITS) -> GraspShape:
    return GraspShape((Grip("left", 2, 1), Grip("right", 2, 1)), JOINTS, limits, K, 1e-3)


def distribution(
    both: list[FlexibleArm], objective: list[object], limit: tuple[object, ...] = (), tie_break: float = 1e-12
) -> ForceDistribution:
    from scipy.linalg import block_diag

    table = {"objective": objective, "limit": limit, "tie_break": tie_break}
    K = block_diag(*(one.K for one in both))
    return ForceDistribution(ForceDistributionTable.model_validate(table), shape(K))
