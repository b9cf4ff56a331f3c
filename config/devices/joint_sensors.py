"""Angle and rate sensors of joints; tachometers, and the speed of a wheel as its controller reports it."""

from __future__ import annotations

from collections.abc import Callable
from math import tau
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Name, NotNegative, Positive, Rate, Table, refuse_twice
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device, repeat_chance
from granite.config.devices.response import Response
from granite.config.errors import InputError, one_of
from granite.config.records import Array

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class JointSensorErrors(Table):
    """`perfect` has no noise, offset, eccentricity and quantisation. The rate filter is the sensor's own and stays."""

    perfect: bool = False  #: true angles and rates
    #: by joint; the seed draws the others, with the deviation `angle_offset_rad`
    offset_rad: dict[str, float] = Field(default_factory=dict)
    #: amplitude of the error of an angle over a turn, from a disc or resolver that is not centred on its joint
    eccentricity_rad: Annotated[float, Field(ge=0, lt=0.2)] = 0.0


class JointResponse(Table):
    """Response of the sensor of a joint: reading = offset + scale * angle, and a cubic term."""

    offset_rad: float = 0.0  #: reading at angle zero
    #: reading per radian
    scale: Positive = 1.0
    #: deviation from the straight line at the end of the range, as a part of it
    nonlinearity: Annotated[float, Field(gt=-0.2, lt=0.2)] = 0.0


class JointDevice(Device):
    """What sensors of joints have in common: the joints, the rates of these, and a filter behind each rate."""

    role: ClassVar[Literal["sensor", "actuator"]] = "sensor"
    usual_age_s: ClassVar[float] = 0.05
    #: whether the first signals are the angles
    has_angles: ClassVar[bool] = True

    joints: tuple[Name, ...] = Field(min_length=1)  #: names of the joints, in the order of the signals
    #: frames a second; none: one at every tick
    rate_hz: Rate | None = None
    #: 0: the sensor gives the rate itself
    filter_a_rad_s: NotNegative = 0.0
    filter_b_rad_s: NotNegative = 0.0  #: second corner of the rate filter ab s/((s+a)(s+b)); 0: no filter
    #: noise added behind the rate filter
    rate_noise_rad_s: NotNegative = 2e-3

    @model_validator(mode="after")
    def _joints_differ(self) -> JointDevice:
        refuse_twice("joints", "joint", self.joints)
        return self

    @property
    def has_rate_filter(self) -> bool:
        """Whether the rate comes from an analogue filter."""
        return self.filter_a_rad_s > 0 and self.filter_b_rad_s > 0

    @property
    def n_signals(self) -> int:
        """Of a joint: its angle, where that is measured, and its rate."""
        return 2 if self.has_angles else 1

    def ticks(self, period_s: float) -> int:
        """Number of ticks of the loop from one frame to the next."""
        return 1 if self.rate_hz is None else max(1, round(1 / (self.rate_hz * period_s)))

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """The angles, then the rates."""
        rates = tuple(Coordinate(f"{joint}_rate", "rad/s") for joint in self.joints)
        return (*(Coordinate(f"{joint}_angle", "rad") for joint in self.joints), *rates) if self.has_angles else rates

    def modules(self, bed: Testbed) -> tuple[str, ...]:
        """Those of its joints."""
        return bed.modules_of(self.joints)

    def check(self, bed: Testbed) -> None:
        """Its joints exist, and its rate fits the tick."""
        period = bed.loop.period_s
        exact = 1 / (self.ticks(bed.loop.period_s) * bed.loop.period_s)
        if self.rate_hz is not None and abs(self.rate_hz - exact) > 1e-2 * exact:
            whole = f"a whole number of ticks of {period} s between frames, for instance {exact:.6g}"
            raise InputError(key="rate_hz", value=self.rate_hz, expected=whole)
        for i, joint in enumerate(self.joints):
            if joint not in bed.joints:
                expected = one_of(joint, bed.joints)
                raise InputError("no such joint", key=f"joints.{i}", value=joint, expected=expected)


class JointSensors(JointDevice):
    """RVDTs with an analogue rate filter ab s/((s+a)(s+b)) behind each (Stanford report, section 2.2)."""

    angle_noise_rad: NotNegative = 2e-4  #: noise of an angle, one sigma
    #: unknown constant offset of each angle (one sigma): no measurement reduces it, so it stays in the deviation
    angle_offset_rad: NotNegative = 0.0
    #: full range of the converter, centred on zero, and its number of bits
    range_rad: Positive = tau
    converter_bits: Annotated[int, Field(ge=4, le=32)] = 16  #: resolution of the converter over `range_rad`
    #: of the time of a frame (one sigma): the angle of a joint that turns is uncertain by its rate times this
    time_deviation_s: Annotated[float, Field(ge=0, le=0.1)] = 0.0
    #: as calibrated, by joint; the others read the angle itself
    response: dict[str, JointResponse] = Field(default_factory=dict)
    #: how the simulated ones differ from this data sheet
    simulated: JointSensorErrors = JointSensorErrors()

    def repeats(self, bed: Testbed) -> tuple[float, ...]:
        """By the noise and the step of the converter; simulated without noise, any frame may repeat."""
        if self.simulated.perfect:
            return super().repeats(bed)
        angle = repeat_chance(self.angle_noise_rad, self.range_rad / 2**self.converter_bits)
        return (angle,) * len(self.joints) + (repeat_chance(self.rate_noise_rad_s),) * len(self.joints)

    def measurable(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """Angles: the converter's range without its ends, where it is saturated."""
        if self.simulated.perfect:
            return super().measurable(bed)
        response = self.angles_response()
        step = self.range_rad / 2**self.converter_bits
        most = self.range_rad / 2
        ends = [response.value(np.full(len(self.joints), end)) for end in (step / 2 - most, most - 1.5 * step)]
        angles = zip(*(end.tolist() for end in ends), strict=True)
        return (*angles, *super().measurable(bed)[len(self.joints) :])

    def angles_response(self) -> Response:
        """Response of the angles."""
        every = [self.response.get(joint, JointResponse()) for joint in self.joints]
        return Response(
            np.array([response.offset_rad for response in every]),
            np.diag([response.scale for response in every]),
            np.array([response.nonlinearity for response in every]),
            np.full(len(every), self.range_rad / 2),
        )

    def correction(self, bed: Testbed) -> Callable[[Array], Array] | None:
        """Angles by the response, and rates by its slope there."""
        response, n = self.angles_response(), len(self.joints)
        if response.is_ideal:
            return None

        def corrected(reading: Array) -> Array:
            angles = response.value(reading[:n])
            return np.concatenate((angles, reading[n:] / response.slope(angles)))

        return corrected

    def check(self, bed: Testbed) -> None:
        """Its joints exist."""
        super().check(bed)
        for joint in self.response:
            if joint not in self.joints:
                expected = one_of(joint, self.joints)
                raise InputError("not a joint of these sensors", key=f"response.{joint}", expected=expected)
        for joint, offset in self.simulated.offset_rad.items():
            if joint not in self.joints:
                key = f"simulated.offset_rad.{joint}"
                expected = one_of(joint, self.joints)
                raise InputError("not a joint of these sensors", key=key, value=offset, expected=expected)

    def describe(self, bed: Testbed) -> list[str]:
        """Joints, noise, converter and filter."""
        return [
            f"{', '.join(self.joints)}: noise {self.angle_noise_rad:g} rad, offset {self.angle_offset_rad:g} rad, "
            f"{self.converter_bits} bit over {self.range_rad:g} rad, "
            f"rate filter {self.filter_a_rad_s:g}, {self.filter_b_rad_s:g} rad/s"
        ]


class TachometerErrors(Table):
    """`perfect` has no noise and no error of scale."""

    perfect: bool = False  #: the true rates
    #: of the measured rate over the true one
    scale: Positive = 1.0


class Tachometers(JointDevice):
    """Rates alone. The angle of a joint is counted from the start by its rate: nothing may depend on it."""

    has_angles: ClassVar[bool] = False

    #: beyond it a sensor is saturated
    range_rad_s: Positive = 100.0
    #: how the simulated ones differ from this data sheet
    simulated: TachometerErrors = TachometerErrors()

    def repeats(self, bed: Testbed) -> tuple[float, ...]:
        """By the noise."""
        chance = 1.0 if self.simulated.perfect else repeat_chance(self.rate_noise_rad_s)
        return (chance,) * len(self.joints)

    def measurable(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """Its range."""
        return ((-self.range_rad_s, self.range_rad_s),) * len(self.joints)

    def describe(self, bed: Testbed) -> list[str]:
        """Joints, noise, range and filter."""
        return [
            f"{', '.join(self.joints)}: rates, noise {self.rate_noise_rad_s:g} rad/s, +-{self.range_rad_s:g} rad/s, "
            f"rate filter {self.filter_a_rad_s:g}, {self.filter_b_rad_s:g} rad/s"
        ]
