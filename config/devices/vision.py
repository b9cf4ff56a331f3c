"""A sensor of the pose of a body on the table, or of a target on one: camera or motion capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from granite.config.base import Angle, Delay, Name, NotNegative, Positive, Probability, Rate, Table
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device, repeat_chance
from granite.config.errors import InputError, one_of
from granite.config.measurement import Bias, Measurement
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

    perfect: bool = False  #: the true pose at every tick, at once
    latency_jitter_s: Delay = 0.0  #: largest deviation of the latency of a frame, either way
    #: the mean latency goes to and fro by so much, as a sine whose phase the seed draws
    latency_wander_s: Delay = 0.0
    latency_wander_period_s: Positive = 60.0  #: period of that sine
    #: largest offset of the camera's clock at the start, and largest error of its rate; the seed draws both
    clock_offset_s: Delay = 0.0
    clock_drift_ppm: Annotated[float, Field(ge=0, le=1e4)] = 0.0  #: largest error of the rate of the camera's clock
    dropout_probability: Probability = 0.0  #: part of the frames that are lost
    #: all frames are lost for a while
    bursts: Episodes | None = None
    swaps: MarkerSwaps | None = None  #: markers that are taken for each other
    #: noise is Student's t with so many degrees of freedom and the same deviation; none: Gaussian
    tail_freedom: Annotated[float, Field(gt=2, le=1000)] | None = None


class SeenTarget(NamedTuple):
    """What a pose sensor measures: x and y of a point of a body, and the heading of that body."""

    module: Module
    body: str
    position_m: tuple[float, ...]  #: in the axes of the body
    name: str  #: in its signals and in messages

    @property
    def is_root(self) -> bool:
        """Whether it is the origin of the root body, whose pose is part of q where the module floats."""
        return self.module.base == "floating" and self.body == self.module.root.name and not any(self.position_m)


class Vision(Device):
    """A camera that reports the pose of a body, or of a target on it, late but with the time of exposure."""

    role: ClassVar[Literal["sensor", "actuator"]] = "sensor"

    #: may be left out where one module floats
    module: Name | None = None
    #: a body of that module; none: its root
    body: Name | None = None
    #: a point of that module, where the target is; none: the origin of the body
    point: Name | None = None
    rate_hz: Rate = 60.0  #: frames a second
    latency_s: Delay = 0.03  #: mean time from exposure to arrival
    position_noise_m: NotNegative = 5e-4  #: noise of a position, one sigma
    heading_noise_rad: NotNegative = 1e-3  #: noise of a heading, one sigma
    #: unknown constant offset of x and of y (one sigma), which the calibration of lens and plane leaves
    position_offset_m: NotNegative = 0.0
    heading_offset_rad: NotNegative = 0.0  #: the same of the heading
    #: how the simulated one differs from this data sheet
    simulated: VisionErrors = VisionErrors()

    def seen(self, bed: Testbed) -> Module:
        """The module that it sees."""
        if self.module is not None and (self.body is not None or self.point is not None):
            for module in bed.modules:
                if module.name == self.module:
                    return module
        return bed.floating_module(self.module)

    def target(self, bed: Testbed) -> SeenTarget:
        """The point of a body that it measures.

        Raises
        ------
        InputError
            Where the module has no such body or point.
        """
        module = self.seen(bed)
        bodies, points = [body.name for body in module.bodies], {point.name: point for point in module.points}
        if self.body is not None and self.body not in bodies:
            raise InputError("no such body", key="body", value=self.body, expected=one_of(self.body, bodies))
        if self.point is None:
            body = self.body or module.root.name
            return SeenTarget(module, body, (0.0, 0.0), bed.layout.name(module, body))
        if self.point not in points:
            expected = one_of(self.point, points) if points else f"a point, but '{module.name}' has none"
            raise InputError("no such point", key="point", value=self.point, expected=expected)
        point = points[self.point]
        if self.body not in (None, point.body):
            expected = f"'{point.body}', which has the point '{self.point}', or none"
            raise InputError(key="body", value=self.body, expected=expected)
        return SeenTarget(module, point.body, point.position_m, bed.layout.name(module, self.point))

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """x, y and heading."""
        name = self.target(bed).name
        return Coordinate(f"{name}_x", "m"), Coordinate(f"{name}_y", "m"), Coordinate(f"{name}_heading", "rad")

    @property
    def offsets(self) -> tuple[float, float, float]:
        """Unknown constant offset of x, y and heading (one sigma)."""
        return self.position_offset_m, self.position_offset_m, self.heading_offset_rad

    def measurement(self, motion: Any) -> Measurement | None:
        """The pose of the target, with the offset that the calibration leaves as a bias."""
        target = self.target(motion.bed)
        noise = self.position_noise_m, self.position_noise_m, self.heading_noise_rad
        biases = tuple(Bias(i, offset) for i, offset in enumerate(self.offsets) if offset > 0)
        if target.is_root:
            expected = motion.q[motion.layout.root_q(target.module)]
        else:
            expected = motion.planar_pose(target.module.name, *target[1:3])
        return Measurement(expected, noise, angles=(2,), biases=biases)

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
        """It measures a body of a planar module, and one that moves."""
        module, target = self.seen(bed), self.target(bed)
        if module.base == "fixed" and target.body == module.root.name:
            raise InputError("the body is fixed", key="body", value=target.body, expected="one that moves")
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
        if errors.swaps.module is not None and not self.target(bed).is_root:
            expected = "none, because it sees a target on a body"
            raise InputError(key="simulated.swaps.module", value=errors.swaps.module, expected=expected)
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
            f"{self.target(bed).name} at {self.rate_hz:g} Hz, "
            f"{self.latency_s * 1e3:g} ms late, noise {self.position_noise_m:g} m, {self.heading_noise_rad:g} rad"
        ]
