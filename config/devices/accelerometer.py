"""An accelerometer on the root body of a planar module: the specific force at its place, along two axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import casadi as ca
from pydantic import Field

from granite.config.base import NotNegative, Positive, Table
from granite.config.coordinates import Coordinate
from granite.config.devices.device import repeat_chance
from granite.config.devices.inertial_sensor import InertialSensor
from granite.config.measurement import Bias, Measurement

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class AccelerometerErrors(Table):
    """`perfect` reports the true specific force."""

    perfect: bool = False  #: the true values, without noise or quantisation
    bias_m_s2: tuple[float, float] = (0.0, 0.0)  #: of both axes at the start, to which the seed adds
    bias_deviation_m_s2: NotNegative = 0.0  #: deviation of the biases that the seed adds
    #: random walk of the biases: their deviation after one second, which grows with the root of time
    bias_walk_m_s2_per_rts: NotNegative = 0.0
    scale: Positive = 1.0  #: of measured over true values


class Accelerometer(InertialSensor):
    """Two axes in the plane of the table; a value is the mean since the last one. The estimator finds the biases."""

    #: an innovation is a force that the model does not have, which is what this sensor is for
    has_outliers: ClassVar[bool] = False

    position_m: tuple[float, float]  #: of the sensor, in the frame of the root body
    angle_rad: float = 0.0  #: from the x axis of the root body to that of the sensor
    #: noise of a reading is this density times the root of the rate of the loop
    noise_m_s2_per_rthz: Positive = 2.5e-4
    range_m_s2: Positive = 20.0  #: measuring range, either sign
    converter_bits: Annotated[int, Field(ge=8, le=32)] = 20  #: resolution of the converter over its range
    #: unknown biases at the start (one sigma); tilt of the sensor and slope of the table are part of them
    bias_m_s2: NotNegative = 0.02
    #: random walk of the biases: their deviation after one second
    bias_walk_m_s2_per_rts: NotNegative = 1e-4
    #: how the simulated one differs from this data sheet
    simulated: AccelerometerErrors = AccelerometerErrors()

    @property
    def step_m_s2(self) -> float:
        """Of the converter."""
        return 2 * self.range_m_s2 / (1 << self.converter_bits)

    def noise_m_s2(self, bed: Testbed) -> float:
        """Of a reading (one sigma), without the steps of the converter."""
        return self.noise_m_s2_per_rthz / math.sqrt(bed.loop.period_s)

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """Specific force along its x and y axes."""
        return tuple(Coordinate(f"{self._root(bed)}_{axis}_accelerometer", "m/s2") for axis in "xy")

    def specific_force(self, heading: ca.SX, rate: ca.SX, a: ca.SX, turning: ca.SX) -> ca.SX:
        """R^T (a + w' x r + w x (w x r)) in its own axes; `a` is of the root's origin, less that of free fall."""
        r = ca.SX(ca.DM(self.position_m))
        in_body = _turned(-heading, a) + turning * ca.vertcat(-r[1], r[0]) - rate**2 * r
        return _turned(-self.angle_rad, in_body)

    def measurement(self, motion: Any) -> Measurement | None:
        """The mean over the period before, with a bias of each axis."""
        root = motion.layout.root_u(self.mounted(motion.bed)).start
        q, u, a = motion.q[root : root + 3], motion.u[root : root + 3], ca.SX.sym("a", 3)
        heading = q[2] - motion.bed.loop.period_s / 2 * u[2]
        x, y = self.position_m
        position = q[:2] + _turned(q[2], ca.SX(ca.vertcat(x, y)))
        expected = self.specific_force(heading, u[2], a[:2] - motion.free_fall(position), a[2])
        noise = math.sqrt(self.noise_m_s2(motion.bed) ** 2 + self.step_m_s2**2 / 12)
        biases = tuple(Bias(i, self.bias_m_s2, self.bias_walk_m_s2_per_rts) for i in range(2))
        return Measurement(expected, (noise, noise), biases=biases, acceleration=a)

    def repeats(self, bed: Testbed) -> tuple[float, ...]:
        """By its noise and converter."""
        if self.simulated.perfect:
            return super().repeats(bed)
        return (repeat_chance(self.noise_m_s2(bed), self.step_m_s2),) * 2

    def measurable(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """The range of its converter, without the last step."""
        most = self.range_m_s2 - self.step_m_s2
        return ((-most, most),) * 2

    def describe(self, bed: Testbed) -> list[str]:
        """Body, place, noise and converter."""
        x, y = self.position_m
        where = f"{self._root(bed)} at {x:g}, {y:g} m"
        return [
            f"{where}: noise {self.noise_m_s2_per_rthz:g} m/s2/rtHz, {self.converter_bits} bit over "
            f"+-{self.range_m_s2:g} m/s2"
        ]


def _turned(angle: ca.SX | float, vector: ca.SX) -> ca.SX:
    """A vector (2), turned by an angle."""
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])
