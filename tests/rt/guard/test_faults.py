"""Every fault of the table ends as declared: by name, in time, with a sentence that has subject, value and limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.records import Demand, Frame, Reference, State
from granite.config.verdict_subjects import sentence, subjects
from granite.controllers.stack import ControlLaw
from granite.drivers.contract import Sensor
from granite.rt.guard.monitor import residual_limits
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.replay import replay
from granite.rt.run import Run
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.fault_table import MOVE, TABLE, Case, Row, cases, inject
from tests.support.measurements import measured
from tests.support.quick_cases import quick

ONE_OF_EACH = list({case.row.fault: case for case in cases(1)}.values())


def complaint(case: Case) -> str:
    """What is not as declared; empty where all is."""
    row, outcome = case.row, inject(case)
    said = f"{case}: {outcome.reason.name} after {outcome.after_s:.3f} s ({outcome.text})"
    goes_on = not outcome.reason.stops or outcome.reason is Reason.MODEL_DOUBTED
    ends_wrongly = not row.ends if not outcome.completed else not goes_on
    if outcome.reason not in row.noticed_by or outcome.after_s > row.within_s or ends_wrongly:
        return said
    return "" if outcome.text != outcome.reason.text else f"{said}: no subject"


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=lambda case: case.row.fault)
def test_a_fault_is_noticed_by_name_in_time(case: Case) -> None:
    assert complaint(case) == ""


@pytest.mark.slow
def test_three_hundred_faults_each_end_as_declared() -> None:
    every = list(cases(4))
    assert len(every) >= 300
    assert [said for case in every if (said := complaint(case))] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "bed", ["free-flyer", "two-arm-free-flyer", "atmos", "spot", "spot/arm", "astrobee", "stanford-free-flyer"]
)
def test_clean_runs_end_by_no_fault(bed: str) -> None:
    for seed in range(1, 6):
        outcome = quiet(Run(load(bed, {"seed": seed})))
        assert outcome == (Reason.PASSED, ""), seed


@pytest.mark.parametrize(
    ("force", "ended"), [(20.0, "completed"), pytest.param(40.0, "tracking_error", marks=pytest.mark.slow)]
)
def test_a_push_before_the_estimate_has_settled_is_no_silent_camera(force: float, ended: str) -> None:
    """The poses of a base that is pushed look wrong; the filter begins anew before they are too old, in both forms."""
    push = {"kind": "push", "at_s": 0.6, "body": "base", "force_n": [force, 0.0], "duration_s": 0.3}
    log = simulate_in_memory(load("free-flyer", {"simulation.events": [push], "loop.duration_s": 3.0}))
    assert log.summary is not None
    assert log.summary["ended"] == ended
    assert "sensor_stale" not in log.summary["guard"]
    assert log.summary["estimation_error"]["base_x"]["max"] < 0.15
    assert replay(log).first is None


def test_the_move_of_the_table_without_a_fault_ends_by_none() -> None:
    changes = {"behaviour.waypoints": MOVE, "behaviour.check_moves": False, "loop.duration_s": 15.0}
    assert quiet(Run(load("free-flyer", changes))) == (Reason.PASSED, "")


FROM_SIX_SECONDS = {
    "thrusters late": ({"device": "thrusters", "what": "late", "value": 0.2},),
    "joint sensors late": ({"device": "joint_sensors", "what": "late", "value": 0.03},),
    "payload in the hand": ({"kind": "payload", "body": "forearm", "mass_kg": 2.0},),
    "payload on the base": ({"kind": "payload", "body": "base", "mass_kg": 10.0},),
    "half thrust": tuple(
        {"device": "thrusters", "what": "thrust_factor", "unit": f"r{i}", "value": 0.5} for i in range(1, 9)
    ),
}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=() if fault == "joint sensors late" else pytest.mark.slow)
        for fault in FROM_SIX_SECONDS
    ],
)
def test_what_is_not_noticed_is_as_the_page_says(fault: str) -> None:
    events = [{"kind": "fault", "at_s": 6.0, **event} for event in FROM_SIX_SECONDS[fault]]
    summary = simulate_in_memory(load("free-flyer", {"simulation.events": events})).summary
    assert summary is not None
    assert summary["ended"] == "completed"
    assert set(summary["guard"]) - {"passed", "waiting_for_sensors"} == (
        {"model_doubted"} if fault == "half thrust" else set()
    )
    errors = [summary["tracking_error"][f"base_{axis}"]["max"] for axis in "xy"]
    assert max(errors) < (0.033 if fault == "half thrust" else 0.005)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
def test_the_table_has_every_row(row: Row) -> None:
    names = ", ".join(reason.name.lower() for reason in row.noticed_by)
    declared = {"fault": row.fault, "event": row.what, "noticed by": names, "within": f"{row.within_s:g} s"}
    assert any((declared | {"response": row.response}).items() <= said.items() for said in measured("faults"))


class Spoilt:
    """A law whose demand has a NaN from a time on."""

    def __init__(self, law: ControlLaw, part: str, at: float) -> None:
        self._law, self._part, self._at = law, part, at

    def control(self, state: State, reference: Reference) -> Demand:
        demand = self._law.control(state, reference)
        if state.t < self._at:
            return demand
        values = getattr(demand, self._part).copy()
        values[-1] = np.nan
        return demand._replace(**{self._part: values})


@pytest.mark.parametrize("part", ["acceleration", "force", "wrench"])
def test_a_demand_that_is_not_finite_ends_the_run_in_the_same_tick(part: str) -> None:
    run = Run(load("free-flyer", {"loop.duration_s": 1.0}))
    run.stack = replace(run.stack, law=Spoilt(run.stack.law, part, 0.5))
    memory = Memory(run.channels, run.ticks)
    outcome = run.execute(VirtualClock(), memory)
    assert (outcome.reason, outcome.t) == (Reason.DEMAND_NOT_FINITE, pytest.approx(0.5))


class Every:
    """A sensor of which only every n-th frame arrives."""

    def __init__(self, sensor: Sensor, n: int) -> None:
        self._sensor, self._n, self._k = sensor, n, 0
        self.open, self.close = sensor.open, sensor.close
        self._frame: Frame | None = None

    def read(self, t: float) -> Frame:
        frame = self._sensor.read(t)
        if self._frame is None or self._k % self._n == 0:
            self._frame = frame
        self._k += 1
        return self._frame


def estimation_errors(every: int) -> Sequence[float]:
    """Largest errors of the joints after the first second, where joint frames arrive at every n-th tick only."""
    bed = load("free-flyer", {"loop.duration_s": 3.0, "safety.age_s.joint_sensors": 1.0})
    run = Run(bed)
    run.devices._reads[0] = Every(run.devices._sensors["joint_sensors"], every).read
    memory = Memory(run.channels, run.ticks)
    assert run.execute(VirtualClock(), memory).reason is Reason.PASSED
    truth, estimate = (memory.rows[200:, run.channels.columns(topic, "q")] for topic in ("/truth", "/state"))
    largest: Sequence[float] = np.abs(estimate - truth)[:, 3:].max(axis=0).tolist()
    return largest


@pytest.mark.parametrize("every", quick(range(1, 21), 1, 3, 20))
def test_joint_frames_at_any_interval_keep_the_estimate(every: int) -> None:
    """Offsets of the simulated sensors are 1 and 0.5 mrad; 100 ms between frames add less than 2 mrad."""
    assert max(estimation_errors(every)) < 3e-3


def quiet(run: Run) -> tuple[Reason, str]:
    """How a run ended, with its sentence."""
    memory = Memory(run.channels, run.ticks)
    outcome = run.execute(VirtualClock(), memory)
    return outcome.reason, sentence(subjects(run.bed), outcome.verdict) if outcome.verdict else ""


def test_limits_of_what_the_model_does_not_explain_are_parts_of_the_data_sheet() -> None:
    bed = load(
        "free-flyer", {"safety.monitor.residual_torque_ratio": 0.1, "safety.monitor.residual_n": {"base_y": 0.3}}
    )
    limits = residual_limits(bed)
    assert [limits[i] for i in (3, 4)] == pytest.approx([0.1 * 2.0, 0.1 * 1.0])  # torques of shoulder and elbow
    assert limits[0] == pytest.approx(0.5 * 1.0)  # half of a thruster of 1 N
    assert limits[1] == 0.3
