"""Load sharing in joint space: joints take torque in proportion to their limits, min 1/2 sum tau^2/limit (Sun 5.23)."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite.config.distribution import Objective
from granite.config.errors import InputError
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class JointLoadSharing:
    """Scheme T with the weights W_T = 1/limit."""

    Options = Objective

    def __init__(self, options: Objective, shape: GraspShape) -> None:
        if not np.isfinite(shape.torque_limit).all():
            joint = shape.joints[int(np.argmax(~np.isfinite(shape.torque_limit)))]
            raise InputError(f"joint '{joint}' has no torque limit to share by", expected="a limit for every joint")

    def cost(self, known: Quantities) -> Any:
        """Half the sum of torque^2 over limit [N m]."""
        import cvxpy as cp

        return cp.sum_squares(cp.multiply(known.torque_limit**-0.5, known.torque)) / 2
