"""A bar that two arms in the plane hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite.controllers.distribution.grasp import Grasp, GraspShape, Grip
from tests.support.random_grasps import grasp_matrix

POSITIONS = np.array([[-0.5, 0.0], [0.5, 0.0]])


#: the first axis of each grip points into the object
AXES = np.array([np.eye(2), -np.eye(2)])


PLANAR = GraspShape(
    (Grip("left", 2, 1), Grip("right", 2, 1)), ("a", "b", "c", "d", "e", "f"), np.full(6, 5.0), np.zeros((0, 0)), 0.005
)  # fmt: skip


def bar(load: tuple[float, ...] = (1.0, 2.0, 0.5), seed: int = 1, **others: Any) -> Grasp:
    """A bar between two grips, and arms whose torques are a random map of the wrenches."""
    rng = np.random.default_rng(seed)
    grasp = Grasp.rigid(
        grasp_matrix(PLANAR, POSITIONS), np.array(load), 0.1 * rng.normal(size=6), rng.normal(size=(6, 6)),
        positions=POSITIONS, axes=AXES,
    )  # fmt: skip
    return grasp._replace(**others)
