"""From a wrench on the root body to valves: one sharing method and one modulation, as configured."""

from __future__ import annotations

from math import inf

import casadi as ca
import numpy as np

from granite.config.controller import Allocation
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.parts import build
from granite.config.records import Array
from granite.controllers.thrusters.contract import Modulation, Sharing, ThrusterSet
from granite.controllers.thrusters.geometry import Dimension, available_thrust, thruster_matrix, wrench_weight
from granite.mrds.compilation import compile_functions

_KEY = "controller.allocation.modulation"


class Allocator:
    """Shares a wrench among the thrusters, then modulates each valve."""

    def __init__(self, sharing: Sharing, modulation: Modulation, n: int) -> None:
        self._sharing, self._modulation, self.throttles = sharing, modulation, getattr(modulation, "throttles", False)
        self._closed = np.zeros(n)
        self._closed.setflags(write=False)

    def allocate(self, t: float, wrench: Array) -> Array:
        """The opening of each valve from t to the next call; all closed where the wrench is not finite."""
        if not wrench @ wrench < inf:
            return self._closed
        return self._modulation.modulate(t, self._sharing.share(wrench))


class CompiledAllocator:
    """The same in one compiled call, for sharing and modulation that are expressions without memory."""

    def __init__(self, wrench: ca.SX, opening: ca.SX, throttles: bool) -> None:
        within = ca.if_else(ca.sumsqr(wrench) < inf, opening, 0.0)
        function = ca.Function("allocation", [wrench], [within])
        self._run = compile_functions("allocation", [function])["allocation"].run
        self.throttles = throttles

    def allocate(self, t: float, wrench: Array) -> Array:
        """The opening of each valve from t to the next call; all closed where the wrench is not finite."""
        return self._run((wrench,))


def build_allocator(
    device: Thrusters, allocation: Allocation, dimension: Dimension, period_s: float
) -> Allocator | CompiledAllocator:
    """The configured allocator, called every `period_s`."""
    thrusters = ThrusterSet(
        thruster_matrix(device, dimension),
        available_thrust(device),
        wrench_weight(dimension, allocation.torque_weight_1_m),
        device.valve,
        period_s,
    )
    sharing: Sharing = build("sharing", allocation.sharing, thrusters)
    modulation: Modulation = build("modulation", allocation.modulation, thrusters)
    _refuse_misfits(allocation, sharing, modulation, device)
    opening = _expression(sharing, modulation, wrench := ca.SX.sym("wrench", len(thrusters.weight)))
    if opening is not None:
        return CompiledAllocator(wrench, opening, getattr(modulation, "throttles", False))
    return Allocator(sharing, modulation, len(device.units))


def _refuse_misfits(allocation: Allocation, sharing: Sharing, modulation: Modulation, device: Thrusters) -> None:
    kind = allocation.modulation.kind
    if getattr(sharing, "is_on_off", False) and getattr(modulation, "makes_pulses", False):
        why = f"{allocation.sharing.kind} gives open and closed valves already"
        raise InputError(why, key=_KEY, value=kind, expected="'threshold'")
    if getattr(modulation, "throttles", False) and not device.simulated.ideal:
        expected = "on/off modulation, because only thrusters with simulated.ideal = true can be throttled"
        raise InputError(key=_KEY, value=kind, expected=expected)


def _expression(sharing: Sharing, modulation: Modulation, wrench: ca.SX) -> ca.SX | None:
    """The openings in symbols; none where the sharing or the modulation has no such form."""
    share, modulate = getattr(sharing, "expression", None), getattr(modulation, "expression", None)
    if share is None or modulate is None:
        return None
    thrust = share(wrench)
    return None if thrust is None else modulate(thrust)
