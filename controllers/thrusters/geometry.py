"""Wrenches and limits of the thrusters of a vehicle, from their positions and directions."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from granite.config.base import spatial
from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array

Dimension = Literal["planar", "spatial"]


def thruster_matrix(thrusters: Thrusters, dimension: Dimension) -> Array:
    """The wrench on the root body per newton of each thruster: one column (d, p x d) each.

    Planar rows fx, fy, mz; spatial rows fx, fy, fz, mx, my, mz; in body axes about the body's origin. For the
    Stanford vehicle this is C_RF of the report of 1987, section 4.4, at heading zero.
    """
    position = np.array([spatial(unit.position_m) for unit in thrusters.units])
    direction = np.array([spatial(unit.direction) for unit in thrusters.units])
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    matrix = np.vstack([direction.T, np.cross(position, direction).T])
    return np.ascontiguousarray(matrix[[0, 1, 5]]) if dimension == "planar" else matrix


def available_thrust(thrusters: Thrusters) -> Array:
    """The thrust of each thruster when its valve is open [N]: nominal, or zero where it has failed."""
    return np.array([0.0 if unit.failed else unit.thrust_n for unit in thrusters.units])


def shared_supply(drop: float, opening: Array) -> float:
    """What valves that share a supply leave of the thrust: each further open one takes the part `drop` of it."""
    return math.pow(1.0 - drop, max(0.0, sum(opening.tolist()) - 1.0))


def wrench_weight(dimension: Dimension, torque_weight_1_m: float) -> Array:
    """Weight of each row of a wrench when wrenches are compared: forces 1, torques `torque_weight_1_m`."""
    forces, torques = (2, 1) if dimension == "planar" else (3, 3)
    return np.array([1.0] * forces + [torque_weight_1_m] * torques)
