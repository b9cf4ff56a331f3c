"""Least elastic acceleration: min 1/2 |q_e''|^2 (Sun 5.25 to 5.27).

It holds a part of q_e'' at zero, so that deflections drift: bounded for a short time only.
"""

from __future__ import annotations

from typing import Any

from granite.config.distribution import Objective
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class LeastElasticAcceleration:
    """Scheme E."""

    Options = Objective

    def __init__(self, options: Objective, shape: GraspShape) -> None:
        pass

    def cost(self, known: Quantities) -> Any:
        """Half the sum of squares of the elastic accelerations."""
        import cvxpy as cp

        return cp.sum_squares(known.elastic_acceleration) / 2
