"""The supply pressure of thrusters, which their board reads: below its limit the gas does not suffice to continue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from granite.config.base import Name, NotNegative, Positive
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device, repeat_chance
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.parts import RecordedLimit

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class Pressure(Device):
    """A pressure gauge behind a converter. Simulated, it follows the tank: thrust and pressure fall together."""

    role: ClassVar[Literal["sensor", "actuator"]] = "sensor"

    #: the device of thrusters that it supplies; may be left out where there is one
    thrusters: Name | None = None
    #: with a full tank, where the thrusters have their thrust of the data sheet
    full_pa: Positive = 7e5
    #: of a supply with a regulator: above this the thrusters have their thrust of the data sheet; None: only when full.
    #: Below it the estimator takes thrust to be proportional to the pressure
    regulated_pa: Positive | None = None
    #: below this it is a fault: low_pressure
    low_pa: NotNegative = 5e5
    noise_pa: NotNegative = 1e3  #: noise of a reading, one sigma
    range_pa: Positive = 1.6e6  #: measuring range from zero
    converter_bits: Annotated[int, Field(ge=8, le=32)] = 12  #: resolution of the converter over its range

    @property
    def step_pa(self) -> float:
        """Of the converter."""
        return self.range_pa / (1 << self.converter_bits)

    @property
    def full_thrust_pa(self) -> float:
        """The least pressure with the thrust of the data sheet."""
        return self.regulated_pa or self.full_pa

    def supplied(self, bed: Testbed) -> str:
        """The device of thrusters.

        Raises
        ------
        InputError
            Where there is none of this name, or several and none is named.
        """
        devices = bed.devices_of(Thrusters)
        if self.thrusters is None and len(devices) == 1:
            return next(iter(devices))
        if self.thrusters not in devices:
            expected = one_of(self.thrusters or "", devices) if devices else "a device of thrusters"
            raise InputError("no such thrusters", key="thrusters", value=self.thrusters, expected=expected)
        return self.thrusters

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """The pressure of the supply."""
        return (Coordinate("supply_pressure", "Pa"),)

    def repeats(self, bed: Testbed) -> tuple[float, ...]:
        """By its noise and converter."""
        return (repeat_chance(self.noise_pa, self.step_pa),)

    def measurable(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """Below the end of its converter; an empty tank reads about zero."""
        return ((-self.range_pa, self.range_pa - self.step_pa),)

    def judged(self, bed: Testbed) -> tuple[RecordedLimit, ...]:
        """Not below `low_pa`."""
        return (RecordedLimit("supply_pressure", "LOW_PRESSURE", self.low_pa, float("inf")),)

    def check(self, bed: Testbed) -> None:
        """It supplies thrusters, and its numbers are in order."""
        self.supplied(bed)
        if not self.low_pa < self.full_pa < self.range_pa:
            expected = f"above low_pa = {self.low_pa:g}, below range_pa = {self.range_pa:g}"
            raise InputError(key="full_pa", value=self.full_pa, expected=expected)

    def describe(self, bed: Testbed) -> list[str]:
        """Thrusters, full and low."""
        return [f"supply of {self.supplied(bed)}: {self.full_pa:g} Pa when full, low below {self.low_pa:g} Pa"]
