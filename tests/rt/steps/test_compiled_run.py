"""A run that is compiled as a whole has the rows of the loop in Python, to the bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.kernels.c_compiler import find_compiler
from granite.mrds.contacts.switching import Switching
from granite.rt.compiled_run import CompiledRun, is_compilable, parts_in_python
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run
from granite.rt.run_in_memory import logged, simulate_in_memory
from tests.support.compiled_runs import assert_equal_to_the_bit, assert_same_rows
from tests.support.jointed_beds import free_flyer_and_bar
from tests.support.quick_cases import quick
from tests.support.testbeds import controlled, of_each_structure, shortened

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="compiled runs need a C compiler")


BEST_PATTERN = ["controller.allocation.sharing=best_pattern", "controller.allocation.modulation=threshold"]


@pytest.mark.parametrize(
    "name",
    quick(
        [
            "free-flyer",
            "free-flyer/report-1987",
            "free-flyer/pulse-width",
            "free-flyer/perfect-sensors",
            "free-flyer/ideal",
            "two-arm-free-flyer",
            "astrobee",
            "fixed-dual-arm/carry",
            "two-arm-carry",
            "two-arm-carry/gauges",
            "two-arm-carry/ideal",
            "two-flyers",
            "two-flyers/beam",
            "three-flyers",
        ],
        "free-flyer",
        "free-flyer/pulse-width",
        "fixed-dual-arm/carry",
    ),
)
def test_a_compiled_run_has_the_bits_of_the_loop(name: str):
    assert assert_equal_to_the_bit(load(name, ["loop.duration_s=3"])).reason is Reason.PASSED


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "two-arm-catch",
        "leap",
        "fixed-dual-arm/pick-and-place",
        "two-flyers/docking",
        "two-arm-carry/pick-and-place",
        "two-arm-carry/catch",
    ],
)
def test_contacts_that_are_closed_and_opened_have_the_bits_of_the_loop(name: str):
    assert assert_equal_to_the_bit(load(name)).reason is Reason.PASSED


@pytest.mark.slow
def test_a_grip_that_closes_too_early_is_tried_at_every_step_until_it_holds(monkeypatch: pytest.MonkeyPatch):
    """Grips reach less far than the behaviour expects."""
    monkeypatch.setattr(Switching.__init__, "__kwdefaults__", {"rest_speed": 1e-3, "reach": 2e-4})
    bed = load("two-arm-catch", ["seed=5", "loop.duration_s=20"])
    assert_equal_to_the_bit(bed)
    log = simulate_in_memory(bed)
    closed = log.rows[:, log.channels.columns("/truth", "closed")]
    assert (closed == 3.0).sum() > 5
    assert closed[-1].max() == 1.0


@pytest.mark.slow
def test_a_machine_begins_anew_in_every_run():
    run = Run(load("leap", ["loop.duration_s=12"]))
    compiled = CompiledRun(run)
    first, other, again = (rows[0] for seed in (7, 8, 7) if (rows := compiled.rows(seed)))
    assert_same_rows(run, again, first)
    assert not np.array_equal(first, other)


def test_the_best_pattern_has_the_bits_of_the_loop():
    assert assert_equal_to_the_bit(load("free-flyer", ["loop.duration_s=3", *BEST_PATTERN])).reason is Reason.PASSED


@pytest.mark.slow
def test_a_measured_floor_has_the_bits_of_the_loop():
    """Its slope changes the run."""
    heights = (1e-3 * np.sin(np.arange(20))).tolist()
    floor = {"corner_m": [0.5, 0.5], "spacing_m": 0.4, "columns": 5, "heights_m": heights}
    bed = load("free-flyer", {"loop.duration_s": 1.5, "floor": floor})
    assert_equal_to_the_bit(bed)
    level = simulate_in_memory(bed.model_copy(update={"floor": None})).rows[-1]
    assert not np.array_equal(simulate_in_memory(bed).rows[-1], level)


@pytest.mark.parametrize("allocation", [[], pytest.param(BEST_PATTERN, marks=pytest.mark.slow)])
def test_a_shared_supply_and_measured_pressure_have_the_bits_of_the_loop(allocation: list[str]):
    """The thrust that is expected falls with the pressure, which the state has."""
    supply = ["devices.pressure={ low_pa = 1e5 }", "devices.thrusters.simulated.tank_n_s=10"]
    drop = ["devices.thrusters.shared_drop=0.1", "devices.thrusters.simulated.shared_drop=0.1"]
    bed = load("free-flyer", ["loop.duration_s=2.5", *supply, *drop, *allocation])
    assert_equal_to_the_bit(bed)
    log = simulate_in_memory(bed)
    assert 0.5 < log["/state"]["thrusters_supply"][-1] < 0.95
    expected, thrust = (log[topic]["thrusters_r4_thrust_n"] for topic in ("/command", "/truth"))
    assert expected.sum() == pytest.approx(thrust.sum(), rel=0.05)
    assert thrust.sum() > 50.0


def test_throttles_beside_on_off_modulation_have_the_bits_of_the_loop():
    """Ideal thrusters that are opened and closed, one of them always open: the plant alone has throttles."""
    changes = ["devices.thrusters.simulated.ideal=true", 'devices.thrusters.simulated.stuck_open=["r1"]']
    assert_equal_to_the_bit(load("free-flyer", ["loop.duration_s=2", *changes]))


@pytest.mark.slow
def test_gyro_and_pressure_have_the_bits_of_the_loop():
    gyro = {"simulated": {"bias_rad_s": 0.01, "scale": 1.02}}
    bed = load("free-flyer", {"devices.gyro": gyro, "devices.pressure": {}, "loop.duration_s": 1.0})
    assert_equal_to_the_bit(bed)


@pytest.mark.slow
def test_a_camera_with_every_error_has_the_bits_of_the_loop():
    """Poses of another body, too, which the estimator rejects once it is settled."""
    simulated = {
        "latency_wander_s": 0.01, "latency_wander_period_s": 3.0, "clock_offset_s": 2e-3, "clock_drift_ppm": 100.0,
        "tail_freedom": 4.0, "bursts": {"per_s": 1.0, "duration_s": 0.1},
        "swaps": {"per_s": 0.3, "duration_s": 0.05, "module": "bar", "turn_rad": 0.1, "shift_m": 0.01},
    }  # fmt: skip
    changes = {
        "loop.duration_s": 4.0,
        "seed": 8,
        "simulation.initial": {"vehicle_base_x_m": 1.0, "vehicle_base_y_m": 0.8},
    }
    bed = free_flyer_and_bar().with_changes({"devices.vision.simulated": simulated, **changes})
    assert assert_equal_to_the_bit(bed).reason is Reason.PASSED
    run = Run(bed)
    x = CompiledRun(run).rows()[0][:, run.channels.columns("/sample", "vision.values")][:, 0]
    assert np.nanmax(np.abs(np.diff(x))) > 0.1


@pytest.fixture
def gauges_unused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No controller uses the gauges, so that the whole run is compiled."""
    monkeypatch.setattr("granite.controllers.stack.GaugeReadings", lambda estimator, bed: estimator)


@pytest.mark.usefixtures("gauges_unused")
def test_force_gauges_have_the_bits_of_the_loop():
    """At their own rate, with errors that the seed draws."""
    simulated = {"offset_ratio": 0.1, "scale_error": 0.05, "cross_talk": 0.05}
    gauges = {"units": [{"contact": "right_grip"}], "rate_hz": 100.0, "simulated": simulated}
    bed = load("fixed-dual-arm/carry", {"devices.force_gauges": gauges, "loop.duration_s": 0.5})
    assert_equal_to_the_bit(bed, but=[("/state", "gauges")])
    run = Run(bed)
    rows = CompiledRun(run).rows()[0]
    assert np.ptp(rows[:, run.channels.columns("/sample", "force_gauges.values")], axis=0).min() > 0


@pytest.mark.usefixtures("gauges_unused")
def test_flexible_links_and_strain_gauges_have_the_bits_of_the_loop():
    bed = load("flexible-arm", ["loop.duration_s=2"])
    assert assert_equal_to_the_bit(bed, but=[("/state", "gauges")]).reason is Reason.PASSED


@pytest.mark.slow
@pytest.mark.usefixtures("gauges_unused")
def test_a_link_that_is_folded_ends_the_run_as_in_the_loop():
    soft = {"modules.0.bodies.1.flexible.ei_n_m2": 0.05, "modules.0.bodies.1.flexible.tip_mass_kg": 2.0}
    gains = {"joints": {"stiffness_n_m_rad": 20.0, "damping_n_m_s_rad": 2.0}}
    law = {"controller.law": {"kind": "joint_pid", "gains": gains}}
    far = {"safety.tracking_error_rad": 10.0, "safety.tracking_error_m": 10.0}
    perfect = {"devices.strain_gauges.simulated": {"perfect": True}, "loop.duration_s": 3.0}
    outcome = assert_equal_to_the_bit(load("flexible-arm", soft | law | far | perfect), but=[("/state", "gauges")])
    assert "flexible link 'strip' is bent by" in str(outcome.fault)


@pytest.mark.slow
@pytest.mark.usefixtures("gauges_unused")
def test_a_stop_that_touches_has_the_bits_of_the_loop():
    """A flexible arm strikes a wall, with friction, and rebounds."""
    wall = {
        "name": "wall", "kind": "bumper", "second": {"module": "arm", "point": "tip"},
        "first": {"position_m": [1.0, 0.12], "rotation_rad": [0, 0, -np.pi / 2]},
        "parameters": {"radius_m": 0.02, "friction": 0.2, "restitution": 0.3},
    }  # fmt: skip
    bed = load("flexible-arm", {"contacts": [wall], "loop.duration_s": 0.7})
    assert_equal_to_the_bit(bed, but=[("/state", "gauges")])
    run = Run(bed)
    assert CompiledRun(run).rows()[0][-1, run.channels.column("/truth", "wall_caught_n_s")] > 0


def test_contacts_that_depend_on_each_other_have_the_bits_of_the_loop(monkeypatch: pytest.MonkeyPatch):
    """Singular values at every step, as where elimination loses digits."""
    for module in ("constrained_plant", "plant"):
        monkeypatch.setattr(f"granite.sim.plant.{module}.ELIMINATION_SINE_SQUARED", 0.99)
    assert_equal_to_the_bit(load("fixed-dual-arm/carry", ["loop.duration_s=0.05"]))


@pytest.mark.parametrize("name", quick(["free-flyer", "fixed-dual-arm/carry"], "free-flyer"))
def test_an_audit_has_the_bits_of_the_loop(name: str):
    assert_equal_to_the_bit(load(name, ["loop.duration_s=0.3", "simulation.audit=true"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", of_each_structure(controlled()))
def test_every_testbed_without_a_rendered_camera_is_compiled_and_has_the_bits_of_the_loop(name: str):
    bed = load(name)
    assert is_compilable(Run(bed)) == (name != "free-flyer/camera")
    if is_compilable(Run(bed)):
        assert_equal_to_the_bit(shortened(bed))


def event(**content: object) -> str:
    return "{" + ", ".join(f"{key}={json.dumps(value)}" for key, value in content.items()) + "}"


EVENTS = {
    "a drop-out": event(at_s=0.5, kind="drop_out", device="vision", duration_s=0.3),
    "an offset": event(
        at_s=0.6, kind="fault", device="joint_sensors", unit="elbow_angle_rad", what="offset", value=1e-4
    ),
    "a drift": event(at_s=0.5, kind="fault", device="vision", unit="base_x_m", what="drift", value=1e-4),
    "a frozen sensor": event(at_s=0.6, kind="fault", device="vision", what="frozen", duration_s=0.05),
    "a late sensor": event(at_s=0.6, kind="fault", device="joint_sensors", what="late", value=0.005),
    "a dead thruster": event(at_s=0.5, kind="fault", device="thrusters", unit="r4", what="dead", duration_s=0.4),
    "a weak thruster": event(at_s=0.5, kind="fault", device="thrusters", unit="r4", what="thrust_factor", value=0.8),
    "a valve that stays open": event(at_s=0.9, kind="fault", device="thrusters", unit="r5", what="stuck_open"),
    "late thrusters": event(at_s=0.5, kind="fault", device="thrusters", what="late", value=0.01),
    "a weak motor": event(at_s=0.6, kind="fault", device="motors", unit="elbow", what="torque_factor", value=0.9),
    "a push": event(at_s=0.6, kind="push", body="forearm", force_n=[0.01, 0.02], moment_n_m=0.001, duration_s=0.1),
    "two pushes": event(at_s=0.6, kind="push", body="base", force_n=[0.1, 0.0], duration_s=0.2)
    + ","
    + event(at_s=0.7, kind="push", body="base", force_n=[0.1, 0.3], duration_s=0.2),
    "a payload": event(at_s=0.7, kind="payload", body="forearm", mass_kg=0.2, position_m=[0.3, 0.0]),
}


@pytest.mark.parametrize("events", quick(EVENTS, "a drop-out", "two pushes"))
def test_timed_events_have_the_bits_of_the_loop(events: str):
    short = ["loop.duration_s=1.2", "devices.motors.simulated.gain_error=0.1"]
    bed = load("free-flyer", [*short, f"simulation.events=[{EVENTS[events]}]"])
    assert assert_equal_to_the_bit(bed).reason is Reason.PASSED
    without = simulate_in_memory(load("free-flyer", short))
    assert not np.array_equal(simulate_in_memory(bed)["/truth"].base_x_m, without["/truth"].base_x_m)


def test_calibrated_devices_have_the_bits_of_the_loop_and_start_anew_in_each_run():
    calibrated = ["devices.motors.torque_gain.elbow=0.9", "devices.joint_sensors.response.elbow.scale=1.01"]
    faults = f"simulation.events=[{EVENTS['a weak motor']}, {EVENTS['an offset']}]"
    bed = load("free-flyer", ["loop.duration_s=1", *calibrated, faults])
    assert_equal_to_the_bit(bed)
    compiled = CompiledRun(Run(bed))
    first, again = (compiled.rows() for _ in range(2))
    assert first is not None
    assert again is not None
    assert_same_rows(compiled.run, again[0], first[0])


@pytest.mark.slow
def test_an_estimated_payload_has_the_bits_of_the_loop():
    assert_equal_to_the_bit(load("free-flyer/payload", ["loop.duration_s=6"]))


OWN_PARTS = """
import granite
from granite.controllers.estimation.kalman import KalmanEstimator


class Estimator(KalmanEstimator):
    def estimate(self, sample):
        return super().estimate(sample)


class Counting:
    def __init__(self, options, model):
        self.inverse, self.ticks = model.compile_inverse(), 0

    def control(self, state, reference):
        self.ticks += 1
        return granite.Demand(state.t, *self.inverse(state.q, state.u, (reference.q - state.q) / self.ticks))
"""


def test_parts_in_python_are_called_in_a_compiled_run_and_are_new_in_each(tmp_path: Path):
    file = tmp_path / "own.py"
    file.write_text(OWN_PARTS)
    own = [f"controller.estimator={file}:Estimator", f"controller.law={file}:Counting", "loop.duration_s=0.5"]
    bed = load("free-flyer", own)
    assert_equal_to_the_bit(bed)
    run = Run(bed)
    assert parts_in_python(run) == ["estimator", "law"]
    first, second = simulate_in_memory(bed), simulate_in_memory(bed)
    assert np.array_equal(first.rows, second.rows, equal_nan=True)


@pytest.mark.slow
def test_a_tick_of_more_steps_than_one_call_takes_has_the_bits_of_the_loop():
    assert_equal_to_the_bit(load("free-flyer", ["loop.duration_s=2", "loop.period_s=0.06"]))


def test_motors_with_a_gain_and_a_stuck_thruster_have_the_bits_of_the_loop():
    changes = ["loop.duration_s=2", "devices.motors.simulated.gain_error=0.1"]
    bed = load("free-flyer", [*changes, 'devices.thrusters.simulated.stuck_open=["r1"]'])
    assert_equal_to_the_bit(bed)


#: every imperfection of the simulated lab, each with what the seed draws of it
IMPERFECTIONS = (
    "modules.vehicle.joints.shoulder.friction_n_m=0.02",
    "modules.vehicle.joints.elbow.friction_n_m=0.02",
    "simulation.joint_friction={ sticks = true, spread = 0.5, asymmetry = 0.2, static_ratio = 1.5 }",
    "devices.motors.simulated={ ripple_ratio = 0.1, cogging_n_m = 0.01, no_load_rate_rad_s = 5.0 }",
    "devices.motors.simulated.gear={ stiffness_n_m_rad = 200.0, rotor_inertia_kg_m2 = 0.02, backlash_rad = 1e-3 }",
    "simulation.table.waves=[{ length_m = 0.6, slope_g = 3e-4 }, { length_m = 1.5, slope_g = 3e-4 }]",
    "simulation.table.steps=[{ position_m = [1.0, 0.8], height_m = 1e-5 }]",
    "simulation.table.map={ spacing_m = 1.0, heights_m = [[0, 0, 0, 0], [0, 1e-4, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]] }",
    "simulation.table.stiction={}",
    "simulation.hoses=[{ stiffness_n_m = 0.2, drag_n_s_m = 0.1, anchor_spread_m = 0.5, sway_m = 0.1 }]",
    "devices.thrusters.simulated={ tank_n_s = 2000.0, regulated_ratio = 0.5, shared_drop = 0.1, thrust_error = 0.1 }",
    "devices.thrusters.simulated.misalignment_rad=0.05",
    "devices.thrusters.simulated.pulse_scatter=0.1",
    "devices.thrusters.simulated.plume={ strength = 0.5 }",
    "devices.joint_sensors.simulated.eccentricity_rad=2e-3",
    "devices.gyro={ simulated = { bias_deviation_rad_s = 1e-3, bias_walk_rad_s_per_rts = 1e-3 } }",
    "devices.accelerometer={ position_m = [0.1, -0.05], simulated = { bias_deviation_m_s2 = 0.01 } }",
    "devices.vision.simulated={ tail_freedom = 4.0, latency_wander_s = 0.01, clock_offset_s = 2e-3 }",
    "devices.vision.simulated.bursts={ per_s = 1.0, duration_s = 0.04 }",
)


def test_an_imperfect_lab_has_the_bits_of_the_loop_and_of_each_seed():
    changes = ["loop.duration_s=1", *IMPERFECTIONS]
    bed = load("free-flyer", changes)
    assert_equal_to_the_bit(bed)
    compiled = CompiledRun(Run(bed))
    rows = compiled.rows(7)
    assert rows is not None
    other = CompiledRun(Run(load("free-flyer", [*changes, "seed=7"]))).rows()
    assert other is not None
    assert_same_rows(compiled.run, rows[0], other[0])


def test_a_run_with_a_fault_is_run_in_the_loop():
    bed = load("free-flyer", ["loop.duration_s=3", "safety.tracking_error_m=1e-4"])
    assert CompiledRun(Run(bed)).rows() is None
    assert simulate_in_memory(bed).summary["ended"] == "tracking_error"


def test_measurements_that_are_refused_go_to_the_guard_and_back():
    """A tight gate refuses good poses now and then; the run continues."""
    changes = ["loop.duration_s=4", "safety.monitor.gate_sigma=2", "safety.monitor.refused_frames=99"]
    bed = load("free-flyer", [*changes, "safety.monitor.settling_s=0.5"])
    assert_equal_to_the_bit(bed)
    rows = simulate_in_memory(bed).rows
    reasons = rows[:, Run(bed).channels.columns("/verdict", "reason")]
    assert Reason.MEASUREMENT_REFUSED in reasons[200:]
    assert reasons[-1] in (Reason.PASSED, Reason.MEASUREMENT_REFUSED)


def test_ticks_that_need_a_solver_are_solved_in_python_and_the_run_continues():
    """The torque limit of a shoulder is active for a while; the solver of a run is not that of the run before."""
    bed = load("fixed-dual-arm/carry", ["loop.duration_s=4", "devices.motors.units.0.torque_limit_n_m=0.3"])
    assert_equal_to_the_bit(bed)
    run = Run(bed)
    compiled = CompiledRun(run)
    first, _, again = (rows[0] for seed in (7, 8, 7) if (rows := compiled.rows(seed)))
    assert first[:, run.channels.column("/demand", "distribution_iterations")].max() > 0
    assert_same_rows(run, again, first)


def test_one_compiled_run_serves_many_seeds_in_any_order():
    run = Run(load("free-flyer", ["loop.duration_s=1"]))
    compiled = CompiledRun(run)
    first, other, again = (rows[0] for seed in (7, 8, 7) if (rows := compiled.rows(seed)))
    assert_same_rows(run, again, first)
    assert not np.array_equal(first, other)
    seventh = Run(load("free-flyer", ["loop.duration_s=1", "seed=7"]))
    memory = Memory(seventh.channels, seventh.ticks)
    seventh.execute(VirtualClock(), memory)
    assert_same_rows(run, first, memory.rows)


def test_rows_that_are_not_kept_are_those_of_a_run_that_is_and_make_room_for_the_next():
    bed = load("free-flyer", ["loop.duration_s=1"])
    kept, passing = simulate_in_memory(bed), simulate_in_memory(bed, keep=False)
    assert np.array_equal(passing.rows, kept.rows, equal_nan=True)
    shorter = simulate_in_memory(load("free-flyer", ["loop.duration_s=0.5", "seed=3"]), keep=False)
    assert np.shares_memory(shorter.rows, passing.rows)
    assert len(shorter.rows) == len(kept.rows) / 2
    assert np.array_equal(simulate_in_memory(bed).rows, kept.rows, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "changes", "parts"),
    [
        pytest.param(
            "two-arm-catch",
            ['simulation.events=[{at_s=1, kind="fault", device="grips", what="stays_open", unit="grasp"}]'],
            ["devices.grips"],
            marks=pytest.mark.slow,
        ),
        ("mrds-1", [], ["estimator", "behaviour", "law", "actuation"]),
    ],
)
def test_a_run_that_can_not_be_compiled_says_which_parts(name: str, changes: list[str], parts: list[str]):
    run = Run(load(name, [*changes, "loop.duration_s=0.5"]))
    assert parts_in_python(run)[: len(parts)] == parts
    assert len(simulate_in_memory(run.bed).rows) == run.ticks


def test_the_log_of_a_compiled_run_is_that_of_the_loop():
    bed = load("free-flyer", ["loop.duration_s=2"])
    python = Run(bed)
    memory = Memory(python.channels, python.ticks)
    outcome = python.execute(VirtualClock(), memory)
    expected, log = logged(bed, python, memory.rows, outcome), simulate_in_memory(bed)
    assert log.events == expected.events
    assert log.summary is not None
    assert expected.summary is not None
    assert {**log.summary, "timing": None} == {**expected.summary, "timing": None}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("free-flyer", "controller.law.gains.base.stiffness_1_s2=0.5"),
        ("free-flyer", "controller.law.hold.change_s=3"),  # no gain: the run is prepared again
        ("fixed-dual-arm/carry", "controller.law.translation.stiffness_1_s2=12"),
    ],
)
def test_a_run_with_other_gains_is_that_of_a_new_preparation(name: str, change: str) -> None:
    short = ["loop.duration_s=1"]
    simulate_in_memory(load(name, short))
    changed = load(name, [*short, change])
    reused = simulate_in_memory(changed)
    made = CompiledRun(Run(changed)).rows()
    assert made is not None
    assert np.array_equal(reused.rows.view(np.uint64), made[0].view(np.uint64))
