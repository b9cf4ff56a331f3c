"""Transmissions: motors on several joints, in the model, the laws, the allocation and the simulated plant."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.distribution.shared_force import after_valves, before_valves
from granite.controllers.model import ControlModel
from granite.mrds.model_export import model_functions
from granite.mrds.tree import Tree
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.plant.motor_torque import motor_torque

#: Stanford's elbow: its motor at the shoulder drives a pulley that is 1.5 times as large
CABLE = {"joints": ["shoulder", "elbow"], "matrix": [[1.0, 1.0], [0.0, 1.5]]}
pytestmark = pytest.mark.usefixtures("interpreted")


def flyer(**changes: Any) -> Testbed:
    return load("free-flyer/ideal", {"modules.vehicle.transmission": CABLE, **changes})


def test_a_cable_pushes_as_its_virtual_work_says() -> None:
    """The motor's angle against its mount is that of the upper arm plus 1.5 times that of the elbow."""
    bed = flyer()
    model, torque = ControlModel(bed), ca.SX.sym("torque", 2)
    shoulder, elbow = model.driven
    angle = ca.vertcat(model.q[shoulder], model.q[shoulder] + 1.5 * model.q[elbow])
    expected = ca.jtimes(angle, model.q, torque, True)
    difference = ca.Function("F", [torque], [model.torque_force(torque) - expected])
    assert np.abs(difference(np.array([0.3, -0.7])).full()).max() == 0.0
    force = model.torque_force(torque)[model.driven]
    back = ca.Function("back", [torque], [model.motor_torque(force) - torque])
    assert np.abs(back(np.array([0.3, -0.7])).full()).max() < 1e-15


def test_plant_export_and_model_have_the_same_transmission() -> None:
    bed = flyer()
    tree, torque = Tree(bed.modules[0]), ca.SX.sym("torque", 2)
    none = ca.SX(0, 1)
    pushed, _ = motor_torque(bed, tree.q, tree.u, torque, none, {})
    exported = next(f for f in model_functions(bed) if f.name() == "motor_force")
    known = ca.Function("F", [torque], [pushed, ControlModel(bed).torque_force(torque)])(np.array([0.3, -0.7]))
    assert exported(np.array([0.3, -0.7])).full().ravel()[3:] == pytest.approx([-0.4, -1.05])
    assert np.array_equal(known[0].full(), known[1].full())
    assert np.array_equal(known[0].full(), exported(np.array([0.3, -0.7])).full())


def test_a_motor_with_back_emf_turns_with_all_its_joints() -> None:
    """At its no-load rate the elbow's motor has no torque left, though its own joint is at rest."""
    bed = flyer(**{"devices.motors.simulated.no_load_rate_rad_s": 2.0})
    tree, torque = Tree(bed.modules[0]), ca.SX.sym("torque", 2)
    pushed, _ = motor_torque(bed, tree.q, tree.u, torque, ca.SX(0, 1), {})
    run, u = ca.Function("F", [tree.u, torque], [pushed]), np.zeros(5)
    u[3] = 2.0
    assert not run(u, np.array([0.0, 0.5])).full()[3:].any()
    u[3], u[4] = 2.0, -4 / 3
    assert run(u, np.array([0.0, 0.5])).full().ravel()[3:] == pytest.approx([0.5, 0.75])


def limited(bed: Testbed, force: Array) -> tuple[Array, Array]:
    """Torques of the motors where these generalised forces are demanded, and the acceleration of the joints beside
    that of the demand."""
    model = ControlModel(bed)
    q, u, d = np.array([0.0, 0.0, 0.0, 0.4, 0.7]), np.zeros(5), np.zeros(5)
    wrench = force[:3]
    _, shared, *_ = before_valves(model)(q, u, force, wrench, d, np.zeros(0))
    mass = ca.Function("M", [model.q], [model.mass_matrix])(q).full()
    torque = np.linalg.inv(bed.transmission) @ shared.full().ravel()[3:]  # type: ignore[arg-type]
    return torque, np.linalg.solve(mass, shared.full().ravel() - force)


def test_the_limit_is_that_of_the_motor_and_the_other_motor_keeps_its_acceleration() -> None:
    bed = flyer(**{"devices.motors.units": [{"joint": "shoulder", "torque_limit_n_m": 2.0},
                                            {"joint": "elbow", "torque_limit_n_m": 0.2}]})  # fmt: skip
    T = bed.transmission
    assert T is not None
    within, kept = limited(bed, np.concatenate([np.zeros(3), T @ [1.0, 0.19]]))
    np.testing.assert_allclose(within, [1.0, 0.19], atol=1e-12)
    assert np.abs(kept).max() < 1e-9
    torque, changed = limited(bed, np.concatenate([np.zeros(3), T @ [1.0, 0.5]]))
    assert torque[1] == pytest.approx(0.2)
    motors = T.T @ changed[3:]
    assert abs(motors[0]) < 1e-9
    assert abs(motors[1]) > 1.0
    # 0.6 N m at the elbow would exceed a limit of 0.5 N m there, not that of its motor
    own = flyer(**{"devices.motors.units": [{"joint": name, "torque_limit_n_m": 0.5} for name in CABLE["joints"]]})
    assert np.abs(limited(own, np.concatenate([np.zeros(3), T @ [0.0, 0.4]]))[1]).max() < 1e-9


def test_valves_that_deliver_something_else_leave_the_joints_alone() -> None:
    model = ControlModel(flyer())
    q, u, rng = np.array([0.0, 0.0, 0.3, 0.4, 0.7]), np.zeros(5), np.random.default_rng(1)
    force, opening = rng.normal(size=5) * 0.1, np.array([0.3, 0, 0, 0.2, 0, 0, 0.4, 0])
    torque, thrust = after_valves(model)(q, u, force, np.zeros(0), opening)
    t, f = ca.SX.sym("t", 2), ca.SX.sym("f", 8)
    pushes = ca.Function("push", [model.q, t, f], [model.torque_force(t) + model.thrust_force(f)])(q, torque, thrust)
    mass = ca.Function("M", [model.q], [model.mass_matrix])(q).full()
    change = np.linalg.solve(mass, pushes.full().ravel() - force)
    assert np.abs(change[3:]).max() < 1e-9
    assert np.abs(change[:3]).max() > 1e-3


@pytest.mark.slow
def test_a_cell_with_cables_carries_as_one_without_and_its_elbow_motors_give_two_thirds() -> None:
    logs = [simulate_in_memory(load(f"fixed-dual-arm/{variant}")).summary for variant in ("carry", "cable")]
    errors, elbow = [], []
    for summary in logs:
        assert summary is not None
        assert summary["ended"] == "completed", summary["text"]
        errors.append([error["max_in_last_5_s"] for error in summary["tracking_error"].values()])
        elbow.append(summary["applied"]["motors_left_elbow_torque"]["max"])
    np.testing.assert_allclose(errors[1], errors[0], rtol=0.1, atol=1e-4)
    assert elbow[1] == pytest.approx(elbow[0] / 1.5, rel=0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"matrix": [[1.0, 1.0]]}, "transmission.matrix = .*: expected 2 rows of 2 numbers"),
        ({"matrix": [[1.0, 2.0], [0.5, 1.0]]}, "transmission.matrix = .*: it is singular"),
        ({"joints": ["shoulder", "wrist"]}, "transmission.joints.1 = \"wrist\": no such joint"),
        ({"joints": ["elbow", "elbow"]}, "transmission.joints: joint 'elbow' occurs twice"),
    ],
)  # fmt: skip
def test_a_transmission_that_can_not_be_is_refused_in_one_sentence(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load("free-flyer/ideal", {"modules.vehicle.transmission": {**CABLE, **changes}})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"devices.motors.units": [{"joint": "shoulder", "torque_limit_n_m": 2.0}]}, "no motor bears its name"),
        ({"devices.motors.simulated.gear": {"stiffness_n_m_rad": 100.0, "rotor_inertia_kg_m2": 1e-3}}, "has a gear"),
    ],
)
def test_a_transmission_that_does_not_fit_the_motors_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        flyer(**changes)
