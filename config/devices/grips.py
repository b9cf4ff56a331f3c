"""Grips: they close and open the contacts that a behaviour names."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class Grips(Device):
    """One for each contact that the behaviour switches: 1 closes it, 0 opens it. At rest they stay as they are."""

    role: ClassVar[Literal["sensor", "actuator"]] = "actuator"
    binary: ClassVar[bool] = True
    holds_at_rest: ClassVar[bool] = True

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """The state of each."""
        return tuple(Coordinate(f"{name}_grip", "1") for name in bed.grips)

    def modules(self, bed: Testbed) -> tuple[str, ...]:
        """Those of the hands that hold."""
        hands = (contact.first for contact in bed.contacts if contact.name in bed.grips)
        return tuple(dict.fromkeys(hand.module for hand in hands if not hand.grounded))

    def initial(self, bed: Testbed) -> tuple[float, ...]:
        """Those of the first contact set are closed."""
        return tuple(float(name in bed.contact_sets[0]) for name in bed.grips)

    def bounds(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """Open or closed."""
        return ((0.0, 1.0),) * len(bed.grips)

    def describe(self, bed: Testbed) -> list[str]:
        """The contacts they close and open."""
        return [", ".join(bed.grips)]
