"""Strain gauges on flexible links: the strain of a fibre, by the curvature of the link there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from granite.config.base import Name, NotNegative, Positive, Table, refuse_twice
from granite.config.devices.gauge import Gauge, Signal
from granite.config.errors import InputError, one_of

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class StrainGauge(Table):
    """A gauge on the surface of a link."""

    name: Name  #: of the signal
    #: the flexible body, with its module's name before it where a testbed has several
    link: Name
    #: direction of the deflection that strains it
    axis: Literal["y", "z"] = "y"
    #: from the base of the link
    position_m: NotNegative = 0.0
    #: from the neutral axis, on the positive side
    distance_m: Positive


class StrainGauges(Gauge):
    """Gauges behind one converter."""

    units: tuple[StrainGauge, ...] = Field(min_length=1)  #: the gauges, in the order of the signals
    range_strain: Positive = 2e-3  #: measuring range, either sign
    noise_strain: NotNegative = 1e-6  #: noise of a reading, one sigma

    @model_validator(mode="after")
    def _names_differ(self) -> StrainGauges:
        refuse_twice("units", "gauge", [unit.name for unit in self.units])
        return self

    def modules(self, bed: Testbed) -> tuple[str, ...]:
        """Those of their links."""
        links = {unit.link for unit in self.units}
        return tuple(m.name for m in bed.modules if any(bed.layout.name(m, body.name) in links for body in m.bodies))

    def sheet(self, bed: Testbed) -> tuple[Signal, ...]:
        """The strain of each."""
        return tuple(
            Signal(name=f"{unit.name}_strain", unit="1", noise=self.noise_strain, range=self.range_strain, gauge=i)
            for i, unit in enumerate(self.units)
        )

    def check(self, bed: Testbed) -> None:
        """Its links exist, are flexible and bend along its axes."""
        super().check(bed)
        links = bed.layout.flexible_links()
        for i, unit in enumerate(self.units):
            if unit.link not in links:
                expected = one_of(unit.link, links) if links else "a flexible link"
                raise InputError("no such flexible link", key=f"units.{i}.link", value=unit.link, expected=expected)
            link = links[unit.link]
            if not (link.modes_y if unit.axis == "y" else link.modes_z):
                expected = "an axis along which it has modes"
                raise InputError("it does not bend so", key=f"units.{i}.axis", value=unit.axis, expected=expected)
            if unit.position_m > link.length_m:
                expected = f"at most its length, {link.length_m:g}"
                raise InputError(key=f"units.{i}.position_m", value=unit.position_m, expected=expected)

    def describe(self, bed: Testbed) -> list[str]:
        """Place, noise and converter."""
        at = ", ".join(f"{unit.name} at {unit.position_m:g} m of {unit.link} along {unit.axis}" for unit in self.units)
        return [f"{at}: noise {self.noise_strain:g}, {self.converter_bits} bit over +-{self.range_strain:g}"]
