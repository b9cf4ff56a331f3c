"""A payload that a controller estimates in the run: where it is held, and the bounds of its estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from granite.config.base import Name, Positive, Table
from granite.config.coordinates import Coordinate
from granite.config.errors import InputError, one_of

if TYPE_CHECKING:
    from granite.config.modules import Module, Point
    from granite.config.testbed import Testbed

#: laws that take the payload into account
LAWS = ("computed_torque",)


class PayloadTable(Table):
    """Estimate of mass, mass centre and moment of inertia of what a hand holds."""

    #: the module of the hand; may be left out where the controller has one
    module: Name | None = None
    point: Name  #: the hand: a point of that module; the mass centre is relative to it, in the axes of its body
    mass_kg: Positive  #: greatest mass of the estimate
    radius_m: Positive = 0.1  #: greatest distance of its mass centre from the point
    #: time in which what was learned is forgotten, without motion that shows the payload it stays as it is
    memory_s: Annotated[float, Field(ge=5.0, le=3600.0)] = 100.0

    def held(self, bed: Testbed) -> tuple[Module, Point]:
        """The module, and the point of the hand."""
        modules = {module.name: module for module in bed.controlled}
        name = self.module or next(iter(modules))
        module = modules[name]
        return module, next(point for point in module.points if point.name == self.point)

    def recorded(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """Names of `State.payload`."""
        unit = {"m/s": "N", "m": "N"}
        forces = (Coordinate(f"{c.name}_payload_deviation", unit.get(c.unit, "N m")) for c in bed.known.velocities)
        return (
            Coordinate("payload_mass", "kg"),
            Coordinate("payload_x", "m"),
            Coordinate("payload_y", "m"),
            Coordinate("payload_inertia", "kg m2"),
            Coordinate("payload_mass_deviation", "kg"),
            Coordinate("payload_centre_deviation", "m"),
            *forces,
        )


def refuse_payload(bed: Testbed, table: PayloadTable) -> None:
    """Raise where the payload of a testbed can't be estimated."""
    key, control = "controller.payload", bed.control
    modules = {module.name: module for module in bed.controlled}
    if table.module not in modules and (table.module or len(modules) != 1):
        raise InputError(
            "the hand is on no controlled module", key=f"{key}.module", value=table.module,
            expected=one_of(table.module or "", modules),
        )  # fmt: skip
    module = modules[table.module or next(iter(modules))]
    points = [point.name for point in module.points]
    if table.point not in points:
        expected = one_of(table.point, points) if points else f"a point of '{module.name}'"
        raise InputError("no such point", key=f"{key}.point", value=table.point, expected=expected)
    if module.dimension != "planar":
        raise InputError(f"'{module.name}' moves in space", key=key, expected="a module in the plane")
    if bed.contacts:
        raise InputError(
            "the testbed has contacts", key=key, expected="none: a held module is a payload with a contact"
        )
    if control.estimator.kind != "kalman":
        raise InputError(
            "this estimator has none", key="controller.estimator.kind", value=control.estimator.kind, expected="kalman"
        )
    if control.law.kind not in LAWS:
        raise InputError(
            "this law knows no payload", key="controller.law.kind", value=control.law.kind, expected=one_of("", LAWS)
        )
