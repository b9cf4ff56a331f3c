"""A gyro on the root body of a planar module: its rate about z."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from granite.config.base import NotNegative, Positive, Table
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Agreement, repeat_chance
from granite.config.devices.inertial_sensor import InertialSensor
from granite.config.measurement import Bias, Measurement

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


#: largest bias that the data sheet explains, in its standard deviations
_BIAS_SIGMA = 3.0


class GyroErrors(Table):
    """`perfect` reports the true rate."""

    perfect: bool = False  #: the true rate, without noise or quantisation
    #: of the rate at rest at the start; the seed adds a Gaussian number of that deviation
    bias_rad_s: float = 0.0
    bias_deviation_rad_s: NotNegative = 0.0  #: deviation of the bias that the seed adds
    #: random walk of the bias: its deviation after one second, which grows with the root of time
    bias_walk_rad_s_per_rts: NotNegative = 0.0
    #: of the measured rate over the true one
    scale: Positive = 1.0


class Gyro(InertialSensor):
    """A gyro behind a converter. The estimator finds its bias; its reading is also compared with the estimated rate."""

    noise_rad_s: NotNegative = 5e-4  #: noise of a reading, one sigma
    range_rad_s: Positive = 4.0  #: measuring range, either sign
    converter_bits: Annotated[int, Field(ge=8, le=32)] = 16  #: resolution of the converter over its range
    #: unknown bias at the start (one sigma), and its random walk: the deviation after one second
    bias_rad_s: NotNegative = 0.02
    bias_walk_rad_s_per_rts: NotNegative = 1e-5  #: random walk of the bias: its deviation after one second
    #: mean difference from the estimated rate, over `safety.monitor.window_s`, beyond which sensors contradict each
    #: other: error of scale and what the bias has beyond three of its deviations are part of it
    disagreement_rad_s: Positive = 0.05
    #: how the simulated one differs from this data sheet
    simulated: GyroErrors = GyroErrors()

    @property
    def step_rad_s(self) -> float:
        """Of the converter."""
        return 2 * self.range_rad_s / (1 << self.converter_bits)

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """The rate of the body about z."""
        return (Coordinate(f"{self._root(bed)}_gyro", "rad/s"),)

    def measurement(self, motion: Any) -> Measurement | None:
        """The rate of the heading, with a bias."""
        heading = motion.layout.root_u(self.mounted(motion.bed)).start + 2
        noise = math.sqrt(self.noise_rad_s**2 + self.step_rad_s**2 / 12)
        bias = Bias(0, self.bias_rad_s, self.bias_walk_rad_s_per_rts)
        return Measurement(motion.u[heading], (noise,), biases=(bias,))

    def repeats(self, bed: Testbed) -> tuple[float, ...]:
        """By its noise and converter."""
        if self.simulated.perfect:
            return super().repeats(bed)
        return (repeat_chance(self.noise_rad_s, self.step_rad_s),)

    def measurable(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """The range of its converter, without the last step."""
        most = self.range_rad_s - self.step_rad_s
        return ((-most, most),)

    def agreements(self, bed: Testbed) -> tuple[Agreement, ...]:
        """With the estimated rate of the heading."""
        heading, most_bias = f"{self._root(bed)}_heading", _BIAS_SIGMA * self.bias_rad_s
        return (Agreement(self.signals(bed)[0].name, heading, self.disagreement_rad_s, most_bias),)

    def describe(self, bed: Testbed) -> list[str]:
        """Body, noise and converter."""
        converter = f"{self.converter_bits} bit over +-{self.range_rad_s:g} rad/s"
        return [f"{self._root(bed)}: noise {self.noise_rad_s:g} rad/s, {converter}"]
