"""Force gauges in grips: forces and moments that the first side of a contact exerts on its second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from granite.config.base import Name, NotNegative, Positive, Table, refuse_twice
from granite.config.devices.gauge import Gauge, Signal
from granite.config.errors import InputError, one_of

if TYPE_CHECKING:
    from granite.config.contacts import Contact
    from granite.config.testbed import Testbed

Axis = Literal["fx", "fy", "fz", "mx", "my", "mz"]
#: components of a wrench in the order of a contact's
AXES = {"planar": ("fx", "fy", "mz"), "spatial": ("fx", "fy", "fz", "mx", "my", "mz")}


class ForceGauge(Table):
    """The gauge at one contact."""

    contact: Name  #: name of the contact
    #: which components it measures; none given: all forces
    axes: tuple[Axis, ...] = ()


class ForceGauges(Gauge):
    """Gauges behind one converter; components are in the axes of the body of the contact's first side."""

    units: tuple[ForceGauge, ...] = Field(min_length=1)  #: the gauges, in the order of the signals
    range_n: Positive = 20.0  #: measuring range of forces, either sign
    range_n_m: Positive = 2.0  #: measuring range of moments, either sign
    noise_n: NotNegative = 0.01  #: noise of forces, one sigma
    noise_n_m: NotNegative = 1e-3  #: noise of moments, one sigma

    @model_validator(mode="after")
    def _one_gauge_at_a_contact(self) -> ForceGauges:
        refuse_twice("units", "a gauge at contact", [unit.contact for unit in self.units])
        for i, unit in enumerate(self.units):
            refuse_twice(f"units.{i}.axes", "component", unit.axes)
        return self

    def measured_axes(self, bed: Testbed, unit: ForceGauge) -> tuple[str, ...]:
        """The components of a gauge, in the order of its signals."""
        every = AXES["planar" if bed.planar else "spatial"]
        return unit.axes or tuple(axis for axis in every if axis.startswith("f"))

    def contact_of(self, bed: Testbed, unit: ForceGauge) -> Contact:
        """The contact at which a gauge measures."""
        return next(contact for contact in bed.contacts if contact.name == unit.contact)

    def modules(self, bed: Testbed) -> tuple[str, ...]:
        """Those of the hands in which they are."""
        hands = (self.contact_of(bed, unit).first for unit in self.units)
        return tuple(dict.fromkeys(hand.module for hand in hands if not hand.grounded))

    def sheet(self, bed: Testbed) -> tuple[Signal, ...]:
        """Gauge after gauge, each with its components."""
        signals = []
        for i, unit in enumerate(self.units):
            for axis in self.measured_axes(bed, unit):
                is_force = axis.startswith("f")
                noise, most = (self.noise_n, self.range_n) if is_force else (self.noise_n_m, self.range_n_m)
                signals.append(
                    Signal(
                        name=f"{unit.contact}_{axis}", unit="N" if is_force else "N m", noise=noise, range=most, gauge=i
                    )
                )
        return tuple(signals)

    def check(self, bed: Testbed) -> None:
        """Its contacts exist and have these components."""
        super().check(bed)
        names = [contact.name for contact in bed.contacts]
        every = AXES["planar" if bed.planar else "spatial"]
        for i, unit in enumerate(self.units):
            if unit.contact not in names:
                expected = one_of(unit.contact, names)
                raise InputError("no such contact", key=f"units.{i}.contact", value=unit.contact, expected=expected)
            for axis in unit.axes:
                if axis not in every:
                    key = f"units.{i}.axes"
                    raise InputError("no component in a plane", key=key, value=axis, expected=one_of(axis, every))

    def describe(self, bed: Testbed) -> list[str]:
        """Contacts, noise, range and converter."""
        at = ", ".join(f"{unit.contact} ({' '.join(self.measured_axes(bed, unit))})" for unit in self.units)
        return [
            f"{at}: noise {self.noise_n:g} N, {self.converter_bits} bit over +-{self.range_n:g} N, "
            f"tare {self.tare_s:g} s"
        ]
