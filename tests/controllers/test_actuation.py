"""The allocate step: torques for the thrust that really comes, and every actuator in its place."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import NOTHING, Array, Command, Reference, State
from granite.config.testbed import Testbed as Bed
from granite.controllers.distribution.actuation import Actuation
from granite.controllers.laws.computed_torque import ComputedTorque
from granite.controllers.model import ControlModel
from tests.support.two_vehicles import PERIOD, two_vehicles

THRESHOLD = {"modulation": "threshold"}


class PairControl:
    """Law and actuation of a testbed."""

    def __init__(self, bed: Bed) -> None:
        self.bed, self.model = bed, ControlModel(bed)
        options = bed.control.law
        assert isinstance(options, ComputedTorque.Options)
        self.law, self.actuation = ComputedTorque(options, self.model), Actuation(self.model)
        x, thrust = ca.SX.sym("x", self.model.n), ca.SX.sym("thrust", len(bed.thrusters))
        q, u = self.model.q, self.model.u
        self._forward = ca.Function("forward", [q, u, x], [self.model.forward(x)])
        self._push = ca.Function("push", [q, thrust], [self.model.thrust_force(thrust)])

    def command(self, q: Array, u: Array, q_ref: Array, *, t: float = 0.0, ready: bool = True) -> tuple[Command, Array]:
        """The command for a state and a reference, and the demanded accelerations."""
        zero = np.zeros(self.model.n)
        direct = tuple(np.ones(len(d.signals(self.bed))) for d in self.bed.direct_actuators.values())
        state = State(t, ready, q, u, zero, np.zeros(len(self.bed.sensors)))
        reference = Reference(t, q_ref, zero, zero, False, direct)
        demand = self.law.control(state, reference)
        return self.actuation.allocate(state, reference, demand), demand.acceleration

    def acceleration(self, q: Array, u: Array, command: Command) -> Array:
        """What the command will do if the thrust is the expected one."""
        force = np.array(self._push(q, command.thrust)).ravel()
        for name, setpoint in zip(self.bed.actuators, command.setpoints, strict=True):
            if "motor" in name:
                for motor, torque in zip(getattr(self.bed.devices[name], "units"), setpoint, strict=True):  # noqa: B009
                    force[self.model.layout.joint_u(motor.joint)] += torque
        return np.array(self._forward(q, u, force)).ravel()


def pair(**more: Any) -> PairControl:
    resolve = more.pop("resolve", True)
    controller = {"allocation": THRESHOLD, "resolve_delivered": resolve} | more.pop("controller", {})
    return PairControl(two_vehicles(controller=controller, **more))


def states(n: int, size: int) -> Any:
    """Random states, and references so far away that some valves open; torques stay within their limits."""
    rng = np.random.default_rng(1)
    for _ in range(n):
        q = rng.uniform(-1, 1, size)
        q[8:] *= 1e-3  # the bending of a flexible link [m]
        yield q, rng.uniform(-0.3, 0.3, size), q + rng.uniform(-0.5, 0.5, size)


def pushes_ahead(opening: Array) -> bool:
    """Whether both thrusters along x are open, and none against it; others may turn, for mass centres are off."""
    return opening[[3, 4, 0, 7]].tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("flexible", [False, True])
def test_joints_get_their_acceleration_with_the_thrust_that_really_comes(flexible: bool) -> None:
    controls = pair(flexible=flexible)
    driven, missed = controls.model.driven, 0.0
    for k, (q, u, q_ref) in enumerate(states(20, controls.model.n)):
        command, demanded = controls.command(q, u, q_ref, t=k * PERIOD)
        acceleration = controls.acceleration(q, u, command)
        np.testing.assert_allclose(acceleration[driven], demanded[driven], atol=1e-8)
        missed = max(missed, np.abs(acceleration - demanded)[[0, 1, 2]].max())
    assert missed > 0.01  # the valves never give the base what was asked for


def test_without_the_re_solve_the_joints_feel_what_the_valves_miss() -> None:
    controls = pair(resolve=False)
    driven, missed = controls.model.driven, 0.0
    for k, (q, u, q_ref) in enumerate(states(20, controls.model.n)):
        command, demanded = controls.command(q, u, q_ref, t=k * PERIOD)
        missed = max(missed, np.abs(controls.acceleration(q, u, command) - demanded)[driven].max())
    assert missed > 0.01


def test_ideal_thrusters_give_every_acceleration() -> None:
    ideal = {
        name: {**table.model_dump(), "simulated": {"ideal": True}, "units": [
            {**unit.model_dump(), "thrust_n": 100.0} for unit in table.units
        ]}
        for name, table in two_vehicles().devices_of(Thrusters).items()
    }  # fmt: skip
    controls = pair(devices=ideal, controller={"allocation": {"modulation": "proportional"}})
    for q, u, q_ref in states(20, controls.model.n):
        command, demanded = controls.command(q, u, q_ref)
        np.testing.assert_allclose(controls.acceleration(q, u, command), demanded, atol=1e-8)


def test_the_expected_thrust_is_the_mean_until_the_next_tick() -> None:
    """A valve that is commanded to open does nothing for 4 ms, then rises in 3 ms: 1/24 of the first 5 ms."""
    controls = pair()
    q = np.zeros(controls.model.n)
    away = q.copy()
    away[4] = 30.0  # b far ahead along x
    command, _ = controls.command(q, q, away)
    opening = command.setpoints[list(controls.bed.actuators).index("b_jets")]
    assert pushes_ahead(opening)
    rising = 0.5 * 0.001**2 / 0.003 / PERIOD
    np.testing.assert_allclose(command.thrust[:8], 1.5 * opening * rising, rtol=1e-9)
    for k in range(1, 4):
        command, _ = controls.command(q, q, away, t=k * PERIOD)
    np.testing.assert_allclose(command.thrust[:8], 1.5 * opening, rtol=1e-9)


def test_each_device_of_thrusters_works_for_its_own_module() -> None:
    controls = pair()
    q = np.zeros(controls.model.n)
    places = {name: i for i, name in enumerate(controls.bed.actuators)}
    for coordinate, own, other in ((0, "a_jets", "b_jets"), (4, "b_jets", "a_jets")):
        away = q.copy()
        away[coordinate] = 30.0
        command, _ = pair().command(q, q, away)
        assert pushes_ahead(command.setpoints[places[own]])
        assert not command.setpoints[places[other]].any()


def test_two_devices_of_thrusters_on_one_module_are_refused() -> None:
    """Each would give the whole wrench."""
    more = {**two_vehicles().devices["a_jets"].model_dump(), "module": "b"}
    with pytest.raises(InputError, match="'b_jets' pushes it as well") as refusal:
        pair(devices={"more_jets": more})
    assert (refusal.value.key, refusal.value.value) == ("devices.more_jets.module", "b")


def test_set_points_stand_in_the_order_of_the_actuators() -> None:
    controls = pair()
    bed, q = controls.bed, np.zeros(controls.model.n)
    assert list(bed.actuators) == ["b_jets", "b_motor", "a_motor", "a_jets"]
    away = q.copy()
    away[3] = 0.2  # a's hip
    command, _ = controls.command(q, q, away)
    assert [len(setpoint) for setpoint in command.setpoints] == [8, 1, 1, 8]
    assert command.setpoints[2][0] > 0.05
    assert abs(command.setpoints[1][0]) < 1e-9


def test_before_the_state_is_ready_everything_rests() -> None:
    controls = pair()
    q = np.full(controls.model.n, np.nan)
    command, _ = controls.command(q, q, q, ready=False)
    assert not any(setpoint.any() for setpoint in command.setpoints)
    assert not command.thrust.any()


def gripping() -> Bed:
    """The free-flyer holds something of the ground by a contact that is switched."""
    content = load("free-flyer").model_dump()
    content["contacts"] = [
        {"name": "grip", "kind": "revolute", "first": {"position_m": [1.0, 1.0]},
         "second": {"module": "vehicle", "point": "tip"}},
    ]  # fmt: skip
    content["behaviour"]["holds"] = [{"from_s": 0.0, "closed": []}, {"from_s": 1.0, "closed": ["grip"]}]
    return Bed.model_validate(content)


@pytest.mark.parametrize("ready", [True, False])
def test_actuators_beside_motors_and_thrusters_get_what_the_behaviour_says(ready: bool) -> None:
    controls = PairControl(gripping())
    assert list(controls.bed.direct_actuators) == ["grips"]
    q = np.zeros(5)
    command, _ = controls.command(q, q, q, ready=ready)
    assert command.setpoints[list(controls.bed.actuators).index("grips")].tolist() == [1.0]


def test_an_arm_without_thrusters_has_no_thrust() -> None:
    fixed = ["modules.vehicle.base=fixed", "devices.thrusters=none", "devices.vision=none", "behaviour.waypoints=[]"]
    bed = load(
        "free-flyer",
        [*fixed, "safety.age_s={}", "simulation.initial={}", "controller.law.gains={}", "controller.law.hold.gains={}"],
    )
    controls = PairControl(bed)
    q = np.array([0.1, 0.2])
    command, demanded = controls.command(q, q, q + 0.1)
    assert command.thrust.shape == NOTHING.shape
    force = ca.Function("f", [controls.model.q, controls.model.u], [controls.model.inverse(ca.DM(demanded))])(q, q)
    np.testing.assert_allclose(command.setpoints[0], np.array(force).ravel(), atol=1e-12)


def test_a_misfit_of_sharing_and_modulation_is_refused_when_the_actuation_is_built() -> None:
    with pytest.raises(InputError) as refusal:
        pair(controller={"allocation": {"sharing": "best_pattern", "modulation": "delta_sigma"}})
    assert (refusal.value.key, refusal.value.value) == ("controller.allocation.modulation", "delta_sigma")
