"""What every kind of device says of itself: its table is its data sheet, and it names its signals."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from granite.config.coordinates import Coordinate
from granite.config.parts import DriverPart, PartTable

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class Device(PartTable):
    """The data sheet of a device: what a controller may know of it.

    A kind is a subclass. A user's own kind may bring its simulation along: a method `simulate(plant, rng)` that gives
    a driver, as the classes of `granite.sim` do for the kinds that come with Granite.
    """

    role: ClassVar[Literal["sensor", "actuator"]]
    #: sensors: the age of a frame beyond which it is stale, where the testbed says nothing of it [s]
    usual_age_s: ClassVar[float] = 0.5
    #: actuators: what is out of bounds is cut to them; else it ends the run
    clamps: ClassVar[bool] = False
    #: actuators: only the bounds themselves are set points
    binary: ClassVar[bool] = False
    #: actuators: at rest they stay as they are; else they go to zero
    holds_at_rest: ClassVar[bool] = False

    #: the driver of the real device; without one it can only be simulated
    driver: DriverPart | None = None

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """Name and unit of each value of its frames."""
        raise NotImplementedError

    def bounds(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """Actuators: least and greatest set point of each signal."""
        raise NotImplementedError

    def check(self, bed: Testbed) -> None:
        """Raise an `InputError`, its key inside this table, where the device does not fit the testbed."""

    def describe(self, bed: Testbed) -> list[str]:
        """Sentences on the device for `granite show`."""
        values = self.model_dump(exclude={"kind", "driver"}, exclude_none=True)
        return [", ".join(f"{key} {value}" for key, value in values.items()) or self.kind]
