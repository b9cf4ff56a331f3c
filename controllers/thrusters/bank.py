"""The thrusters of one device as the controller commands them: from wrench to valves, and the expected delivery.

Thrusters whose fault was found get no work: the allocators without any one of them exist from the start, others are
built when they are needed.
"""

from __future__ import annotations

from math import inf

import numpy as np

from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.allocator import Allocator, AnyAllocator, build_allocator, build_degraded
from granite.controllers.thrusters.delivery import build_delivery
from granite.controllers.thrusters.geometry import shared_supply


class ThrusterBank:
    """Allocators and expected response of one device's valves; `first` is its index among all thrusters."""

    def __init__(self, device: Thrusters, model: ControlModel, first: int) -> None:
        module, allocation, period = device.pushed(model.bed), model.bed.control.allocation, model.bed.loop.period_s
        #: its part of the wrenches on all floating roots
        self.wrench: slice
        self.wrench, self._period = model.wrench_slice(module), period
        self._is_alone = len(model.floating) == 1
        self._own = slice(first, first + len(device.units))
        self._degraded = device, allocation, module.dimension, period
        self.allocator: AnyAllocator = build_allocator(*self._degraded)
        self._without: dict[tuple[int, ...], Allocator] = {}
        for i in range(len(device.units)):
            self._without[i,] = build_degraded(*self._degraded, (i,))
        self.delivery = build_delivery(device, self.allocator.throttles, period)
        self.shared_drop = device.shared_drop
        self._faults = bytes(8 * len(device.units))
        #: set point of the tick
        self.opening: Array

    def open(self, t: float, wrenches: Array, faults: Array, supply: float = 1.0) -> Array:
        """Command the valves for the wrench on their module; returns their mean opening until the next tick, in parts
        of the thrust of the data sheet, of which `supply` is there."""
        own_faults = faults[self._own].tobytes()
        if own_faults and own_faults != self._faults:
            self._faults = own_faults
            self._leave_out(tuple(np.flatnonzero(faults[self._own]).tolist()))
        wrench = wrenches if self._is_alone else wrenches[self.wrench]
        if supply < 1.0:
            wrench = wrench / supply
        opening = self.allocator.allocate(t, wrench)
        if not opening @ opening < inf:  # a failure goes on as such: the valves would take it for closed
            self.opening = opening
            return opening
        self.opening = self.delivery.command(t, opening)
        mean = self.delivery.mean_opening(t, t + self._period)
        if self.shared_drop:
            mean = mean * shared_supply(self.shared_drop, mean)
        return mean * supply if supply < 1.0 else mean

    def _leave_out(self, lost: tuple[int, ...]) -> None:
        if lost not in self._without:
            self._without[lost] = build_degraded(*self._degraded, lost)
        self.allocator = self._without[lost]
