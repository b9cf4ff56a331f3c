"""The thrusters of one device as the controller commands them: from wrench to valves, and the expected delivery."""

from __future__ import annotations

from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.allocator import build_allocator
from granite.controllers.thrusters.delivery import build_delivery


class ThrusterBank:
    """Allocator and expected response of one device's valves."""

    def __init__(self, device: Thrusters, model: ControlModel) -> None:
        module, allocation, period = device.pushed(model.bed), model.bed.control.allocation, model.bed.loop.period_s
        #: its part of the wrenches on all floating roots
        self.wrench: slice
        self.wrench, self._period = model.wrench_slice(module), period
        self._is_alone = len(model.floating) == 1
        self.allocator = build_allocator(device, allocation, module.dimension, period)
        self.delivery = build_delivery(device, self.allocator.throttles, period)
        #: set point of the tick
        self.opening: Array

    def open(self, t: float, wrenches: Array) -> Array:
        """Command the valves for the wrench on their module; returns their mean opening until the next tick."""
        wrench = wrenches if self._is_alone else wrenches[self.wrench]
        self.opening = self.delivery.command(t, self.allocator.allocate(t, wrench))
        return self.delivery.mean_opening(t, t + self._period)
