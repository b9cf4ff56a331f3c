"""Timed events of a simulated run: pushes, payloads, faults and drop-outs of devices."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import SerializeAsAny, WrapValidator, model_validator

from granite.config.base import Name, NotNegative, Positive, Table, Vector
from granite.config.errors import InputError, one_of

#: faults of a device
SENSOR_FAULTS = ("silent", "frozen", "not_finite", "offset")
ACTUATOR_FAULTS = ("silent", "refuses")
UNIT_FAULTS = ("dead", "stuck_open")


class TimedEvent(Table):
    """An event that takes effect from `at_s` on."""

    kind: str
    at_s: NotNegative


class BodyEvent(TimedEvent):
    """An event on a body; `module` is needed where several modules have a body of that name."""

    module: Name | None = None
    body: Name


class PushEvent(BodyEvent):
    """A force on a body of a module at its mass centre, in world axes, and a moment about z."""

    duration_s: Positive
    force_n: Vector = (0.0, 0.0)
    moment_n_m: float = 0.0


class PayloadEvent(BodyEvent):
    """A payload is added to a body; the velocity does not change."""

    mass_kg: Positive
    position_m: Vector = (0.0, 0.0)
    #: about the payload's own mass centre and the body's z axis
    inertia_kg_m2: NotNegative = 0.0


class FaultEvent(TimedEvent):
    """A fault of a device, or of one unit of it; permanent, unless there is a duration.

    Sensors: `silent` gives no new frame, `frozen` repeats its values with new numbers, `not_finite` gives NaN, `offset`
    adds `value` to the signal `unit`. Actuators: `silent` applies nothing new, `refuses` stops; the status of
    their frames reports both. A thruster `unit`: `dead` or `stuck_open`, which no frame reports.
    """

    device: Name
    what: Literal["silent", "frozen", "not_finite", "offset", "refuses", "dead", "stuck_open"]
    unit: str | None = None
    value: float = 0.0
    duration_s: Positive | None = None

    @model_validator(mode="after")
    def _names_what_it_needs(self) -> FaultEvent:
        if self.what in (*UNIT_FAULTS, "offset") and self.unit is None:
            raise InputError.missing("unit", f"the name of a unit or signal where what = '{self.what}'")
        return self


class DropOutEvent(TimedEvent):
    """A sensor gives no new frame for a while."""

    device: Name
    duration_s: Positive


EVENTS: dict[str, type[TimedEvent]] = {
    "push": PushEvent,
    "payload": PayloadEvent,
    "fault": FaultEvent,
    "drop_out": DropOutEvent,
}


def _of_its_kind(value: Any, handler: Any) -> Any:
    if isinstance(value, TimedEvent) or not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return value if isinstance(value, TimedEvent) else handler(value)
    if value["kind"] not in EVENTS:
        kind = value["kind"]
        raise InputError("no such event", key="kind", value=kind, expected=one_of(kind, EVENTS))
    return EVENTS[value["kind"]].model_validate(value)


EventTable = Annotated[SerializeAsAny[TimedEvent], WrapValidator(_of_its_kind)]
