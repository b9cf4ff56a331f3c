"""The fault table: how each fault is noticed, how long it must last, the response to it, and who may clear it.

Every fault has a default; a testbed changes rows of it in `[safety.responses]`:

    [safety.responses]
    tracking_error = "hold"
    base_too_fast = { response = "stop", lasting_s = 0.1, cleared_by = "nobody" }

A response must be possible: one that needs an estimate is refused where the fault makes the estimate untrusted.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from pydantic import model_validator

from granite.config.base import NotNegative, Positive, Table
from granite.config.errors import InputError, one_of

Response = Literal["warn", "hold", "float", "stop", "stop_at_once"]
#: from the mildest to the most severe
RESPONSES: tuple[Response, ...] = ("warn", "hold", "float", "stop", "stop_at_once")
Clearing = Literal["itself", "operator", "nobody"]

#: estimate and commands can be trusted: every response is possible
_TRUSTED = RESPONSES
#: the estimate may be wrong: nothing that needs it, and joints are damped at the user's own judgement
_DOUBTFUL: tuple[Response, ...] = ("warn", "float", "stop_at_once")
#: the reference or the demand can't be used, but those of another mode can
_REPLACED: tuple[Response, ...] = ("hold", "float", "stop", "stop_at_once")
#: no command can be made or trusted
_NO_COMMAND: tuple[Response, ...] = ("stop_at_once",)


class Fault(NamedTuple):
    """A row of the fault table."""

    noticed: str  #: how
    possible: tuple[Response, ...]
    response: Response
    cleared_by: Clearing = "nobody"
    #: until it has lasted for this long it is a warning
    lasting_s: float = 0.0
    #: a hold or float that has not cleared itself ends the run after this time
    ends_after_s: float = math.inf

    @property
    def passes(self) -> bool:
        """Whether a command may be written in spite of the fault."""
        return "warn" in self.possible


def _cut(noticed: str) -> Fault:
    return Fault(noticed, _NO_COMMAND, "stop_at_once")


def _doubt(noticed: str) -> Fault:
    return Fault(noticed, _DOUBTFUL, "stop_at_once")


FAULTS: dict[str, Fault] = {
    "sensors_never_reported": _cut("no frame within safety.start_up_s"),
    "sample_not_finite": _cut("a measurement is NaN or infinite"),
    "state_not_finite": _cut("the estimate is NaN or infinite"),
    "command_not_finite": _cut("the command is NaN or infinite"),
    "setpoint_out_of_range": _cut("a set point is beyond the range of its actuator"),
    "reference_not_finite": Fault("the reference is NaN or infinite", _REPLACED, "stop"),
    "demand_not_finite": Fault("the demand is NaN or infinite", _REPLACED, "stop_at_once"),
    "distribution_failed": Fault("the force distribution found no answer", _REPLACED, "float", "operator"),
    "applied_not_finite": _cut("an actuator reports NaN or infinity"),
    "applied_out_of_range": _cut("an actuator reports more than its bounds"),
    "sensor_saturated": _doubt("a measurement is at the end of its sensor's range"),
    "sensor_stale": _doubt("the newest frame is older than safety.age_s"),
    "sensor_fault": _cut("a sensor reports that it is broken"),
    "actuator_fault": _cut("an actuator is silent, refuses, or reports that it is broken"),
    "sensor_ahead": _doubt("a frame has a time in the future"),
    "sensor_time_back": _doubt("a new frame is older than the last one"),
    "sensor_counter": _doubt("a frame counter goes back or jumps"),
    "sensor_frozen": _doubt("a value repeats although the sensor has noise"),
    "sensor_outliers": _doubt("too many refused frames in a row"),
    "sensor_biased": _doubt("measurements stay on one side of their prediction"),
    "sensors_disagree": _doubt("a sensor contradicts the estimate from the others"),
    "table_edge": Fault("a base is outside safety.table_m", _TRUSTED, "stop"),
    "base_too_fast": Fault("a base moves or turns too fast", _TRUSTED, "stop"),
    "joint_limit": Fault("a joint is outside its range", _TRUSTED, "stop"),
    "joint_too_fast": Fault("a joint turns too fast", _TRUSTED, "stop"),
    "brake_fails": _cut("a rate grows in a brake, or too fast for one"),
    "tracking_error": Fault("too far from the reference", _TRUSTED, "stop"),
    "motion_unexplained": _doubt("model and commands do not explain the motion"),
    "model_doubted": Fault(
        "the motion differs from the model, and no other limit is broken", _TRUSTED, "hold", "itself", 2.0, 10.0
    ),
    "motor_gain": _doubt("a motor gives less torque than commanded, or the other way"),
    "reference_jump": Fault("the reference jumps", _TRUSTED, "stop"),
    "torque_step": Fault("a torque changes too much in one tick", _TRUSTED, "stop"),
    "table_edge_ahead": Fault("a base could not stop before the edge", _TRUSTED, "hold", "operator"),
    "keep_out": Fault("a body is in a zone or another module", _TRUSTED, "stop"),
    "keep_out_ahead": Fault("a body could not stop before a zone", _TRUSTED, "hold", "operator"),
    "low_pressure": Fault("the supply pressure of thrusters is low", _TRUSTED, "stop"),
    "operator_stop": Fault("stop by the operator, Ctrl-C or a signal", ("stop", "stop_at_once"), "stop"),
    "overrun_burst": Fault("too many overruns within a second", _TRUSTED, "warn", "itself"),
    "recorder_lost": Fault("the recorder's process has ended", _TRUSTED, "warn"),
    "disk_full": Fault("the disk has less than least_free_mb", _TRUSTED, "warn", "operator"),
    "operator_lost": Fault(
        "an operator who watches is silent, or the channel ended or hangs", _TRUSTED, "hold", "operator"
    ),
    "emergency_stop": _cut("the emergency stop was pressed, by input, operator or keyboard"),
}


class FaultResponse(Table):
    """The response to a fault; a key that is left out has the value of the fault table."""

    response: Response | None = None  #: what the guard does
    #: the fault must last for this long
    lasting_s: NotNegative | None = None
    #: who ends a hold or a float
    cleared_by: Clearing | None = None
    #: a hold or float that has not cleared itself becomes a stop after this time
    ends_after_s: Positive | None = None

    @model_validator(mode="before")
    @classmethod
    def _may_be_a_word(cls, content: Any) -> Any:
        return {"response": content} if isinstance(content, str) else content


class FaultReaction(NamedTuple):
    """What the supervisor does about a fault."""

    response: Response
    lasting_s: float
    cleared_by: Clearing
    ends_after_s: float


def answer_to(fault: str, from_bed: FaultResponse | None) -> FaultReaction:
    """The response to a fault: that of the testbed, else the default."""
    usual, chosen = FAULTS[fault], from_bed or FaultResponse()
    return FaultReaction(
        chosen.response or usual.response,
        usual.lasting_s if chosen.lasting_s is None else chosen.lasting_s,
        chosen.cleared_by or usual.cleared_by,
        usual.ends_after_s if chosen.ends_after_s is None else chosen.ends_after_s,
    )


def refuse_impossible(responses: dict[str, FaultResponse]) -> None:
    """Raise where a fault is unknown, or its response is not possible."""
    for name, response in responses.items():
        key = f"responses.{name}"
        if name not in FAULTS:
            raise InputError("no such fault", key=key, expected=one_of(name, FAULTS))
        fault = FAULTS[name]
        if response.response is not None and response.response not in fault.possible:
            raise InputError(
                f"not possible when {fault.noticed}", key=f"{key}.response", value=response.response,
                expected=one_of(response.response, fault.possible),
            )  # fmt: skip
        if response.lasting_s and not fault.passes:
            raise InputError(
                f"no command can be written when {fault.noticed}", key=f"{key}.lasting_s", value=response.lasting_s,
                expected="0",
            )  # fmt: skip
