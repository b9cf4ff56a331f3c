"""From a wrench on the root body to valves: one way of sharing and one way of modulating, as configured."""

from __future__ import annotations

from math import inf

import casadi as ca
import numpy as np

from granite.config.controller import Allocation
from granite.config.devices import Thrusters
from granite.config.errors import InputError
from granite.config.records import Array
from granite.controllers.thrusters.best_pattern import BestPattern
from granite.controllers.thrusters.contract import Modulation, Sharing
from granite.controllers.thrusters.delta_sigma import DeltaSigma
from granite.controllers.thrusters.geometry import Dimension, available_thrust, thruster_matrix, wrench_weight
from granite.controllers.thrusters.least_propellant import LeastPropellant
from granite.controllers.thrusters.proportional import Proportional
from granite.controllers.thrusters.pseudo_inverse import PseudoInverse
from granite.controllers.thrusters.pulse_width import PulseWidth
from granite.controllers.thrusters.threshold import Threshold
from granite.mrds.compilation import compile_functions


class Allocator:
    """Shares a wrench among the thrusters, then modulates each valve."""

    def __init__(self, sharing: Sharing, modulation: Modulation, n: int) -> None:
        self._sharing, self._modulation = sharing, modulation
        self._closed = np.zeros(n)
        self._closed.setflags(write=False)

    def allocate(self, t: float, wrench: Array) -> Array:
        """The opening of each valve from t to the next call; all closed where the wrench is not finite."""
        if not wrench @ wrench < inf:
            return self._closed
        return self._modulation.modulate(t, self._sharing.share(wrench))


class CompiledAllocator:
    """The same in one compiled call, for sharing and modulation that are expressions without memory."""

    def __init__(self, wrench: ca.SX, opening: ca.SX) -> None:
        within = ca.if_else(ca.sumsqr(wrench) < inf, opening, 0.0)
        function = ca.Function("allocation", [wrench], [within])
        self._run = compile_functions("allocation", [function])["allocation"].run

    def allocate(self, t: float, wrench: Array) -> Array:
        """The opening of each valve from t to the next call; all closed where the wrench is not finite."""
        return self._run((wrench,))


def build_allocator(
    thrusters: Thrusters, allocation: Allocation, dimension: Dimension, period_s: float
) -> Allocator | CompiledAllocator:
    """The allocator that the configuration asks for, called every `period_s`."""
    sharing = _sharing(thrusters, allocation, dimension)
    modulation = _modulation(thrusters, allocation, period_s)
    if isinstance(sharing, PseudoInverse) and isinstance(modulation, Threshold):
        wrench = ca.SX.sym("wrench", len(wrench_weight(dimension, 1.0)))
        thrust = sharing.expression(wrench)
        if thrust is not None:
            return CompiledAllocator(wrench, modulation.expression(thrust))
    return Allocator(sharing, modulation, len(thrusters.units))


def _sharing(thrusters: Thrusters, allocation: Allocation, dimension: Dimension) -> Sharing:
    matrix = thruster_matrix(thrusters, dimension)
    available = available_thrust(thrusters)
    weight = wrench_weight(dimension, allocation.torque_weight_1_m)
    match allocation.method:
        case "pseudo_inverse":
            return PseudoInverse(matrix, available, weight)
        case "least_propellant":
            return LeastPropellant(matrix, available, weight)
        case "best_pattern":
            return BestPattern(matrix, available, weight, allocation.propellant_weight)


def _modulation(thrusters: Thrusters, allocation: Allocation, period_s: float) -> Modulation:
    available = available_thrust(thrusters)
    minimum_on_s = thrusters.valve.minimum_on_s
    if allocation.method == "best_pattern" and allocation.modulation in ("pulse_width", "delta_sigma"):
        raise InputError(
            f"controller.allocation.modulation = '{allocation.modulation}': best_pattern gives open and "
            "closed valves already, expected 'threshold'"
        )
    match allocation.modulation:
        case "threshold":
            return Threshold(available, allocation.threshold)
        case "pulse_width":
            least = max(minimum_on_s, period_s)
            if allocation.pulse_period_s < least:
                raise InputError(
                    f"controller.allocation.pulse_period_s = {allocation.pulse_period_s}: expected at least "
                    f"{least}, the longer of devices.thrusters.valve.minimum_on_s and loop.period_s"
                )
            return PulseWidth(available, allocation.pulse_period_s, minimum_on_s, period_s)
        case "delta_sigma":
            return DeltaSigma(available, minimum_on_s, period_s)
        case "proportional":
            return Proportional(available)
