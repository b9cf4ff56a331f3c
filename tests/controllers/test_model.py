"""The model that estimator, law and allocation share, on two modules of which one bends."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.devices.thrusters import Thrusters
from granite.config.loader import load
from granite.config.records import Reference, State
from granite.controllers.laws.computed_torque import ComputedTorque
from granite.controllers.model import ControlModel
from granite.mrds.start import start_of
from granite.mrds.system import System
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.plant.plant import Plant
from tests.support.dense_model import Model
from tests.support.two_vehicles import two_vehicles

pytestmark = pytest.mark.usefixtures("interpreted")


@cache
def model(objects: bool = False) -> ControlModel:
    """Two vehicles; with `objects` the second has no actuators and is only known."""
    if not objects:
        return ControlModel(two_vehicles(flexible=True))
    without = dict.fromkeys(("b_jets", "b_motor"))
    return ControlModel(two_vehicles(flexible=True, devices=without, controller={"objects": ["b"]}))


def states(n: int, seed: int = 0) -> Any:
    """Random q, u and one more vector."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        size = model().n
        yield rng.uniform(-1, 1, size), rng.uniform(-1, 1, size), rng.normal(size=size)


def evaluated(expression: ca.SX, *inputs: tuple[ca.SX, np.ndarray]) -> np.ndarray:
    symbols, values = zip(*inputs, strict=True)
    return np.array(ca.Function("f", list(symbols), [expression])(*values)).squeeze()


def test_its_coordinates_are_those_of_the_known_modules() -> None:
    assert [c.name for c in model().layout.velocities] == [
        *("a_base_x", "a_base_y", "a_base_heading", "a_hip"),
        *("b_base_x", "b_base_y", "b_base_heading", "b_hip", "b_link_y1"),
    ]


def test_forward_and_inverse_dynamics_undo_each_other() -> None:
    m, x = model(), ca.SX.sym("x", model().n)
    there, back = m.inverse(x), m.forward(x)
    for q, u, a in states(20):
        force = evaluated(there, (m.q, q), (m.u, u), (x, a))
        np.testing.assert_allclose(evaluated(back, (m.q, q), (m.u, u), (x, force)), a, atol=1e-10)


def test_the_inverse_is_mass_matrix_times_acceleration_plus_bias() -> None:
    m, x = model(), ca.SX.sym("x", model().n)
    for q, u, a in states(20, 1):
        M = evaluated(m.mass_matrix, (m.q, q))
        h = evaluated(m.bias, (m.q, q), (m.u, u))
        force = evaluated(m.inverse(x), (m.q, q), (m.u, u), (x, a))
        np.testing.assert_allclose(M @ a + h, force, atol=1e-10)
        np.testing.assert_allclose(M, M.T, atol=1e-12)
        assert not M[:4, 4:].any()


def test_each_module_moves_as_it_does_alone() -> None:
    m, x = model(), ca.SX.sym("x", model().n)
    for q, u, force in states(5, 2):
        a = evaluated(m.forward(x), (m.q, q), (m.u, u), (x, force))
        for module in m.layout.modules:
            own = m.layout.u[module.name]
            np.testing.assert_allclose(a[own], Model(module).forward_dynamics(q[own], u[own], force[own]), atol=1e-9)


def test_what_no_actuator_acts_on_is_passive() -> None:
    assert model().passive == [8]  # the mode of the flexible link
    known = model(objects=True)
    assert known.passive == [4, 5, 6, 7, 8]
    assert known.driven == [3]


@pytest.mark.parametrize("objects", [False, True])
def test_the_law_asks_for_no_force_on_passive_coordinates(objects: bool) -> None:
    m = model(objects)
    law = ComputedTorque(ComputedTorque.Options(kind="computed_torque"), m)
    zero = np.zeros(m.n)
    for q, u, reference in states(10, 3):
        demand = law.control(
            State(0.0, True, q, u, zero, np.zeros(4)), Reference(0.0, reference, 0.1 * reference, zero, False)
        )
        np.testing.assert_allclose(demand.force[m.passive], 0.0, atol=1e-9)
        assert np.abs(demand.force[m.active]).min() > 1e-6
        # The acceleration that it promises is the one that its force gives, passive part and all.
        x = ca.SX.sym("x", m.n)
        a = evaluated(m.forward(x), (m.q, q), (m.u, u), (x, demand.force))
        np.testing.assert_allclose(a, demand.acceleration, atol=1e-8)


def test_the_law_feeds_back_active_coordinates_only() -> None:
    m = model(objects=True)
    law = ComputedTorque(ComputedTorque.Options(kind="computed_torque"), m)
    assert [np.flatnonzero(law.parameters[k]).tolist() for k in ("stiffness", "damping")] == [m.active] * 2


def test_the_force_of_the_thrusters_has_their_virtual_power() -> None:
    """F . u is the sum of thrust times the velocity of each nozzle along its direction."""
    m, thrust = model(), ca.SX.sym("thrust", 16)
    rng = np.random.default_rng(4)
    for q, u, _ in states(20, 4):
        f, power, first = rng.uniform(0, 2, 16), 0.0, 0
        for device in m.bed.devices_of(Thrusters).values():
            root = m.layout.root_u(device.pushed(m.bed))
            (_, _, heading), (vx, vy, rate) = q[root], u[root]
            c, s = np.cos(heading), np.sin(heading)
            for i, unit in enumerate(device.units):
                (x, y), (dx, dy) = unit.position_m, unit.direction
                px, py = c * x - s * y, s * x + c * y
                nozzle = np.array([vx - rate * py, vy + rate * px])
                power += f[first + i] * float(nozzle @ [c * dx - s * dy, s * dx + c * dy])
            first += len(device.units)
        force = evaluated(m.thrust_force(thrust), (m.q, q), (thrust, f))
        assert force @ u == pytest.approx(power, abs=1e-12)


def test_the_force_of_the_motors_has_their_power() -> None:
    m, torque = model(), ca.SX.sym("torque", 2)
    force = evaluated(m.torque_force(torque), (torque, np.array([0.3, -0.7])))
    # In the order of the devices: b's motor stands before a's.
    assert [motor.joint for motor in m.bed.motors] == ["b_hip", "a_hip"]
    np.testing.assert_array_equal(force, [0, 0, 0, -0.7, 0, 0, 0, 0.3, 0])


@cache
def with_friction(friction: float, damping: float = 0.01) -> ControlModel:
    """A free-flyer whose joints resist."""
    joints = [f"modules.vehicle.joints.{joint}" for joint in ("shoulder", "elbow")]
    friction_keys = {f"{joint}.friction_n_m": friction for joint in joints}
    return ControlModel(
        load("free-flyer/clean", friction_keys | {f"{joint}.damping_n_m_s": damping for joint in joints})
    )


def test_damping_and_friction_of_the_joints_decelerate_the_model() -> None:
    m, rng = with_friction(0.01), np.random.default_rng(6)
    x = ca.SX.sym("x", m.n)
    zero = np.zeros(m.n)
    for _ in range(5):
        q, u, force = rng.normal(size=m.n), 0.02 * rng.normal(size=m.n), rng.normal(size=m.n)
        torque = rng.normal(size=2)
        resisted = force.copy()
        resisted[3:] += torque - 0.01 * u[3:] - 0.01 * u[3:] / np.hypot(u[3:], 0.01)
        expected = evaluated(m.forward(x), (m.q, q), (m.u, u), (x, resisted))
        np.testing.assert_allclose(np.array(m.acceleration(q, u, torque, np.zeros(8), force)).ravel(), expected)
    assert not np.array(m.acceleration(zero, zero, zero[:2], np.zeros(8), zero)).any()


def test_the_law_adds_the_resistance_at_the_rate_of_the_reference() -> None:
    """Not at that of the estimate, which is noisy."""
    rng, sensors = np.random.default_rng(7), np.zeros(2)
    m, clean = with_friction(0.01), ControlModel(load("free-flyer/clean"))
    q, u, a, zero = rng.normal(size=m.n), rng.normal(size=m.n), rng.normal(size=m.n), np.zeros(m.n)
    u_ref = np.array([0.1, 0.1, 0.1, 0.02, -0.5])
    forces = []
    for one in (m, clean):
        law = ComputedTorque(ComputedTorque.Options(kind="computed_torque"), one)
        forces.append(law.control(State(0.0, True, q, u, zero, sensors), Reference(0.0, q, u_ref, a, False)).force)
    added = forces[0] - forces[1]
    rates = u_ref[3:]
    np.testing.assert_allclose(added[3:], 0.01 * rates + 0.01 * rates / np.hypot(rates, 0.01), atol=1e-12)
    assert not added[:3].any()


@pytest.mark.parametrize("resistance", [(5.0, 0.0), (0.0, 50.0), (1.0, 10.0)])
def test_strong_friction_does_not_reverse_a_joint_within_a_period(resistance: tuple[float, float]) -> None:
    """Else the prediction would oscillate about rest."""
    m, rng = with_friction(*resistance), np.random.default_rng(8)
    zero = np.zeros(m.n)
    for joint in (3, 4):
        for _ in range(20):
            q, u = rng.uniform(-np.pi, np.pi, m.n), zero.copy()
            u[joint] = 10.0 ** rng.uniform(-5, -1)
            a = np.array(m.acceleration(q, u, zero[:2], np.zeros(8), zero)).ravel()
            after = u + m.bed.loop.period_s * a
            assert -1.2 * u[joint] < after[joint] < u[joint]


def test_the_wrench_on_a_root_is_in_its_own_axes() -> None:
    m, x = model(), ca.SX.sym("x", model().n)
    for q, _, force in states(5, 5):
        wrench = evaluated(m.wrenches(x), (m.q, q), (x, force))
        assert wrench.shape == (6,)
        for module in m.floating:
            own, root = wrench[m.wrench_slice(module)], m.layout.root_u(module)
            c, s = np.cos(q[root][2]), np.sin(q[root][2])
            fx, fy, mz = force[root]
            np.testing.assert_allclose(own, [c * fx + s * fy, c * fy - s * fx, mz], atol=1e-12)


HELD = {
    "controller": {"modules": ["left", "right"], "objects": ["object"]},
    "behaviour": {},
    "devices.joint_sensors": {"joints": ["left_shoulder", "left_elbow", "right_shoulder", "right_elbow"]},
    "devices.vision": {"module": "object", "body": "body"},
}


def test_arms_that_hold_an_object_accelerate_as_the_closed_chain_does() -> None:
    bed = load("fixed-dual-arm/open-loop", HELD)
    model = ControlModel(bed)
    assert [contact.name for contact in model.closed] == ["left_grip", "right_grip"]
    assert model.ignored == []
    contacts = System(bed.modules, bed.contacts).contact_set()
    q, u = start_of(bed, contacts)
    rng = np.random.default_rng(3)
    for _ in range(5):
        torque = rng.standard_normal(4)
        q, u = contacts.project(q + 0.02 * rng.standard_normal(len(q)), u + 0.1 * rng.standard_normal(len(u)))
        force = np.zeros(model.n)
        force[model.driven] = torque
        expected = contacts.accelerate(q, u, force).acceleration
        acceleration = np.array(model.acceleration(q, u, torque, np.zeros(0), np.zeros(model.n))).ravel()
        np.testing.assert_allclose(acceleration, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    alone = ControlModel(bed.with_changes({"contacts": []}))
    assert (
        np.abs(np.array(alone.acceleration(q, u, torque, np.zeros(0), np.zeros(alone.n))).ravel() - expected).max()
        > 0.1
    )


def test_contacts_that_grips_open_and_close_are_joined_by_contact_set() -> None:
    switched = {**HELD, "behaviour": {"holds": [{"from_s": 0.0, "closed": ["left_grip", "right_grip"]}]}}
    model = ControlModel(load("fixed-dual-arm/open-loop", switched))
    assert model.closed == []
    assert model.ignored == []
    both = frozenset({"left_grip", "right_grip"})
    assert model.contact_sets[0] == both
    q, u, torque = np.zeros(7), np.zeros(7), np.array([0.1, 0.2, -0.1, 0.3])
    q[:4], q[5] = (1.8368763740210565, -1.4594553124539325, 1.3047162795687366, 1.4594553124539325), 0.4
    joined, free = (model.acceleration_under(s)(q, u, torque, np.zeros(0), np.zeros(7)) for s in (both, frozenset()))
    closed = ControlModel(load("fixed-dual-arm/open-loop", HELD)).acceleration(q, u, torque, np.zeros(0), np.zeros(7))
    assert np.abs(np.array(joined - closed)).max() < 1e-12
    assert np.abs(np.array(free)[4:]).max() == 0.0


def test_an_object_held_by_two_arms_is_estimated_through_the_closed_chain() -> None:
    """The arms are pushed by hand, so that everything moves; the pose of the object comes late and with noise."""
    push = {"kind": "push", "at_s": 0.5, "duration_s": 0.3, "body": "body", "force_n": [0.4, 0.2]}
    bed = load("fixed-dual-arm/open-loop", {**HELD, "simulation.events": [push], "loop.duration_s": 2.0,
                                  "safety.tracking_error_rad": 3.0, "safety.tracking_error_m": 1.0})  # fmt: skip
    log = simulate_in_memory(bed)
    assert log.summary is not None
    assert log.summary["ended"] == "completed", log.summary["text"]
    assert log.summary["estimation_error"]["object_body_x"]["max"] < 3e-3
    assert np.ptp(log["/truth"].object_body_x_m) > 2e-3


def test_a_measured_floor_pushes_the_model_as_the_simulated_one_pushes_the_plant() -> None:
    """Each body by the slope at its own place; the inverse asks for the force against it."""
    heights = (1e-3 * np.cos(np.arange(24.0) ** 2)).reshape(4, 6)
    grid = {"corner_m": [0.2, 0.2], "spacing_m": 0.5}
    table = {"map": {**grid, "heights_m": heights.tolist()}, "tilt_g": 0.0, "drag_ratio": 0.0}
    floor = {**grid, "columns": 6, "heights_m": heights.ravel().tolist()}
    bed = load("free-flyer/clean", {"simulation.table": table, "floor": floor})
    plant, m, x = Plant(bed), ControlModel(bed), ca.SX.sym("x", 5)
    q, rest = plant.q.copy(), np.zeros(5)
    plant.advance(1e-3)
    acceleration = evaluated(m.forward(x), (m.q, q), (m.u, rest), (x, rest))
    np.testing.assert_allclose(acceleration, plant.u / 1e-3, rtol=1e-4, atol=1e-8)
    assert np.abs(acceleration).max() > 1e-3
    np.testing.assert_allclose(evaluated(m.inverse(x), (m.q, q), (m.u, rest), (x, acceleration)), rest, atol=1e-12)
