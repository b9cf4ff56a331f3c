"""Accelerations from outside, such as those of a learned policy: inverse dynamics, and nothing is fed back.

F = M a + h - d          d: the estimated disturbance
"""

from __future__ import annotations

from typing import ClassVar

import casadi as ca
import numpy as np

from granite.config.law import LawTable
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import SymbolicLaw
from granite.kernels.compilation import compile_once
from granite.kernels.function_part import named_function


class DemandedAcceleration(SymbolicLaw):
    """The law; `parameters["acceleration"]` may be set before each tick [m/s^2, rad/s^2]."""

    class Options(LawTable):
        """None."""

        gives_joint_accelerations: ClassVar[bool] = True

    def __init__(self, options: Options, model: ControlModel) -> None:
        kernels = compile_once("demanded_acceleration", model.bed.fingerprint, lambda: [_function(model)])
        super().__init__(model.bed, kernels["demanded_acceleration"], {"acceleration": np.zeros(model.n)})


def _function(model: ControlModel) -> ca.Function:
    demanded, disturbance = ca.SX.sym("a", model.n), ca.SX.sym("d", model.n)
    acceleration = model.complete(demanded, disturbance)
    force = model.inverse(acceleration) - disturbance
    inputs = {
        "state_q": model.q,
        "state_u": model.u,
        "state_disturbance": disturbance,
        "parameter_acceleration": demanded,
    }
    outputs = {
        "demand_acceleration": acceleration,
        "demand_force": force,
        "demand_wrench": model.wrenches(force),
    }
    return named_function("demanded_acceleration", inputs, outputs)
