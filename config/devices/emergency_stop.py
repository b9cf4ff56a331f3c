"""An emergency stop button that a sensor reads: while it is pressed, no run continues."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from granite.config.base import NotNegative, Table
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class PressedButton(Table):
    """When somebody presses the simulated one; it stays pressed."""

    pressed_at_s: NotNegative | None = None  #: time at which it is pressed; none: never


class EmergencyStop(Device):
    """A latching button; its signal is 1 while it is pressed."""

    role: ClassVar[Literal["sensor", "actuator"]] = "sensor"

    simulated: PressedButton = PressedButton()  #: behaviour of the simulated button

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """Whether it is pressed."""
        return (Coordinate("pressed", "1"),)

    def describe(self, bed: Testbed) -> list[str]:
        """What it does."""
        return ["ends the run at once while it is pressed"]
