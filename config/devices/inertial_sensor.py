"""Base class of inertial sensors on the root body of a floating planar module."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from granite.config.base import Name
from granite.config.devices.device import Device
from granite.config.errors import InputError
from granite.config.modules import Module

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class InertialSensor(Device):
    """It moves with the root body."""

    role: ClassVar[Literal["sensor", "actuator"]] = "sensor"
    usual_age_s: ClassVar[float] = 0.1

    #: may be left out where one module floats
    module: Name | None = None

    def mounted(self, bed: Testbed) -> Module:
        """The module whose root body it is mounted on."""
        return bed.floating_module(self.module)

    def modules(self, bed: Testbed) -> tuple[str, ...]:
        """The one that it moves with."""
        return (self.mounted(bed).name,)

    def check(self, bed: Testbed) -> None:
        """It is mounted on a floating planar module."""
        module = self.mounted(bed)
        if module.dimension != "planar":
            problem = f"it moves with a {module.dimension} module"
            raise InputError(problem, key="module", value=module.name, expected="a planar one")

    def _root(self, bed: Testbed) -> str:
        module = self.mounted(bed)
        return bed.layout.name(module, module.root.name)
