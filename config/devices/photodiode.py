"""A photodiode in front of a lamp: a body between them darkens it, such as the flag of a pendulum."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from granite.config.base import NotNegative
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class Photodiode(Device):
    """Its signal is the light as a part of the full light, one frame at every tick."""

    role: ClassVar[Literal["sensor", "actuator"]] = "sensor"

    #: one standard deviation, as a part of the full light
    noise: NotNegative = 0.02

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """The light."""
        return (Coordinate("light", "1"),)

    def describe(self, bed: Testbed) -> list[str]:
        """Its use."""
        return ["light behind the flag of a pendulum"]
