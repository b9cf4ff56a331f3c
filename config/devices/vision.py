"""A sensor of the pose of a body on the table: camera or motion capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from granite.config.base import Delay, Name, NotNegative, Probability, Rate, Table
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device, repeat_chance
from granite.config.errors import InputError
from granite.config.modules import Module

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class VisionErrors(Table):
    """`perfect` reports the true pose at every tick at once."""

    perfect: bool = False
    latency_jitter_s: Delay = 0.0
    dropout_probability: Probability = 0.0


class Vision(Device):
    """A camera that reports the pose of the root body of a module, late but with the time of exposure."""

    role: ClassVar[Literal["sensor", "actuator"]] = "sensor"

    #: may be left out where one module floats
    module: Name | None = None
    #: the root body of that module; may be left out
    body: Name | None = None
    rate_hz: Rate = 60.0
    latency_s: Delay = 0.03
    position_noise_m: NotNegative = 5e-4
    heading_noise_rad: NotNegative = 1e-3
    #: how the simulated one differs from this data sheet
    simulated: VisionErrors = VisionErrors()

    def seen(self, bed: Testbed) -> Module:
        """The module whose root pose it measures."""
        return bed.floating_module(self.module)

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """x, y and heading."""
        root = bed.layout.name(self.seen(bed), self.seen(bed).root.name)
        return Coordinate(f"{root}_x", "m"), Coordinate(f"{root}_y", "m"), Coordinate(f"{root}_heading", "rad")

    def repeats(self, bed: Testbed) -> tuple[float, ...]:
        """By the noise; simulated without noise, any frame may repeat."""
        if self.simulated.perfect:
            return super().repeats(bed)
        position = repeat_chance(self.position_noise_m)
        return position, position, repeat_chance(self.heading_noise_rad)

    def check(self, bed: Testbed) -> None:
        """It measures the root of a floating planar module."""
        module = self.seen(bed)
        if self.body not in (None, module.root.name):
            raise InputError(key="body", value=self.body, expected=f"the root body '{module.root.name}'")
        if module.dimension != "planar":
            raise InputError(
                f"it sees a {module.dimension} module", key="module", value=module.name, expected="a planar one"
            )

    def describe(self, bed: Testbed) -> list[str]:
        """Body, rate, latency and noise."""
        return [
            f"{bed.layout.name(self.seen(bed), self.seen(bed).root.name)} at {self.rate_hz:g} Hz, "
            f"{self.latency_s * 1e3:g} ms late, noise {self.position_noise_m:g} m, {self.heading_noise_rad:g} rad"
        ]
