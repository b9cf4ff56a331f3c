"""Timed events of a simulated run: pushes, payloads, faults and drop-outs of devices."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import SerializeAsAny, WrapValidator, model_validator

from granite.config.base import Name, NotNegative, Positive, Table, Vector
from granite.config.errors import InputError, one_of

#: faults of a device
SENSOR_FAULTS = ("silent", "frozen", "not_finite", "offset", "drift", "counter_jump", "time_jump", "late")
ACTUATOR_FAULTS = ("silent", "refuses", "not_finite", "offset", "late", "does_not_stop")
#: faults of a thruster, of a motor, and of a grip
THRUSTER_FAULTS = ("dead", "stuck_open", "thrust_factor", "exchanged")
MOTOR_FAULTS = ("torque_factor", "exchanged")
GRIP_FAULTS = ("stays_open",)
#: faults that act on one unit or signal
_OF_A_UNIT = (*THRUSTER_FAULTS, *MOTOR_FAULTS, *GRIP_FAULTS, "offset", "drift")
#: faults with a value
_WITH_A_VALUE = ("offset", "drift", "counter_jump", "time_jump", "late", "torque_factor", "thrust_factor")


class TimedEvent(Table):
    """An event that takes effect from `at_s` on."""

    kind: str
    at_s: NotNegative  #: time from the start of the run


class BodyEvent(TimedEvent):
    """An event on a body; `module` is needed where several modules have a body of that name."""

    module: Name | None = None  #: may be left out where one module has a body of that name
    body: Name  #: name of the body


class PushEvent(BodyEvent):
    """A force on a body of a module at its mass centre, in world axes, and a moment about z."""

    duration_s: Positive  #: time that it lasts
    force_n: Vector = (0.0, 0.0)  #: at the mass centre, in world axes
    moment_n_m: float = 0.0  #: about z


class PayloadEvent(BodyEvent):
    """A payload is added to a body; the velocity does not change."""

    mass_kg: Positive  #: mass of the payload
    position_m: Vector = (0.0, 0.0)  #: of its mass centre on the body
    #: about the payload's own mass centre and the body's z axis
    inertia_kg_m2: NotNegative = 0.0


class FaultEvent(TimedEvent):
    """A fault of a device, or of one unit of it; permanent, unless there is a duration.

    Sensors: `silent` gives no new frame, `frozen` repeats its values (or that of the signal `unit`) with new numbers,
    `not_finite` gives NaN, `offset` adds `value` to the signal `unit`, `drift` adds `value` a second, `counter_jump`
    adds `value` to the frame numbers, `time_jump` adds `value` [s] to the time stamps, `late` gives the frame of
    `value` [s] before. Actuators: `silent` applies nothing new, `refuses` stops; their status reports both.
    `not_finite` and `offset` change what an actuator reports as applied, not what it applies. No frame reports the
    others: `late` applies set points `value` [s] late, `does_not_stop` keeps the last one after a stop; a thruster
    `unit` is `dead`, `stuck_open` or has `thrust_factor` times its thrust, a motor `unit` `torque_factor` times its
    torque, either may be `exchanged` with the unit `other`; the grip `unit` `stays_open`.
    """

    device: Name  #: name of the device
    #: the fault
    what: Literal[
        "silent", "frozen", "not_finite", "offset", "drift", "counter_jump", "time_jump",
        "late", "refuses", "does_not_stop", "dead", "stuck_open", "thrust_factor", "torque_factor", "exchanged",
        "stays_open",
    ]  # fmt: skip
    unit: str | None = None  #: signal of a sensor, or thruster, motor or grip
    #: the unit with which it is exchanged
    other: str | None = None
    value: float | None = None  #: its size, in the unit of the signal or in seconds
    duration_s: Positive | None = None  #: none: permanent

    @model_validator(mode="after")
    def _names_what_it_needs(self) -> FaultEvent:
        if self.what in _OF_A_UNIT and self.unit is None:
            raise InputError.missing("unit", f"the name of a unit or signal where what = '{self.what}'")
        if self.what in _WITH_A_VALUE and self.value is None:
            raise InputError.missing("value", f"a number where what = '{self.what}'")
        if self.what not in _WITH_A_VALUE and self.value is not None:
            raise InputError(key="value", value=self.value, expected=f"none where what = '{self.what}'")
        if (self.what == "exchanged") != (self.other is not None):
            expected = "the other unit where what = 'exchanged', else none"
            raise InputError(key="other", value=self.other, expected=expected)
        if self.what == "late" and (self.value or 0.0) < 0:
            raise InputError(key="value", value=self.value, expected="at least 0 where what = 'late'")
        if self.what == "counter_jump" and self.value != round(self.value or 0.0):
            raise InputError(key="value", value=self.value, expected="a whole number of frames")
        if self.unit is not None and self.what not in (*_OF_A_UNIT, "frozen"):
            raise InputError(key="unit", value=self.unit, expected=f"none where what = '{self.what}'")
        return self


class DropOutEvent(TimedEvent):
    """A sensor gives no new frame for a while."""

    device: Name  #: name of the sensor
    duration_s: Positive  #: time without a new frame


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
