"""Little thrust: bases of vehicles take wrench in proportion to their reach, min 1/2 sum (w_b / reach)^2.

Internal forces between vehicles cost propellant without end; those between two hands of one vehicle cost none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from granite.config.distribution import Objective
from granite.config.errors import InputError
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities
from granite.controllers.thrusters.reach import Reach


class BaseLoadSharing:
    """Weights are the reach along each axis of a base."""

    Options = Objective

    def __init__(self, options: Objective, shape: GraspShape) -> None:
        if not shape.bases:
            raise InputError("no arm is on a base with thrusters", expected="a vehicle among the arms")
        self._weights = [
            np.array([1 / Reach(base.normals, base.bounds).factor(axis) for axis in np.eye(3)]) for base in shape.bases
        ]

    def cost(self, known: Quantities) -> Any:
        """Half the sum of squares of the parts of the reach."""
        import cvxpy as cp

        parts = [cp.multiply(weight, known.base_wrench(i)) for i, weight in enumerate(self._weights)]
        return cp.sum_squares(cp.hstack(parts)) / 2
