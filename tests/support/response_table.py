"""The table of responses: what is wrong, by which reason it is noticed, the declared response, and its time.

`docs/measurements/responses.csv` has the same rows for people. Unless said otherwise it happens to the free-flyer on
its own move, at 66 mm/s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from granite.config.reasons import Reason
from granite.config.records import Command, Demand, Reference, State
from granite.config.responses import RESPONSES
from granite.config.run_modes import Request, RequestKind, RunMode
from granite.controllers.distribution.force_distribution import DistributionOutcome
from granite.controllers.stack import ControlAllocation, RobotBehaviour
from granite.rt.run import Run
from tests.support.scripted_operator import ScriptedRun, scripted

AT_S = 8.0
#: speed of a base that is at rest, with the ripple of its thrusters [m/s]
STILL = 0.006


class SpoiltReference:
    """A behaviour whose reference is wrong from a time on."""

    def __init__(self, behaviour: RobotBehaviour, error: float) -> None:
        self._behaviour, self._error = behaviour, error

    def decide(self, state: State) -> Reference:
        reference = self._behaviour.decide(state)
        return reference._replace(q=reference.q + self._error) if state.t >= AT_S else reference


def spoil_reference(error: float) -> Callable[[Run], None]:
    def prepare(run: Run) -> None:
        run.stack = replace(run.stack, behaviour=SpoiltReference(run.stack.behaviour, error))

    return prepare


class SteppedTorque:
    """An allocate step that adds 1.5 N m to every torque in one tick."""

    def __init__(self, actuation: ControlAllocation) -> None:
        self._actuation = actuation

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        command = self._actuation.allocate(state, reference, demand)
        if round((state.t - AT_S) / 0.005) != 0:
            return command
        motors, *others = command.setpoints
        return command._replace(setpoints=(motors + 1.5, *others))


def step_torque(run: Run) -> None:
    run.stack = replace(run.stack, actuation=SteppedTorque(run.stack.actuation))


def break_solver(run: Run) -> None:
    """From the 200th tick on the distribution has no answer."""
    distribution = run.stack.law.distribution  # type: ignore[attr-defined]
    solve, count = distribution.solve, iter(range(10_000))

    def failing(grasp):  # type: ignore[no-untyped-def]
        answer = solve(grasp)
        failed = answer._replace(outcome=DistributionOutcome.FAILED, status=-1)
        return failed if next(count) >= 200 else answer

    distribution.solve = failing
    run.compiled_steps = None


class Row(NamedTuple):
    """A fault with its response."""

    fault: str  #: as `docs/measurements/responses.csv` calls it
    reason: Reason
    response: str
    within_s: float  #: from the notice until the response is complete: at rest, valves closed, or run ended
    request: Request | None = None
    changes: tuple[str, ...] = ()
    bed: str = "free-flyer"
    prepare: Callable[[Run], None] = lambda run: None


def _report(reason: Reason) -> Request:
    return Request(RequestKind.REPORT, argument=reason)


TABLE = (
    Row("base could not stop before the edge", Reason.TABLE_EDGE_AHEAD, "hold", 4.0,
        changes=("safety.table_m=[0.3,0.3,1.5,2.44]",)),
    Row("base outside the table", Reason.TABLE_EDGE, "stop", 4.0, changes=("safety.table_m=[0.3,0.3,1.2,2.44]",
        "safety.responses.table_edge_ahead=warn")),
    Row("base too fast", Reason.BASE_TOO_FAST, "stop", 4.0, changes=("safety.base_speed_m_s=0.06",)),
    Row("joint outside its range", Reason.JOINT_LIMIT, "stop", 4.0,
        changes=("safety.joints=[{joint='shoulder', lower_rad=0.2, upper_rad=1.9, rate_rad_s=3}]",)),
    Row("joint too fast", Reason.JOINT_TOO_FAST, "stop", 4.0,
        changes=("safety.joints=[{joint='shoulder', lower_rad=-1.9, upper_rad=1.9, rate_rad_s=0.03}]",)),
    Row("supply pressure low", Reason.LOW_PRESSURE, "stop", 4.0,
        changes=("devices.pressure={low_pa=6e5}", "devices.thrusters.simulated.tank_n_s=20")),
    Row("gyro contradicts the poses", Reason.SENSORS_DISAGREE, "stop_at_once", 0.01,
        changes=("devices.gyro={simulated={bias_rad_s=0.2}}",)),
    Row("too far from the reference", Reason.TRACKING_ERROR, "stop", 4.0, changes=("safety.tracking_error_m=0.001",)),
    Row("reference jumps by 0.2", Reason.REFERENCE_JUMP, "stop", 4.0, prepare=spoil_reference(0.2)),
    Row("reference is NaN", Reason.REFERENCE_NOT_FINITE, "stop", 4.0, prepare=spoil_reference(np.nan)),
    Row("torque steps", Reason.TORQUE_STEP, "stop", 4.0, prepare=step_torque),
    Row("force distribution without an answer, two arms", Reason.DISTRIBUTION_FAILED, "float", 0.01,
        bed="fixed-dual-arm/carry", prepare=break_solver),
    Row("operator stop, Ctrl-C", Reason.OPERATOR_STOP, "stop", 4.0, Request(RequestKind.STOP)),
    Row("operator hold", Reason.OPERATOR_HOLD, "hold", 4.0, Request(RequestKind.HOLD)),
    Row("operator float", Reason.OPERATOR_FLOAT, "float", 0.01, Request(RequestKind.FLOAT)),
    Row("emergency stop by operator or keyboard", Reason.EMERGENCY_STOP, "stop_at_once", 0.01,
        Request(RequestKind.EMERGENCY_STOP)),
    Row("emergency stop by its input", Reason.EMERGENCY_STOP, "stop_at_once", 0.01,
        changes=("devices.emergency_stop={simulated={pressed_at_s=8}}",)),
    Row("operator lost", Reason.OPERATOR_LOST, "hold", 4.0, _report(Reason.OPERATOR_LOST)),
    Row("burst of overruns", Reason.OVERRUN_BURST, "warn", 0.01, _report(Reason.OVERRUN_BURST)),
    Row("recorder lost", Reason.RECORDER_LOST, "warn", 0.01, _report(Reason.RECORDER_LOST)),
    Row("disk full", Reason.DISK_FULL, "warn", 0.01, _report(Reason.DISK_FULL)),
)  # fmt: skip


class RowAnswer(NamedTuple):
    """How a row went."""

    reason: Reason
    response: str
    after_s: float  #: from the notice until the response was complete


def answer(row: Row) -> RowAnswer:
    """Let it happen; the reason, the response that was given, and how long it took."""
    requests = {AT_S: row.request} if row.request else {}
    duration = () if row.bed != "free-flyer" else ("loop.duration_s=16",)
    done = scripted(requests, *duration, *row.changes, bed=row.bed, prepare=row.prepare)
    asked, noticed = done.column("/operation", "request"), done.column("/verdict", "reason")
    first = int(np.argmax(asked > 0)) if row.request else int(np.argmax(noticed == row.reason))
    reason = Reason(int(done.column("/operation", "cause")[first + 1 :].max(initial=0))) or Reason(int(noticed[first]))
    if row.request and row.request.ask is RequestKind.REPORT and not reason:
        reason = Reason(int(done.column("/operation", "argument")[first]))
    return RowAnswer(reason or row.reason, *_given(done, first))


def _given(done: ScriptedRun, first: int) -> tuple[str, float]:
    """The response, and when it was complete."""
    t, last = done.column("/sample", "t_s"), RunMode(int(done.column("/operation", "mode")[-1]))
    if last is RunMode.RUNNING and done.outcome.reason is Reason.PASSED:
        return RESPONSES[0], 0.0
    speed = np.linalg.norm(done.entry("/truth", "u")[:, :2], axis=1)
    if last in (RunMode.STOPPING, RunMode.STOPPED, RunMode.RUNNING):  # the last: in the tick of the notice
        braked = last is RunMode.STOPPING and speed[-1] < STILL
        return "stop" if braked else "stop_at_once", float(t[-1] - t[first])
    if last is RunMode.FLOATING:
        thrust = done.entry("/verdict", "thrust")
        opened = np.flatnonzero(thrust.any(axis=1)) if thrust.shape[1] else np.array([first])
        return "float", float(t[max(opened.max(initial=0) + 1, first)] - t[first])
    moving = np.flatnonzero(speed >= STILL)
    assert moving[-1] + 1 < len(t), "never at rest"
    return "hold", float(t[moving[-1] + 1] - t[first])
