"""Least internal force: min 1/2 w.w, whose part that moves the object is given (Sun 5.13 to 5.17).

It ignores the arms: where links are flexible, no wrench answers to the elastic state, and the motion is that of the
arms with their tips led by torques, which is unstable (`stability.py`).
"""

from __future__ import annotations

from typing import Any

from granite.config.distribution import Objective
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class LeastInternalForce:
    """Scheme I: the pseudo-inverse of the grasp matrix."""

    Options = Objective

    def __init__(self, options: Objective, shape: GraspShape) -> None:
        pass

    def cost(self, known: Quantities) -> Any:
        """Half the sum of the squares of all wrenches [N^2, (N m)^2]."""
        import cvxpy as cp

        return cp.sum_squares(known.wrench) / 2
