"""Timed events: pushes, payloads, faults and drop-outs, and what of them is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Array, Frame, Status
from granite.sim.lab import Lab
from tests.support.dense_model import Model

pytestmark = pytest.mark.usefixtures("interpreted")

PERIOD = 0.005
LEVEL = ("simulation.table.ideal=true", "simulation.initial={shoulder_rad=0.4, elbow_rad=0.9}")


def lab(*events: str, more: tuple[str, ...] = ()) -> Lab:
    """The free-flyer on a level table, with these events."""
    return Lab(load("free-flyer/clean", [*LEVEL, *more, f"simulation.events=[{', '.join(events)}]"]))


def refused(*events: str, more: tuple[str, ...] = ()) -> InputError:
    with pytest.raises(InputError) as refusal:
        lab(*events, more=more)
    assert "\n" not in str(refusal.value)
    return refusal.value


def run(simulated: Lab, until: float, since: float = 0.0) -> None:
    """Tick after tick, as the loop lets the lab go on."""
    for k in range(round(since / PERIOD) + 1, round(until / PERIOD) + 1):
        simulated.advance(k * PERIOD)


def momentum(simulated: Lab) -> Array:
    plant = simulated.plant
    total: Array = Model(plant.bed.modules[0]).momentum(plant.q, plant.u).copy()
    return total


# --- pushes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["base", "forearm"])
def test_a_push_changes_momentum_by_force_times_duration(body: str) -> None:
    simulated = lab(f"{{kind='push', at_s=0.1, duration_s=0.25, body='{body}', force_n=[2.0, -1.0]}}")
    run(simulated, 0.1)
    assert not momentum(simulated).any()
    run(simulated, 0.35, 0.1)
    np.testing.assert_allclose(momentum(simulated)[:2], [0.5, -0.25], atol=1e-12)
    pushed = momentum(simulated)
    run(simulated, 1.0, 0.35)
    np.testing.assert_allclose(momentum(simulated), pushed, atol=1e-10)


def test_a_push_acts_at_the_mass_centre_of_its_body() -> None:
    """Angular momentum about the origin is that of the force's moment, integrated along the way of the centre."""
    simulated = lab("{kind='push', at_s=0.0, duration_s=0.1, body='upper_arm', force_n=[0.0, 3.0]}")
    model, [module] = Model(simulated.plant.bed.modules[0]), simulated.plant.bed.modules
    centre = next(body.com_m for body in module.bodies if body.name == "upper_arm")
    moments = []
    for k in range(101):
        plant = simulated.plant
        a = plant.q[2] + plant.q[3]
        shoulder = plant.q[0] + 0.24 * np.cos(plant.q[2])
        moments.append(3.0 * (shoulder + np.cos(a) * centre[0] - np.sin(a) * centre[1]))
        if k < 100:
            simulated.advance((k + 1) * 0.001)
    spin = model.momentum(simulated.plant.q, simulated.plant.u)[5]
    assert spin == pytest.approx(np.trapezoid(moments, dx=0.001), rel=1e-5)


def test_a_moment_is_angular_momentum_alone() -> None:
    simulated = lab("{kind='push', at_s=0.0, duration_s=0.2, body='forearm', moment_n_m=0.3}")
    run(simulated, 0.2)
    total = momentum(simulated)
    np.testing.assert_allclose(total[:5], 0.0, atol=1e-12)
    assert total[5] == pytest.approx(0.06, abs=1e-10)


def test_pushes_add_up() -> None:
    simulated = lab(
        "{kind='push', at_s=0.0, duration_s=0.2, body='base', force_n=[1.0, 0.0]}",
        "{kind='push', at_s=0.1, duration_s=0.2, body='base', force_n=[1.0, 0.0]}",
        "{kind='push', at_s=0.1, duration_s=0.1, body='forearm', force_n=[0.0, 2.0]}",
    )
    run(simulated, 0.5)
    np.testing.assert_allclose(momentum(simulated)[:2], [0.4, 0.2], atol=1e-12)


def test_a_push_by_hand_keeps_those_on_other_bodies() -> None:
    simulated = lab(*(f"{{kind='push', at_s=9, duration_s=1, body='{body}'}}" for body in ("base", "forearm")))
    start = momentum(simulated)
    simulated.push("base", (1.0, 0.0))
    simulated.push("forearm", (0.0, 2.0))
    simulated.advance(0.1)
    np.testing.assert_allclose((momentum(simulated) - start)[:2], [0.1, 0.2], atol=1e-10)
    simulated.push("base", (0.0, 0.0))
    simulated.advance(0.2)
    np.testing.assert_allclose((momentum(simulated) - start)[:2], [0.1, 0.4], atol=1e-10)


def test_a_push_names_its_body_and_its_module() -> None:
    error = refused("{kind='push', at_s=0, duration_s=1, body='bse'}")
    assert (error.key, error.value) == ("simulation.events.0.body", "bse")
    assert "did you mean 'base'?" in error.expected
    error = refused("{kind='push', at_s=0, duration_s=1, body='base', module='vehicel'}")
    assert (error.key, error.value) == ("simulation.events.0.module", "vehicel")
    with pytest.raises(InputError) as refusal:
        Lab(
            load(
                "fixed-dual-arm/open-loop", ["simulation.events=[{kind='push', at_s=0, duration_s=1, body='forearm'}]"]
            )
        )
    assert refusal.value.key == "simulation.events.0.module"
    assert "left, right" in refusal.value.expected


# --- payloads ----------------------------------------------------------------------------------------------------

CENTRED = ("modules.vehicle.bodies.base.com_m=[0, 0]", "simulation.initial={base_x_m_s=0.1, base_heading_rad_s=0.2}")
LOAD = "{kind='payload', at_s=0.1, body='base', mass_kg=25.0, position_m=[0.2, -0.1], inertia_kg_m2=0.3}"


def test_a_payload_leaves_the_velocities_as_they_were() -> None:
    simulated = lab(LOAD, more=CENTRED)
    run(simulated, 0.1)
    q, u, before = simulated.plant.q, simulated.plant.u, momentum(simulated)
    simulated.events.happen(simulated.plant.t)
    np.testing.assert_array_equal(simulated.plant.q, q)
    np.testing.assert_array_equal(simulated.plant.u, u)
    # It moved along already: from then on the whole keeps its momentum, which is that of the robot and of the payload.
    run(simulated, 0.5, 0.1)
    loaded = load("free-flyer/clean", [*LEVEL, "modules.vehicle.bodies.base.mass_kg=75.0"]).modules[0]
    body = loaded.bodies[0].model_copy(
        update={
            "com_m": (0.2 * 25 / 75, -0.1 * 25 / 75),
            "inertia_kg_m2": 1.44 + 0.3 + 50 * 25 / 75 * (0.2**2 + 0.1**2),
        }
    )
    heavy = Model(loaded.model_copy(update={"bodies": (body, *loaded.bodies[1:])}))
    after = heavy.momentum(simulated.plant.q, simulated.plant.u).copy()
    np.testing.assert_allclose(after, heavy.momentum(q, u), atol=1e-9)
    assert np.abs(after - before).max() > 1.0


def test_a_payload_changes_the_response() -> None:
    push = "{kind='push', at_s=0.2, duration_s=0.1, body='base', force_n=[5.0, 0.0]}"
    payload = "{kind='payload', at_s=0.1, body='base', mass_kg=52.0}"
    gained = []
    for events in ((push,), (payload, push)):
        simulated = lab(*events, more=(*CENTRED, "simulation.initial={}"))
        run(simulated, 0.5)
        gained.append(simulated.plant.u[0])
    # 52 kg before, 104 kg with the payload; the arms swing a little.
    assert gained[1] / gained[0] == pytest.approx(0.5, rel=0.02)


def test_payloads_add_up_in_the_order_of_their_times() -> None:
    push = "{kind='push', at_s=0.3, duration_s=0.1, body='base', force_n=[5.0, 0.0]}"
    late, early = (f"{{kind='payload', at_s={t}, body='base', mass_kg=26.0}}" for t in (0.2, 0.1))
    both, whole = (
        lab(*events, push, more=("simulation.initial={}",))
        for events in ((late, early), ("{kind='payload', at_s=0.1, body='base', mass_kg=52.0}",))
    )
    for simulated in (both, whole):
        run(simulated, 0.5)
    np.testing.assert_allclose(both.plant.u, whole.plant.u, atol=1e-12)


def test_a_payload_needs_a_rigid_body_and_no_audit() -> None:
    beam = "{length_m=0.3, line_density_kg_m=3.0, ei_n_m2=50.0, modes_y=1}"
    flexible = (f"modules.vehicle.bodies.forearm.flexible={beam}", "simulation.initial={}")
    error = refused("{kind='payload', at_s=0, body='forearm', mass_kg=1}", more=flexible)
    assert (error.value, error.expected) == ("forearm", "a rigid one")
    error = refused("{kind='payload', at_s=0, body='base', mass_kg=1}", more=("simulation.audit=true",))
    assert (error.key, error.expected) == ("simulation.events", "no contacts and no audit")


# --- faults of sensors -------------------------------------------------------------------------------------------


def frames(device: Any, ticks: int) -> list[Frame]:
    return [device.read(k * PERIOD) for k in range(ticks)]


def fault(device: str, what: str, at: float = 0.05, **more: Any) -> str:
    extra = "".join(f", {key}={value!r}" for key, value in more.items())
    return f"{{kind='fault', at_s={at}, device='{device}', what='{what}'{extra}}}"


MOVING = ("simulation.initial={shoulder_rad_s=0.5, base_x_m_s=0.1}",)


def test_a_silent_sensor_gives_no_new_frame_and_comes_back() -> None:
    device = lab(fault("joint_sensors", "silent", duration_s=0.05), more=MOVING).device("joint_sensors")
    arrivals = frames(device, 30)
    silent = arrivals[10:20]
    assert {frame.number for frame in silent} == {arrivals[9].number}
    assert {frame.status for frame in silent} == {Status.SILENT}
    assert all(np.array_equal(frame.values, arrivals[9].values) for frame in silent)
    assert {frame.status for frame in (*arrivals[:10], *arrivals[20:])} == {Status.OK}
    assert arrivals[20].number > arrivals[9].number


def test_a_sensor_that_is_silent_from_the_start_has_no_frame() -> None:
    arrivals = frames(lab(fault("joint_sensors", "silent", 0.0)).device("joint_sensors"), 5)
    assert [(frame.number, frame.status) for frame in arrivals] == [(0, Status.SILENT)] * 5
    assert all(np.isnan(frame.values).all() for frame in arrivals)


@pytest.mark.parametrize("at", [0.0, 0.05])
def test_a_frozen_sensor_repeats_its_values_with_new_numbers(at: float) -> None:
    device = lab(fault("joint_sensors", "frozen", at), more=MOVING).device("joint_sensors")
    arrivals, first = frames(device, 30), round(at / PERIOD)
    assert [frame.number for frame in arrivals] == list(range(1, 31))
    assert {frame.status for frame in arrivals} == {Status.OK}
    frozen = {frame.values.tobytes() for frame in arrivals[first:]}
    assert frozen == {arrivals[max(first - 1, 0)].values.tobytes()}


def test_a_sensor_may_give_what_is_no_number() -> None:
    arrivals = frames(lab(fault("joint_sensors", "not_finite")).device("joint_sensors"), 12)
    assert np.isfinite(arrivals[9].values).all()
    assert np.isnan(arrivals[10].values).all()
    assert arrivals[11].number == 12


def test_an_offset_moves_one_signal() -> None:
    plain = frames(lab(more=MOVING).device("joint_sensors"), 20)
    more = fault("joint_sensors", "offset", unit="elbow_angle_rad", value=0.2)
    moved = frames(lab(more, more=MOVING).device("joint_sensors"), 20)
    off = np.array([b.values - a.values for a, b in zip(plain, moved, strict=True)])
    np.testing.assert_allclose(off[:10], 0.0, atol=0.0)
    np.testing.assert_allclose(off[10:], np.tile([0.0, 0.2, 0.0, 0.0], (10, 1)), atol=1e-15)


def test_faults_of_one_sensor_leave_another_as_it_was() -> None:
    seen = []
    for events in ((), (fault("joint_sensors", "not_finite", 0.0),)):
        simulated = lab(*events, more=MOVING)
        encoders, camera = simulated.device("joint_sensors"), simulated.device("vision")
        assert np.isnan(encoders.read(0.0).values).all() == bool(events)
        seen.append([frame.values for frame in frames(camera, 60)])
    np.testing.assert_array_equal(*seen)


def test_a_drop_out_is_a_while_without_new_frames() -> None:
    more = ("devices.vision.simulated.dropout_probability=0", "devices.vision.simulated.latency_jitter_s=0")
    event = "{kind='drop_out', at_s=0.2, duration_s=0.3, device='vision'}"
    arrivals = frames(lab(event, more=more).device("vision"), 200)
    numbers = np.array([frame.number for frame in arrivals])
    assert len(set(numbers[40:100])) == 1
    assert numbers[39] == numbers[40]
    assert numbers[100] - numbers[99] == 18  # what was exposed meanwhile has arrived
    assert {frame.status for frame in arrivals[40:100]} == {Status.SILENT}


# --- faults of actuators -----------------------------------------------------------------------------------------


def written(device: Any, ticks: int, setpoint: Array) -> list[Frame]:
    return [device.write(k * PERIOD, setpoint) for k in range(ticks)]


def test_a_silent_actuator_goes_on_with_what_it_had() -> None:
    simulated = lab(fault("motors", "silent"))
    motors = simulated.device("motors")
    for k in range(10):
        last = motors.write(k * PERIOD, np.array([0.1, 0.0]))
    frame = motors.write(10 * PERIOD, np.array([0.0, 0.5]))
    assert (frame.number, frame.status, frame.t) == (last.number, Status.SILENT, last.t)
    np.testing.assert_array_equal(frame.values, [0.1, 0.0])
    simulated.plant.advance(10 * PERIOD)
    before = simulated.plant.u
    simulated.plant.advance(11 * PERIOD)
    gained = simulated.plant.u - before
    model = Model(simulated.plant.bed.modules[0])
    force = np.array([0.0, 0.0, 0.0, 0.1, 0.0])
    want = PERIOD * model.forward_dynamics(simulated.plant.q, simulated.plant.u, force)
    np.testing.assert_allclose(gained, want, rtol=0.05, atol=1e-6)


def test_an_actuator_that_is_silent_from_the_start_does_nothing() -> None:
    simulated = lab(fault("motors", "silent", 0.0))
    frame = simulated.device("motors").write(0.0, np.array([0.1, 0.0]))
    assert (frame.number, frame.status) == (0, Status.SILENT)
    assert not frame.values.any()
    simulated.plant.advance(0.1)
    assert not simulated.plant.u.any()


def test_an_actuator_that_refuses_rests_and_says_so() -> None:
    simulated = lab(fault("motors", "refuses", duration_s=0.05))
    reports = written(simulated.device("motors"), 25, np.array([0.1, 0.0]))
    assert [frame.status for frame in reports] == [Status.OK] * 10 + [Status.REFUSED] * 10 + [Status.OK] * 5
    assert [frame.number for frame in reports] == list(range(1, 26))
    assert not any(frame.values.any() for frame in reports[10:20])
    np.testing.assert_array_equal(reports[20].values, [0.1, 0.0])


def thrusts(simulated: Lab, ticks: int, setpoint: Array) -> Array:
    """Mean thrust of every tick, under a set point that never changes; frames never show a fault."""
    device, values = simulated.device("thrusters"), []
    for k in range(ticks):
        frame = device.write(k * PERIOD, setpoint)
        assert frame.status == Status.OK
        np.testing.assert_array_equal(frame.values, setpoint)
        simulated.plant.advance((k + 1) * PERIOD)
        values.append(simulated.plant.thrust)
    return np.array(values)


NO_TANK = ("devices.thrusters.simulated.tank_n_s=none",)


@pytest.mark.parametrize("duration", [None, 0.1])
def test_a_dead_thruster_gives_nothing_and_no_frame_shows_it(duration: float | None) -> None:
    lasting = {} if duration is None else {"duration_s": duration}
    delivered = thrusts(lab(fault("thrusters", "dead", unit="r3", **lasting), more=NO_TANK), 50, np.ones(8))
    np.testing.assert_allclose(delivered[5:, [0, 1, 3, 4, 5, 6, 7]], 1.0, rtol=1e-12)
    np.testing.assert_allclose(delivered[5:10, 2], 1.0, rtol=1e-12)
    assert not delivered[10:30, 2].any()
    np.testing.assert_allclose(delivered[30:, 2], 0.0 if duration is None else 1.0, rtol=1e-12)


@pytest.mark.parametrize("duration", [None, 0.1])
def test_a_thruster_that_is_stuck_open_pushes_and_no_frame_shows_it(duration: float | None) -> None:
    lasting = {} if duration is None else {"duration_s": duration}
    delivered = thrusts(lab(fault("thrusters", "stuck_open", unit="r3", **lasting), more=NO_TANK), 50, np.zeros(8))
    assert not delivered[:, [0, 1, 3, 4, 5, 6, 7]].any()
    assert not delivered[:10, 2].any()
    np.testing.assert_allclose(delivered[10:30, 2], 1.0, rtol=1e-12)
    np.testing.assert_allclose(delivered[30:, 2], 1.0 if duration is None else 0.0, rtol=1e-12)


def test_a_stuck_thruster_of_the_data_sheet_stays_stuck_when_another_recovers() -> None:
    stuck = (*NO_TANK, "devices.thrusters.simulated.stuck_open=['r1']")
    event = fault("thrusters", "stuck_open", unit="r3", duration_s=0.05)
    delivered = thrusts(lab(event, more=stuck), 40, np.zeros(8))
    np.testing.assert_allclose(delivered[:, 0], 1.0, rtol=1e-12)
    np.testing.assert_allclose(delivered[30:, 2], 0.0, atol=0.0)


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "key", "expected"),
    [
        (fault("vision", "drift", value=1), "unit", "the name of a unit or signal"),
        (fault("vision", "drift", unit="base_x_m"), "value", "a number"),
        (fault("vision", "counter_jump", value=0.5), "value", "a whole number of frames"),
        (fault("vision", "frozen", value=1), "value", "none where what = 'frozen'"),
        (fault("vision", "silent", unit="base_x_m"), "unit", "none where what = 'silent'"),
        (fault("motors", "exchanged", unit="elbow"), "other", "the other unit where what = 'exchanged'"),
        (fault("motors", "late", value=-0.1), "value", "at least 0"),
    ],
)
def test_a_fault_has_the_keys_that_it_needs_and_no_others(event: str, key: str, expected: str) -> None:
    error = refused(event)
    assert error.key is not None
    assert error.key.endswith(key)
    assert expected in error.expected


def test_one_signal_may_freeze_while_the_others_go_on() -> None:
    arrivals = frames(
        lab(fault("joint_sensors", "frozen", unit="elbow_angle_rad"), more=MOVING).device("joint_sensors"), 30
    )
    values = np.array([frame.values for frame in arrivals])
    assert len(set(values[9:, 1])) == 1
    assert all(len(set(values[10:, i])) > 3 for i in (0, 2, 3))


def test_a_drift_grows_with_time() -> None:
    plain = frames(lab(more=MOVING).device("joint_sensors"), 30)
    more = fault("joint_sensors", "drift", unit="shoulder_rate_rad_s", value=-0.5)
    drifting = frames(lab(more, more=MOVING).device("joint_sensors"), 30)
    off = [b.values[2] - a.values[2] for a, b in zip(plain, drifting, strict=True)]
    np.testing.assert_allclose(off, [-0.5 * PERIOD * max(k - 10, 0) for k in range(30)], atol=1e-12)


@pytest.mark.parametrize(("what", "value"), [("counter_jump", -4.0), ("counter_jump", 7.0), ("time_jump", -0.02)])
def test_counters_and_time_stamps_jump_while_the_fault_lasts(what: str, value: float) -> None:
    plain = frames(lab().device("joint_sensors"), 30)
    jumping = frames(lab(fault("joint_sensors", what, value=value)).device("joint_sensors"), 30)
    expected = [value * (k >= 10) for k in range(30)]
    counted = what == "counter_jump"
    off = [b.number - a.number if counted else b.t - a.t for a, b in zip(plain, jumping, strict=True)]
    np.testing.assert_allclose(off, expected, atol=1e-12)


def test_a_motor_gives_a_factor_of_its_torque_and_reports_all_of_it() -> None:
    simulated = lab(fault("motors", "torque_factor", unit="elbow", value=0.5))
    motors = simulated.device("motors")
    assert motors.write(0.0, np.array([0.2, 0.2])).values.tolist() == [0.2, 0.2]
    assert motors._actuator.torque.tolist() == [0.2, 0.2]
    assert motors.write(0.05, np.array([0.2, 0.2])).values.tolist() == [0.2, 0.2]
    assert motors._actuator.torque.tolist() == [0.2, 0.1]


def test_exchanged_motors_get_each_other_s_torque_and_report_their_own() -> None:
    motors = lab(fault("motors", "exchanged", 0.0, unit="elbow", other="shoulder")).device("motors")
    assert motors.write(0.0, np.array([0.2, -0.1])).values.tolist() == [0.2, -0.1]
    assert motors._actuator.torque.tolist() == [-0.1, 0.2]


def test_a_thruster_gives_a_factor_of_its_thrust() -> None:
    delivered = thrusts(lab(fault("thrusters", "thrust_factor", unit="r3", value=0.5), more=NO_TANK), 30, np.ones(8))
    np.testing.assert_allclose(delivered[15:, [2, 3]], [[0.5, 1.0]] * 15, rtol=1e-12)


def test_a_late_actuator_applies_each_set_point_later_and_reports_it_at_once() -> None:
    motors, applied = lab(fault("motors", "late", 0.0, value=0.03)).device("motors"), []
    for k in range(12):
        assert motors.write(k * PERIOD, np.array([0.01 * k, 0.0])).values.tolist() == [0.01 * k, 0.0]
        applied.append(motors._actuator.torque[0])
    np.testing.assert_allclose(applied, [0.01 * max(k - 6, 0) for k in range(12)])


def test_a_late_sensor_gives_the_frames_of_before_with_their_own_times() -> None:
    arrivals = frames(lab(fault("joint_sensors", "late", value=0.03)).device("joint_sensors"), 30)
    plain = frames(lab().device("joint_sensors"), 30)
    assert [frame.t for frame in arrivals[:10]] == [frame.t for frame in plain[:10]]
    assert [frame.number for frame in arrivals[16:]] == [frame.number for frame in plain[10:24]]


def test_an_actuator_may_confirm_a_stop_and_go_on() -> None:
    motors = lab(fault("motors", "does_not_stop", 0.0)).device("motors")
    motors.write(0.0, np.array([0.2, 0.1]))
    frame = motors.stop(PERIOD)
    assert (frame.status, frame.values.tolist()) == (Status.OK, [0.0, 0.0])
    assert motors._actuator.torque.tolist() == [0.2, 0.1]


def test_a_grip_may_report_closed_and_stay_open() -> None:
    event = fault("grips", "stays_open", 0.0, unit="left_grip")
    simulated = Lab(load("fixed-dual-arm/pick-and-place", [f"simulation.events=[{event}]"]))
    grips = simulated.device("grips")
    assert grips.write(0.0, np.array([1.0, 0.0])).values.tolist() == [1.0, 0.0]
    assert not simulated.plant.contacts.commanded


def test_an_actuator_may_report_what_it_did_not_apply() -> None:
    simulated = lab(fault("motors", "offset", unit="elbow_torque_n_m", value=1e6), fault("thrusters", "not_finite"))
    motors, thrusters = simulated.device("motors"), simulated.device("thrusters")
    assert motors.write(0.05, np.array([0.2, 0.2])).values.tolist() == [0.2, 1e6 + 0.2]
    assert motors._actuator.torque.tolist() == [0.2, 0.2]
    assert np.isnan(thrusters.write(0.05, np.zeros(8)).values).all()


@pytest.mark.parametrize(
    ("event", "key", "value", "expected"),
    [
        (fault("camera", "silent"), "device", "camera", "vision"),
        (fault("vision", "refuses"), "what", "refuses", "silent, frozen, not_finite, offset"),
        (fault("vision", "dead", unit="x"), "what", "dead", "silent, frozen, not_finite, offset"),
        (fault("motors", "frozen"), "what", "frozen", "silent, refuses"),
        (fault("motors", "dead", unit="elbow"), "what", "dead", "silent, refuses"),
        (fault("thrusters", "dead", unit="r9"), "unit", "r9", "r1, r2, r3, r4, r5, r6, r7, r8"),
        (
            fault("vision", "drift", unit="base_z_m", value=1),
            "unit",
            "base_z_m",
            "base_x_m, base_y_m, base_heading_rad",
        ),
        (fault("motors", "torque_factor", unit="wrist", value=2), "unit", "wrist", "shoulder, elbow"),
        (fault("motors", "exchanged", unit="elbow", other="wrist"), "other", "wrist", "shoulder, elbow"),
        ("{kind='drop_out', at_s=0, duration_s=1, device='visoin'}", "device", "visoin", "did you mean 'vision'?"),
    ],
)
def test_an_event_that_a_device_can_not_have_is_refused_by_name(
    event: str, key: str, value: str, expected: str
) -> None:
    push = "{kind='push', at_s=0, duration_s=1, body='base'}"
    error = refused(push, event)
    assert (error.key, error.value) == (f"simulation.events.1.{key}", value)
    assert expected in error.expected
