"""Computed torque in task space: the motion it demands is that of the joined modules under its own torques."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.parts import build
from granite.config.records import NOTHING, Array, Reference, State
from granite.config.testbed import Testbed
from granite.controllers.behaviours.tasks import CENTRE, TaskLayout
from granite.controllers.laws.task_space import TaskSpace
from granite.controllers.model import ControlModel
from granite.mrds.start import start_of
from granite.mrds.system import System

BASE, WHEEL = (0, 1, 2), 5


@pytest.fixture(scope="module")
def leap() -> tuple[Testbed, TaskSpace, TaskLayout]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANITE_NO_COMPILER", "1")
        bed = load("leap/ideal")
        return bed, build("law", bed.control.law, ControlModel(bed)), TaskLayout(bed)


def state(bed: Testbed, held: tuple[str, ...], q: Array, u: Array) -> State:
    holding = np.array([float(name in held) for name in bed.grips])
    return State(0.0, True, q, u, NOTHING, NOTHING, holding=holding)


def joints(bed: Testbed) -> tuple[tuple[int, ...], int]:
    wheel = bed.known.joint_u("wheel")
    return tuple(bed.known.joint_u(motor.joint) for motor in bed.motors if motor.joint != "wheel"), wheel


def moved(bed: Testbed, held: tuple[str, ...], at: State, force: Array) -> Array:
    """u' by the contact set of `mrds`."""
    return System(bed.modules, bed.contacts).contact_set(held).accelerate(at.q, at.u, force).acceleration


def resisted(bed: Testbed, rate: Array) -> Array:
    """Force of the joints' friction."""
    friction, force = {joint.name: joint.friction_n_m for joint in bed.modules[0].joints}, np.zeros(len(rate))
    for motor in bed.motors:
        i = bed.known.joint_u(motor.joint)
        force[i] = -friction[motor.joint] * rate[i] / np.hypot(rate[i], 0.01)
    return force


@pytest.mark.parametrize(
    "held", [("bar1_hand1", "bar1_hand2"), ("bar1_hand1",), ()], ids=["two hands", "one hand", "no hand"]
)
def test_demanded_acceleration_is_that_of_the_contact_set_in_force(
    leap: tuple[Testbed, TaskSpace, TaskLayout], held: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    bed, law, layout = leap
    rng, (q, u) = np.random.default_rng(2), start_of(bed)[:2]
    arms, wheel = joints(bed)
    task = layout.nothing(0)
    for i in (*BASE, wheel) if len(held) == 2 else (2, *arms):
        layout.weigh(task, i, 1.0)
    at = state(bed, held, q, u)
    wanted = 0.05 * rng.standard_normal(8)
    reference = Reference(0.0, q, u, wanted, False, (), task)
    demand = law.control(at, reference)
    assert np.abs(demand.acceleration - moved(bed, held, at, demand.force)).max() < 1e-9
    assert np.flatnonzero(demand.force).tolist() == sorted((*arms, wheel))
    if len(held) == 2:  # as many freedoms as torques reach
        assert np.abs(demand.acceleration - wanted)[[*BASE, wheel]].max() < 1e-3
    if not held:
        assert np.abs(demand.acceleration - wanted)[[2, *arms]].max() < 1e-3


def test_torques_inside_leave_the_mass_centre_alone(leap: tuple[Testbed, TaskSpace, TaskLayout]) -> None:
    bed, law, layout = leap
    q, u = start_of(bed)[:2]
    arms, _ = joints(bed)
    task = layout.nothing(0)
    layout.aim(task, CENTRE, np.array([9.0, 9.0]), np.zeros(2), np.zeros(2), 1e3)
    for i in arms:
        layout.weigh(task, i, 1.0)
    demand = law.control(state(bed, (), q, u), Reference(0.0, q, u, np.zeros(8), False, (), task))
    assert np.abs(demand.force).max() < 1e-6  # no torque helps
    assert np.abs(demand.acceleration).max() < 1e-6


def test_no_torque_is_beyond_its_limit_and_a_fast_wheel_is_not_driven_on(
    leap: tuple[Testbed, TaskSpace, TaskLayout],
) -> None:
    bed, law, layout = leap
    q, u = start_of(bed)[:2]
    arms, wheel = joints(bed)
    task, wanted = layout.nothing(0), np.zeros(8)
    for i in (2, *arms):
        layout.weigh(task, i, 1.0)
    wanted[2] = 5.0
    limits = {bed.known.joint_u(motor.joint): motor.torque_limit_n_m for motor in bed.motors}
    demand = law.control(state(bed, (), q, u), Reference(0.0, q, u, wanted, False, (), task))
    assert all(abs(demand.force[i]) <= limit + 1e-9 for i, limit in limits.items())
    assert demand.force[wheel] == pytest.approx(-0.5)
    fast = u.copy()
    fast[wheel] = -101.0
    demand = law.control(state(bed, (), q, fast), Reference(0.0, q, fast, wanted, False, (), task))
    assert demand.force[wheel] == pytest.approx(0.0, abs=1e-12)


def test_without_a_task_everything_floats(leap: tuple[Testbed, TaskSpace, TaskLayout]) -> None:
    bed, law, layout = leap
    q, u = start_of(bed)[:2]
    demand = law.control(state(bed, (), q, u), Reference(0.0, q, u, np.ones(8), False, (), layout.nothing(3)))
    assert not demand.force.any()


def test_thrusters_push_where_they_may_fire_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    bed = load("leap/thrusters")
    law, layout, q, u = build("law", bed.control.law, ControlModel(bed)), TaskLayout(bed), *start_of(bed)[:2]
    task = layout.nothing(0)
    layout.weigh(task, 2, 1.0)
    layout.aim(task, CENTRE, np.array([9.0, 9.0]), np.zeros(2), np.zeros(2), 10.0)
    wrenches = []
    for may_fire in (True, False):
        layout.permit_thrusters(task, may_fire)
        demand = law.control(state(bed, (), q, u), Reference(0.0, q, u, np.zeros(8), False, (), task))
        wrenches.append(demand.wrench)
        assert (np.abs(demand.force[:3]).max() > 1e-9) == may_fire  # the wheel turns the base alone
    assert np.abs(wrenches[0][:2]).min() > 0.5
    assert not wrenches[1].any()


def test_disturbance_and_friction_of_joints_are_in_the_demanded_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    bed = load("leap")
    model = ControlModel(bed)
    law, layout, held = build("law", bed.control.law, model), TaskLayout(bed), ("bar1_hand1", "bar1_hand2")
    q, u = start_of(bed)[:2]
    arms, wheel = joints(bed)
    task = layout.nothing(0)
    for i in (*BASE, wheel):
        layout.weigh(task, i, 1.0)
    u, d = u.copy(), np.zeros(len(u))
    u[list(arms)], d[list(arms)] = 0.1, 0.03
    at = state(bed, held, q, u)._replace(disturbance=d)
    demand = law.control(at, Reference(0.0, q, u, np.zeros(len(u)), False, (), task))
    expected = moved(bed, held, at, demand.force + d + resisted(bed, u))
    np.testing.assert_allclose(demand.acceleration, expected, atol=2e-3)
    assert abs(moved(bed, held, at, demand.force) - expected).max() > 0.02
    assert model.ignored == []  # contacts that no state of the behaviour closes are open


def test_friction_of_a_joint_with_a_task_is_that_of_its_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A joint that is to hold still keeps the friction that holds it, whatever its estimated rate."""
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    bed = load("leap")
    law, layout = build("law", bed.control.law, ControlModel(bed)), TaskLayout(bed)
    q, rest = start_of(bed)[:2]
    arms, _ = joints(bed)
    task, u, u_ref = layout.nothing(0), rest.copy(), rest.copy()
    for i in (2, *arms):
        layout.weigh(task, i, 1.0)
    u[list(arms)], u_ref[arms[0]] = 0.1, -0.1
    at = state(bed, (), q, u)._replace(disturbance=np.zeros(len(u)))
    demand = law.control(at, Reference(0.0, q, u_ref, np.zeros(len(u)), False, (), task))
    np.testing.assert_allclose(demand.acceleration, moved(bed, (), at, demand.force + resisted(bed, u_ref)), atol=2e-3)
    assert abs(demand.acceleration - moved(bed, (), at, demand.force + resisted(bed, u))).max() > 0.02
