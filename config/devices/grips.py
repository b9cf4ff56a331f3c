"""Grips: they close and open the contacts that a behaviour names."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from granite.config.base import NotNegative, Positive
from granite.config.contacts import Compliance
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.errors import InputError

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class GripCompliance(Compliance):
    """Springs and dampers between the two sides of a closed grip, and friction along the rotations it leaves free."""

    stiffness_n_m: Positive  #: spring along held translations
    #: largest force, beyond which the held part slips; none: unlimited
    holding_n: Positive | None = None
    #: against free rotations; it fades out below the rate
    friction_n_m: NotNegative = 0.0
    friction_rate_rad_s: Positive = 0.01  #: rate below which the friction fades out


class Grips(Device):
    """One for each contact that the behaviour switches: 1 closes it, 0 opens it. At rest they stay as they are."""

    role: ClassVar[Literal["sensor", "actuator"]] = "actuator"
    binary: ClassVar[bool] = True
    holds_at_rest: ClassVar[bool] = True

    #: how simulated ones hold; none: a grip within reach is rigid at once
    simulated: GripCompliance | None = None

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

    def check(self, bed: Testbed) -> None:
        """Springs are not driven, and have no springs of their own."""
        for contact in bed.contacts if self.simulated is not None else ():
            if contact.motion.profiles or contact.force.profiles or contact.compliance:
                state = "has a compliance" if contact.compliance else "is driven"
                problem = f"contact '{contact.name}' {state}"
                raise InputError(problem, key="simulated", expected=f"none where a contact {state}")

    def describe(self, bed: Testbed) -> list[str]:
        """The contacts they close and open."""
        return [", ".join(bed.grips)]
