"""Base class of gauges of force and strain: a converter, a tare at the start, and the errors of simulated ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from granite.config.base import Delay, NotNegative, Rate, Table
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device, repeat_chance
from granite.config.devices.response import Response
from granite.config.errors import InputError, one_of
from granite.config.records import Array

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

Part = Annotated[float, Field(ge=0, lt=1)]
#: determinant of gains below which signals are not independent
_SINGULAR = 1e-6


class GaugeErrors(Table):
    """Errors that the seed draws, each uniform up to its bound; `perfect` has none, no noise and no quantisation."""

    perfect: bool = False  #: the true value, without noise or quantisation
    #: of every signal at rest, as a part of its range; a tare removes it
    offset_ratio: Part = 0.0
    #: of the reading, as a part of it
    scale_error: Part = 0.0
    #: of another signal of the same gauge, as a part of it
    cross_talk: Part = 0.0


class Signal(Table):
    """The data sheet of one signal."""

    name: str
    unit: str
    noise: float
    #: plus and minus this is the range of the converter
    range: float
    #: signals of one gauge have the same number: these have cross-talk
    gauge: int


class SignalResponse(Table):
    """Response of one signal: reading = offset + sum of gain * value of each signal, and a cubic term."""

    #: reading without load, in the unit of the signal; a tare removes it
    offset: float = 0.0
    #: by signal: the own gain, 1 where it is not given, and cross-talk
    gain: dict[str, float] = Field(default_factory=dict)
    #: deviation from the straight line at the end of the range, as a part of it
    nonlinearity: Annotated[float, Field(gt=-0.2, lt=0.2)] = 0.0


class Gauge(Device):
    """A device of strain-gauge bridges behind one converter."""

    role: ClassVar[Literal["sensor", "actuator"]] = "sensor"
    usual_age_s: ClassVar[float] = 0.05

    #: frames a second; none: one at every tick
    rate_hz: Rate | None = None
    converter_bits: Annotated[int, Field(ge=4, le=32)] = 16  #: resolution of the converter over its range
    #: the mean reading of this time after the first frame, with the actuators at rest, counts as zero; 0: no tare
    tare_s: Delay = 0.2
    #: time constant of the low-pass filter behind the tare
    filter_s: NotNegative = 0.0
    #: as calibrated, by signal; the others read the value itself
    response: dict[str, SignalResponse] = Field(default_factory=dict)
    #: how the simulated ones differ from this data sheet
    simulated: GaugeErrors = GaugeErrors()

    def sheet(self, bed: Testbed) -> tuple[Signal, ...]:
        """Every signal of its frames."""
        raise NotImplementedError

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """Name and unit of each."""
        return tuple(Coordinate(signal.name, signal.unit) for signal in self.sheet(bed))

    def repeats(self, bed: Testbed) -> tuple[float, ...]:
        """By the noise and the step of the converter; simulated without noise, any frame may repeat."""
        if self.simulated.perfect:
            return super().repeats(bed)
        return tuple(repeat_chance(signal.noise, self.step(signal)) for signal in self.sheet(bed))

    def measurable(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """The converter's range without its ends, where it is saturated."""
        if self.simulated.perfect:
            return super().measurable(bed)
        return tuple((1.5 * self.step(s) - s.range, s.range - 1.5 * self.step(s)) for s in self.sheet(bed))

    def step(self, signal: Signal) -> float:
        """Of the converter, in the unit of the signal."""
        return 2 * signal.range / (1 << self.converter_bits)

    def ticks(self, period_s: float) -> int:
        """Number of ticks of the loop from one frame to the next."""
        return 1 if self.rate_hz is None else max(1, round(1 / (self.rate_hz * period_s)))

    def sheet_response(self, bed: Testbed) -> Response:
        """Response of all signals."""
        sheet = self.sheet(bed)
        every = [self.response.get(signal.name, SignalResponse()) for signal in sheet]
        gain = [
            [response.gain.get(signal.name, float(i == j)) for j, signal in enumerate(sheet)]
            for i, response in enumerate(every)
        ]
        return Response(
            np.array([response.offset for response in every]),
            np.array(gain),
            np.array([response.nonlinearity for response in every]),
            np.array([signal.range for signal in sheet]),
        )

    def correction(self, bed: Testbed) -> Callable[[Array], Array] | None:
        """By the response."""
        response = self.sheet_response(bed)
        return None if response.is_ideal else response.value

    def check(self, bed: Testbed) -> None:
        """Frames come at whole ticks, and the tare ends within the start-up time of the guard."""
        period = bed.loop.period_s
        exact = 1 / (self.ticks(bed.loop.period_s) * bed.loop.period_s)
        if self.rate_hz is not None and abs(self.rate_hz - exact) > 1e-2 * exact:
            whole = f"a whole number of ticks of {period} s between frames, for instance {exact:.6g}"
            raise InputError(key="rate_hz", value=self.rate_hz, expected=whole)
        if self.tare_s >= bed.safety.start_up_s:
            expected = f"less than safety.start_up_s = {bed.safety.start_up_s:g}, because the actuators rest until then"
            raise InputError(key="tare_s", value=self.tare_s, expected=expected)
        names = [signal.name for signal in self.sheet(bed)]
        for name, response in self.response.items():
            for key, word in ((f"response.{name}", name), *((f"response.{name}.gain.{o}", o) for o in response.gain)):
                if word not in names:
                    raise InputError("no such signal", key=key, expected=one_of(word, names))
        if abs(np.linalg.det(self.sheet_response(bed).gain)) < _SINGULAR:
            raise InputError("its gains can't be inverted", key="response", expected="signals that are independent")
