"""Weighted torque norm: min 1/2 sum_j W_j tau_j^2 (Sun 5.19 to 5.22).

Weights near zero on one arm shift the load to it: with the torques of a flexible arm alone in the sum, that arm is led
by its tip (Sun 5.24), which is stable for one flexible arm beside a rigid one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from granite.config.base import NotNegative
from granite.config.distribution import Objective
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class TorqueNorm:
    """Scheme T."""

    class Options(Objective):
        """Weights by joint."""

        #: W [1/(N m)^2] by joint; one left out has 1
        joint_weight: dict[str, NotNegative] = Field(default_factory=dict)

    def __init__(self, options: Options, shape: GraspShape) -> None:
        self._weight = np.ones(len(shape.joints))
        for name, weight in options.joint_weight.items():
            self._weight[shape.joint_index(name, f"joint_weight.{name}")] = weight

    def cost(self, known: Quantities) -> Any:
        """Half the weighted sum of squares of the torques [(N m)^2]."""
        import cvxpy as cp

        return cp.sum_squares(cp.multiply(np.sqrt(self._weight), known.torque)) / 2
