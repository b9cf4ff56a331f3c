"""The compiled steps give the bits of the steps in Python, on every controlled testbed and in every kind of verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.records import Array, Demand, Reference, State
from granite.config.testbed import Testbed
from granite.controllers.laws.computed_torque import ComputedTorque
from granite.controllers.model import ControlModel
from granite.kernels.c_compiler import find_compiler
from granite.rt.loop.clock import VirtualClock
from granite.rt.loop.loop import Outcome
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run
from granite.rt.steps.compiled_steps import steps_in_python
from granite.rt.steps.step_by_step import StepByStep
from granite.rt.supervisor.supervisor import Supervisor
from tests.support.compiled_ticks import rows_of
from tests.support.quick_cases import quick
from tests.support.testbeds import controlled, of_each_structure, shortened

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="compiled steps need a C compiler")


def assert_equal_to_the_bit(bed: Testbed) -> tuple[Array, Outcome, Run]:
    rows, outcome, run = rows_of(bed, compiled=True)
    expected, expected_outcome, _ = rows_of(bed, compiled=False)
    assert (outcome.reason, outcome.ticks) == (expected_outcome.reason, expected_outcome.ticks)
    kept = np.ones(run.channels.width, dtype=bool)
    kept[run.channels.columns("/timing", "steps")] = False
    differs = (rows.view(np.uint64) != expected.view(np.uint64)) & kept
    assert not differs.any(), np.argwhere(differs)[:5]
    return rows, outcome, run


@pytest.mark.parametrize(
    "name",
    [
        "free-flyer",
        "free-flyer/report-1987",
        "astrobee",
        pytest.param("two-arm-free-flyer/pulse-width", marks=pytest.mark.slow),
        pytest.param("free-flyer/perfect-sensors", marks=pytest.mark.slow),
    ],
)
def test_a_run_has_the_bits_of_the_run_in_python(name: str):
    rows, outcome, run = assert_equal_to_the_bit(load(name, ["loop.duration_s=2.5"]))
    assert outcome.reason is Reason.PASSED
    reasons = rows[:, run.channels.columns("/verdict", "reason")]
    assert name.endswith("perfect-sensors") or reasons[0] == Reason.WAITING_FOR_SENSORS
    assert reasons[-1] == Reason.PASSED


@pytest.mark.slow
def test_a_gyro_an_accelerometer_and_a_second_pose_are_fused_with_the_bits_of_python():
    second = "devices.second={kind='vision', rate_hz=25.0, latency_s=0.11, position_noise_m=2e-3}"
    beside = ["devices.gyro={}", "devices.accelerometer={position_m=[0.1, 0.2]}", second]
    rows, outcome, run = assert_equal_to_the_bit(load("free-flyer", ["loop.duration_s=2.5", *beside]))
    assert outcome.reason is Reason.PASSED
    bias = rows[-1, run.channels.columns("/state", "bias")]
    assert np.isfinite(bias).sum() == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", of_each_structure(controlled()))
def test_every_controlled_testbed_has_the_bits_of_the_run_in_python(name: str):
    assert_equal_to_the_bit(shortened(load(name)))


@pytest.mark.parametrize(
    ("name", "in_python"),
    [
        ("fixed-dual-arm/carry", []),
        pytest.param("fixed-dual-arm/pick-and-place", [], marks=pytest.mark.slow),
        pytest.param("leap", [], marks=pytest.mark.slow),
        ("flexible-arm", []),
        pytest.param("spatial-dual-arm/carry-flexible", [], marks=pytest.mark.slow),
    ],
)
def test_parts_in_python_stand_between_compiled_ones(name: str, in_python: list[str]):
    rows, _, run = assert_equal_to_the_bit(load(name, ["loop.duration_s=0.5"]))
    assert steps_in_python(run.stack) == in_python
    assert rows[-1, run.channels.columns("/verdict", "reason")] == Reason.PASSED


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("fixed-dual-arm/carry", ["devices.motors.units.0.torque_limit_n_m=0.3"]),
        pytest.param(
            "leap", ["devices.motors.units.1.torque_limit_n_m=0.2", "loop.duration_s=9"], marks=pytest.mark.slow
        ),
    ],
)
def test_ticks_at_a_torque_limit_are_solved_in_python_between_compiled_ones(name, changes, monkeypatch):
    """Only these call the law in Python, and what they leave is where the compiled law goes on."""
    bed = load(name, changes)
    law, calls = type(Run(bed).stack.law), []
    control = law.control
    monkeypatch.setattr(law, "control", lambda *given: calls.append(given[1].t) or control(*given))
    rows, _, run = rows_of(bed, compiled=True)
    n_limited = sum(t > 0.2 for t in calls)  # before that, sensors have not reported
    monkeypatch.undo()
    expected, _, _ = rows_of(bed, compiled=False)
    assert 10 < n_limited < 0.9 * len(rows)
    demand = run.channels.topic("/demand")
    assert np.array_equal(rows[:, demand.start : demand.stop], expected[:, demand.start : demand.stop], equal_nan=True)


def test_a_subclass_does_not_run_in_the_compiled_form_of_its_base():
    class Limp(ComputedTorque):
        def control(self, state: State, reference: Reference) -> Demand:
            demand = super().control(state, reference)
            return demand._replace(force=0 * demand.force, wrench=0 * demand.wrench)

    bed = load("free-flyer")
    law = Limp(bed.control.law, ControlModel(bed))
    assert steps_in_python(replace(Run(bed).stack, law=law)) == ["law"]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ('{at_s=1.0, kind="drop_out", device="vision", duration_s=9}', Reason.SENSOR_STALE),
        ('{at_s=1.0, kind="drop_out", device="vision", duration_s=0.1}', Reason.PASSED),
        ('{at_s=2.2, kind="push", body="base", duration_s=1, force_n=[40, 0]}', Reason.MOTION_UNEXPLAINED),
    ],
)
def test_faults_are_decided_as_in_python(event: str, reason: Reason):
    bed = load("free-flyer", ["loop.duration_s=3", f"simulation.events=[{event}]"])
    _, outcome, _ = assert_equal_to_the_bit(bed)
    assert outcome.reason is reason


def test_a_clamped_set_point_is_decided_as_in_python():
    """Stiff joints that are pushed, and no allocation that keeps torques within the limits of the motors."""
    changes = ["controller.law.gains.joints.stiffness_1_s2=3000", "controller.resolve_delivered=false"]
    push = '[{at_s=1.0, kind="push", body="forearm", duration_s=0.2, force_n=[8, 0]}]'
    rows, _, run = assert_equal_to_the_bit(
        load("free-flyer", ["loop.duration_s=2", *changes, f"simulation.events={push}"])
    )
    assert Reason.SETPOINT_CLAMPED in rows[:, run.channels.columns("/verdict", "reason")]


@pytest.mark.slow
def test_ticks_that_were_skipped_are_predicted_as_in_python():
    """A history longer than its memory, and predictions over several periods."""
    rows = {}
    for compiled in (True, False):
        run = Run(load("free-flyer", ["loop.duration_s=6", "loop.period_s=0.01"]))
        supervisor = Supervisor(run.bed, run.stack, run.guard)
        steps = (compiled and run.compiled_steps) or StepByStep(run.channels, run.guard)
        steps.begin(supervisor)
        run.devices.open()
        rows[compiled], k = [], 0
        while k < run.ticks:
            decision = steps.run(run.devices.read(k * 0.01), run.stack)
            run.devices.write(k * 0.01, decision.verdict.command)
            rows[compiled].append(decision.records)
            k += 1 if k % 7 else 3
    assert rows[True] == rows[False]


def test_gains_are_parameters_of_the_compiled_steps():
    soft, stiff = (
        load("free-flyer", ["loop.duration_s=1.5", f"controller.law.gains.base.stiffness_1_s2={k}"]) for k in (0.2, 2)
    )
    run = Run(soft)
    steps = run.compiled_steps
    assert steps is not None
    run.stack.law.parameters["stiffness"][:] = Run(stiff).stack.law.parameters["stiffness"]  # type: ignore[attr-defined]
    memory = Memory(run.channels, run.ticks)
    run.execute(VirtualClock(), memory)
    expected, _, _ = rows_of(stiff, compiled=True)
    demand = run.channels.columns("/demand", "force")
    assert np.array_equal(memory.rows[:, demand], expected[:, demand])


@pytest.mark.parametrize("ticks", quick([0, 3, 30, 250, 500], 0, 250))
def test_the_parts_in_python_continue_where_the_compiled_ones_end(ticks: int):
    """In the first ticks nothing has been measured; later the history of poses has been shortened."""
    records = {}
    for switches in (True, False):
        run = Run(load("two-arm-free-flyer", [f"loop.duration_s={0.005 * ticks + 1}"]))
        supervisor = Supervisor(run.bed, run.stack, run.guard)
        steps, step_by_step = run.compiled_steps, StepByStep(run.channels, run.guard)
        assert steps is not None
        steps.begin(supervisor)
        step_by_step.begin(supervisor)
        run.devices.open()
        records[switches] = []
        for k in range(run.ticks):
            # From then on the forms take turns.
            form = steps if switches and (k < ticks or k % 2) else step_by_step
            decision = form.run(run.devices.read(k * 0.005), run.stack)
            run.devices.write(k * 0.005, decision.verdict.command)
            records[switches].append(decision.records)
    assert records[True] == records[False]
