"""A sensor of the pose of a body on the table: camera or motion capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from granite.config.base import Angle, Delay, Name, NotNegative, Positive, Probability, Rate, Table
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device, repeat_chance
from granite.config.errors import InputError, one_of
from granite.config.measurement import Measurement
from granite.config.modules import Module

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class Episodes(Table):
    """Something that happens now and then and lasts for some frames; the seed draws when."""

    #: mean number, while there is none
    per_s: Positive
    #: mean; at least the time between two frames
    duration_s: Positive


class MarkerSwaps(Episodes):
    """Frames with the identities of markers exchanged: the body turned and shifted, or the pose of another one."""

    #: between the marks of two bodies: the pose of the root of this module is reported
    module: Name | None = None
    #: about the body's origin
    turn_rad: Angle = 0.0
    #: in a direction that the seed draws for each episode
    shift_m: NotNegative = 0.0


class VisionErrors(Table):
    """`perfect` reports the true pose at every tick at once."""

    perfect: bool = False
    latency_jitter_s: Delay = 0.0
    #: the mean latency goes to and fro by so much, as a sine whose phase the seed draws
    latency_wander_s: Delay = 0.0
    latency_wander_period_s: Positive = 60.0
    #: largest offset of the camera's clock at the start, and largest error of its rate; the seed draws both
    clock_offset_s: Delay = 0.0
    clock_drift_ppm: Annotated[float, Field(ge=0, le=1e4)] = 0.0
    dropout_probability: Probability = 0.0
    #: all frames are lost for a while
    bursts: Episodes | None = None
    swaps: MarkerSwaps | None = None
    #: noise is Student's t with so many degrees of freedom and the same deviation; none: Gaussian
    tail_freedom: Annotated[float, Field(gt=2, le=1000)] | None = None


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

    def measurement(self, motion: Any) -> Measurement | None:
        """The pose of the root."""
        root = motion.layout.root_q(self.seen(motion.bed))
        noise = self.position_noise_m, self.position_noise_m, self.heading_noise_rad
        return Measurement(motion.q[root], noise, angles=(2,))

    def modules(self, bed: Testbed) -> tuple[str, ...]:
        """The one that it sees."""
        return (self.seen(bed).name,)

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
        self._check_episodes(bed)

    def _check_episodes(self, bed: Testbed) -> None:
        """They last for a frame, and a swap changes something: the identity of another floating body, or a pose."""
        errors = self.simulated
        for key, episodes in (("bursts", errors.bursts), ("swaps", errors.swaps)):
            if episodes is not None and episodes.duration_s * self.rate_hz < 1:
                frame = f"at least the time between two frames, {1 / self.rate_hz:.3g}"
                raise InputError(key=f"simulated.{key}.duration_s", value=episodes.duration_s, expected=frame)
            if episodes is not None and episodes.per_s > self.rate_hz:
                most = f"at most rate_hz = {self.rate_hz:g}"
                raise InputError(key=f"simulated.{key}.per_s", value=episodes.per_s, expected=most)
        if errors.swaps is None:
            return
        if errors.swaps.module is None:
            if errors.swaps.turn_rad == 0 and errors.swaps.shift_m == 0:
                change = "a `module`, a `turn_rad` or a `shift_m`"
                raise InputError("they change no pose", key="simulated.swaps", expected=change)
            return
        others = [
            m.name for m in bed.modules if (m.base, m.dimension) == ("floating", "planar") and m != self.seen(bed)
        ]
        if errors.swaps.module not in others:
            expected = one_of(errors.swaps.module, others) if others else "none, because no other planar module floats"
            raise InputError(key="simulated.swaps.module", value=errors.swaps.module, expected=expected)

    def describe(self, bed: Testbed) -> list[str]:
        """Body, rate, latency and noise."""
        return [
            f"{bed.layout.name(self.seen(bed), self.seen(bed).root.name)} at {self.rate_hz:g} Hz, "
            f"{self.latency_s * 1e3:g} ms late, noise {self.position_noise_m:g} m, {self.heading_noise_rad:g} rad"
        ]
