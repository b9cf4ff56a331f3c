"""From a wrench on the root body to valves: one sharing method and one modulation, as configured."""

from __future__ import annotations

from collections.abc import Collection
from math import inf, nan
from typing import Any

import casadi as ca
import numpy as np

from granite.config.controller import Allocation
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.parts import build, is_built_in
from granite.config.records import NOTHING, Array
from granite.controllers.checked_parts import CheckedPart
from granite.controllers.thrusters.best_pattern import BestPattern
from granite.controllers.thrusters.contract import Modulation, Sharing, ThrusterSet
from granite.controllers.thrusters.geometry import Dimension, available_thrust, thruster_matrix, wrench_weight
from granite.controllers.thrusters.least_propellant import LeastPropellant
from granite.kernels.compilation import compile_once

_KEY = "controller.allocation.modulation"


class Allocator:
    """Shares a wrench among the thrusters, then modulates each valve."""

    def __init__(self, sharing: Sharing, modulation: Modulation, n: int) -> None:
        self._sharing, self._modulation, self.throttles = sharing, modulation, getattr(modulation, "throttles", False)
        self._closed, self._unknown = np.zeros(n), np.full(n, nan)
        self._closed.setflags(write=False)

    def allocate(self, t: float, wrench: Array) -> Array:
        """The opening of each valve from t to the next call; all closed where the wrench is not finite.

        NaN where the sharing fails.
        """
        if not wrench @ wrench < inf:
            return self._closed
        thrust = self._sharing.share(wrench)
        return self._modulation.modulate(t, thrust) if thrust @ thrust < inf else self._unknown


class CompiledAllocator:
    """The same in one compiled call, for sharing and modulation that have a form in symbols."""

    #: numbers for the sharing in C; none where the kernel shares
    table: Array = NOTHING

    def __init__(self, sharing: Any, modulation: Any, key: str | None, n_wrench: int) -> None:
        #: what the modulation remembers from tick to tick
        self.memory: Array = modulation.memory.copy()
        self._n, self.throttles = len(self.memory), getattr(modulation, "throttles", False)

        def write() -> list[ca.Function]:
            memory, t, wrench = ca.SX.sym("memory", self._n), ca.SX.sym("t"), ca.SX.sym("wrench", n_wrench)
            after, opening = modulation.expression(memory, t, sharing.expression(wrench))
            finite = ca.sumsqr(wrench) < inf
            results = [ca.if_else(finite, after, memory), ca.if_else(finite, opening, 0.0)]
            return [ca.Function("allocation", [memory, t, wrench], results)]

        self.kernel = compile_once("allocation", key, write)["allocation"]
        self._run = self.kernel.run

    def allocate(self, t: float, wrench: Array) -> Array:
        """The opening of each valve from t to the next call; all closed where the wrench is not finite."""
        results = self._run((self.memory, np.array([t]), wrench))
        self.memory[:] = results[: self._n]
        return results[self._n :]


class TableAllocator:
    """The same for a sharing method in C, which reads a table, and a modulation in symbols."""

    def __init__(self, sharing: LeastPropellant | BestPattern, modulation: Any, key: str | None, n: int) -> None:
        self.memory: Array = modulation.memory.copy()
        self.sharing, self.table = sharing, sharing.table
        self._share, self._n, self.throttles = sharing.share, len(self.memory), getattr(modulation, "throttles", False)
        self._closed = np.zeros(n)
        self._closed.setflags(write=False)

        def write() -> list[ca.Function]:
            memory, t, thrust = ca.SX.sym("memory", self._n), ca.SX.sym("t"), ca.SX.sym("thrust", n)
            after, opening = modulation.expression(memory, t, thrust)
            finite = ca.sumsqr(thrust) < inf
            results = [ca.if_else(finite, after, memory), ca.if_else(finite, opening, nan)]
            return [ca.Function("modulation", [memory, t, thrust], results)]

        self.kernel = compile_once("modulation", key, write)["modulation"]
        self._run = self.kernel.run

    def allocate(self, t: float, wrench: Array) -> Array:
        """The opening of each valve; all closed where the wrench is not finite, NaN where the sharing fails."""
        if not wrench @ wrench < inf:
            return self._closed
        results = self._run((self.memory, np.array([t]), self._share(wrench)))
        self.memory[:] = results[: self._n]
        return results[self._n :]


#: allocators with a compiled form
WITH_COMPILED_FORM = (CompiledAllocator, TableAllocator)
AnyAllocator = Allocator | CompiledAllocator | TableAllocator


def build_allocator(device: Thrusters, allocation: Allocation, dimension: Dimension, period_s: float) -> AnyAllocator:
    """The configured allocator, called every `period_s`."""
    thrusters = ThrusterSet(
        thruster_matrix(device, dimension),
        available_thrust(device),
        wrench_weight(dimension, allocation.torque_weight_1_m),
        device.valve,
        period_s,
        device.shared_drop,
    )
    sharing, modulation = _parts(allocation, thrusters, len(device.units))
    _refuse_misfits(allocation, sharing, modulation, device)
    if hasattr(modulation, "expression"):
        tables = device.model_dump_json(), allocation.model_dump_json()
        known = all(is_built_in(part.kind) for part in (device, allocation.sharing, allocation.modulation))
        key = repr((*tables, dimension, period_s)) if known else None
        if _has_expression(sharing, thrusters):
            return CompiledAllocator(sharing, modulation, key, len(thrusters.weight))
        if isinstance(sharing, LeastPropellant | BestPattern):
            return TableAllocator(sharing, modulation, key, len(device.units))
    return Allocator(sharing, modulation, len(device.units))


def build_degraded(
    device: Thrusters, allocation: Allocation, dimension: Dimension, period_s: float, lost: Collection[int]
) -> Allocator:
    """The configured allocator without some thrusters. Nothing is compiled: it may be built in the loop."""
    available = available_thrust(device)
    available[list(lost)] = 0.0
    weight = wrench_weight(dimension, allocation.torque_weight_1_m)
    matrix = thruster_matrix(device, dimension)
    thrusters = ThrusterSet(matrix, available, weight, device.valve, period_s, device.shared_drop)
    sharing, modulation = _parts(allocation, thrusters, len(device.units))
    return Allocator(sharing, modulation, len(device.units))


def _parts(allocation: Allocation, thrusters: ThrusterSet, n: int) -> tuple[Sharing, Modulation]:
    """Sharing and modulation; those of a user are checked."""
    sharing: Sharing = build("sharing", allocation.sharing, thrusters)
    modulation: Modulation = build("modulation", allocation.modulation, thrusters)
    if not is_built_in(allocation.sharing.kind):
        sharing = CheckedPart(sharing, "share", allocation.sharing.kind, None, {"": n})  # type: ignore[assignment]
    if not is_built_in(allocation.modulation.kind):
        modulation = CheckedPart(modulation, "modulate", allocation.modulation.kind, None, {"": n})  # type: ignore[assignment]
    return sharing, modulation


def _refuse_misfits(allocation: Allocation, sharing: Sharing, modulation: Modulation, device: Thrusters) -> None:
    kind = allocation.modulation.kind
    if getattr(sharing, "is_on_off", False) and getattr(modulation, "makes_pulses", False):
        why = f"{allocation.sharing.kind} gives open and closed valves already"
        raise InputError(why, key=_KEY, value=kind, expected="'threshold'")
    if getattr(modulation, "throttles", False) and not device.simulated.ideal:
        expected = "on/off modulation, because only thrusters with simulated.ideal = true can be throttled"
        raise InputError(key=_KEY, value=kind, expected=expected)


def _has_expression(sharing: Sharing, thrusters: ThrusterSet) -> bool:
    """Whether the sharing has a form in symbols; it may have none for thrusters that need a search."""
    expression: Any = getattr(sharing, "expression", None)
    return expression is not None and expression(ca.SX.sym("wrench", len(thrusters.weight))) is not None
