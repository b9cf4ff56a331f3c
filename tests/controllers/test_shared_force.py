"""One allocation for valves, wheel and motors: what one of them can not give, the others give in the same tick."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest

from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import NOTHING, Array, Demand, Reference, State
from granite.config.testbed import Testbed
from granite.controllers.distribution.actuation import Actuation
from granite.controllers.distribution.shared_force import after_valves, before_valves
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.geometry import thruster_matrix

WHEEL = "stanford-free-flyer/yaw-wheel"


class Allocation:
    """The functions before and after the valves, and the motion that follows."""

    def __init__(self, name: str) -> None:
        self.bed = load(name)
        self.model = ControlModel(self.bed)
        self.before, self.after = before_valves(self.model), after_valves(self.model)
        self.limits = np.array([motor.torque_limit_n_m for motor in self.bed.motors])
        self.nothing = np.zeros(len(self.limits))
        self.matrix = thruster_matrix(self.bed.devices_of(Thrusters)["thrusters"], "planar")

    def demand(self, rng: np.random.Generator, scale: float = 1.0) -> tuple[Array, Array, Array, Array, Array]:
        """Pose, rates, acceleration and its force, and the disturbance."""
        n = self.model.n
        q, u, a, d = (rng.normal(size=n) * s for s in (1.0, 0.2, scale, 0.01))
        return q, u, a, self.inertia(q, u, d) @ (a - self.motion(q, u, self.nothing, np.zeros(8), d)), d

    def inertia(self, q: Array, u: Array, d: Array) -> Array:
        """M, from the accelerations under unit forces."""
        at_rest = self.motion(q, u, self.nothing, np.zeros(8), d)
        each = [self.motion(q, u, self.nothing, np.zeros(8), d + e) - at_rest for e in np.eye(self.model.n)]
        return np.linalg.inv(np.array(each).T)

    def motion(self, q: Array, u: Array, torque: Array, thrust: Array, d: Array) -> Array:
        return np.array(self.model.acceleration(q, u, torque, thrust, d)).ravel()

    def wrench(self, q: Array, force: Array) -> Array:
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([c * force[0] + s * force[1], c * force[1] - s * force[0], force[2]])

    def on_base(self, q: Array, wrench: Array) -> Array:
        """A generalised force of nothing but this wrench on the base."""
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([c * wrench[0] - s * wrench[1], s * wrench[0] + c * wrench[1], wrench[2]])


@cache
def allocation(name: str) -> Allocation:
    return Allocation(name)


def numbers(function, *arguments: Array) -> list[Array]:
    return [np.array(result).ravel() for result in function(*arguments)]


@pytest.mark.parametrize("clamped", [0, 1])
def test_a_fixed_arm_keeps_the_accelerations_of_its_other_joints_under_a_clamped_torque(clamped: int) -> None:
    """Without thrusters too."""
    other = 1 - clamped
    bed = load("tests/robots/fixed-arm.toml", [f"devices.motors.units.{other}.torque_limit_n_m=20"])
    model = ControlModel(bed)
    rng = np.random.default_rng(clamped)
    q, u, a, nothing = rng.normal(size=2), 0.1 * rng.normal(size=2), 0.1 * rng.normal(size=2), np.zeros(2)

    def motion(torque: Array) -> Array:
        return np.array(model.acceleration(q, u, torque, NOTHING, nothing)).ravel()

    inertia = np.linalg.inv(np.array([motion(e) - motion(nothing) for e in np.eye(2)]).T)
    limits = np.array([motor.torque_limit_n_m for motor in bed.motors])
    a[clamped] += 1.2 * limits[clamped] / inertia[clamped, clamped]
    force = inertia @ (a - motion(nothing))
    assert abs(force[clamped]) > limits[clamped]
    allocation = Actuation(model)
    state = State(0.0, True, q, u, nothing, nothing, disturbance=nothing, faults=NOTHING)
    command = allocation.allocate(state, Reference(0.0, q, u, a, False), Demand(0.0, a, force, NOTHING))
    (torque,) = command.setpoints
    assert abs(torque[clamped]) == pytest.approx(limits[clamped], abs=1e-9)
    assert abs(torque[other]) < limits[other]
    assert motion(torque)[other] == pytest.approx(a[other], abs=1e-9)
    assert abs(motion(np.clip(force, -limits, limits))[other] - a[other]) > 0.1  # without it


@pytest.mark.parametrize("seed", range(8))
def test_under_a_clamped_torque_the_base_and_the_other_joints_keep_their_accelerations(seed: int) -> None:
    """The thrusters are asked for the wrench that the clamped joint no longer makes."""
    one = allocation("two-arm-free-flyer")
    rng = np.random.default_rng(seed)
    q, u, a, force, d = one.demand(rng, 0.5)
    clamped = seed % 4
    driven = one.model.driven
    beyond = a.copy()
    beyond[driven[clamped]] += 100.0
    inertia = one.inertia(q, u, d)
    force = force + inertia @ (beyond - a)
    others = [i for i in range(4) if i != clamped and abs(force[driven[i]]) < one.limits[i]]
    wrench, kept, *_ = numbers(one.before, q, u, force, one.wrench(q, force), d, NOTHING)
    torque = np.clip(kept[driven], -one.limits, one.limits)
    total = d.copy()
    total[:3] += one.on_base(q, wrench)
    motion = one.motion(q, u, torque, np.zeros(8), total)
    assert abs(torque[clamped]) == pytest.approx(one.limits[clamped], rel=1e-9)
    np.testing.assert_allclose(motion[:3], beyond[:3], rtol=1e-9, atol=1e-9)
    for i in others:
        if abs(torque[i]) < one.limits[i]:
            assert motion[driven[i]] == pytest.approx(beyond[driven[i]], rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_torques_fit_the_delivered_thrust_also_where_one_of_them_is_clamped(seed: int) -> None:
    one = allocation("two-arm-free-flyer")
    rng = np.random.default_rng(seed)
    q, u, a, force, d = one.demand(rng, 0.2)
    driven, opening = one.model.driven, (rng.random(8) < 0.4).astype(float)
    if seed % 2:
        a[driven[seed % 4]] += 100.0
        force += 100.0 * one.inertia(q, u, d)[:, driven[seed % 4]]
    torque, thrust = numbers(one.after, q, u, force, NOTHING, opening)
    applied = np.clip(torque, -one.limits, one.limits)  # as the guard does
    motion = one.motion(q, u, applied, thrust, d)
    kept = [i for i in range(4) if abs(torque[i]) < one.limits[i]]
    assert len(kept) >= 3 - (seed % 2)
    assert (len(kept) < 4) == bool(seed % 2)
    for i in kept:
        assert motion[driven[i]] == pytest.approx(a[driven[i]], rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("bed", ["free-flyer", "two-arm-catch"])
def test_a_torque_that_the_law_adds_passes_the_re_solve(bed: str) -> None:
    """Whatever the valves deliver, in an open chain and with a held object: no acceleration stands for it."""
    model = ControlModel(load(bed))
    rng = np.random.default_rng(1)
    q, u, force = (rng.normal(size=model.n) * s for s in (1.0, 0.2, 0.1))
    opening = (rng.random(8) < 0.4).astype(float)
    added = np.zeros(model.n)
    added[model.driven] = 0.02 * rng.normal(size=len(model.driven))
    for gripped in model.contact_sets:
        after = after_valves(model, gripped)
        without, with_it = (numbers(after, q, u, force + more, NOTHING, opening)[0] for more in (0.0 * added, added))
        np.testing.assert_allclose(with_it - without, added[model.driven], atol=1e-12)


def two_handed() -> ControlModel:
    """The two-arm vehicle with both hands on the object all the time."""
    bed = load("two-arm-catch")
    [left] = bed.contacts
    right = left.model_copy(update={"name": "other", "first": left.first.model_copy(update={"point": "right_tip"})})
    return ControlModel(bed.model_copy(update={"contacts": (left, right), "behaviour": load("free-flyer").behaviour}))


@pytest.mark.parametrize("two_hands", [False, True])
def test_grips_keep_their_forces_whatever_the_valves_deliver(two_hands: bool) -> None:
    """The internal force between two hands as well; without the re-solve, or by that of the open chain, they do not."""
    model = two_handed() if two_hands else ControlModel(load("two-arm-catch"))
    gripped = frozenset() if two_hands else frozenset({"grasp"})
    joined = model.joined(gripped)
    assert joined is not None
    rng = np.random.default_rng(2)
    q, u, force = (rng.normal(size=model.n) * s for s in (0.3, 0.1, 0.1))
    q[3:7] = 0.8, -0.8, -1.4, 1.4
    force[7:] = 0.0
    opening = (rng.random(8) < 0.4).astype(float)

    def grips(total: Array) -> Array:
        return np.array(joined.assembly.accelerate(q, u, total)[1]).ravel()

    def delivered(torque: Array, thrust: Array) -> Array:
        total = np.array(push(q, thrust)).ravel()
        total[model.driven] += torque
        return grips(total)

    thrusts = ca.SX.sym("thrust", 8)
    push = ca.Function("push", [model.q, thrusts], [model.thrust_force(thrusts)])
    torque, thrust = numbers(after_valves(model, gripped), q, u, force, NOTHING, opening)
    wanted, forces = grips(force), delivered(torque, thrust)
    missed = np.abs(delivered(force[model.driven], thrust) - wanted).max()
    assert missed > 0.01
    assert np.abs(forces - wanted).max() < 0.02 * missed


@pytest.mark.parametrize("name", ["fixed-dual-arm/carry", "two-arm-carry"])
def test_the_constraint_jacobian_is_what_takes_gap_rates_from_velocities(name: str) -> None:
    model = ControlModel(load(name))
    joined = model.joined(frozenset(model.bed.grips))
    assert joined is not None
    J = ca.Function("J", [model.q], [model.constraint_jacobian(model.contacts_under(frozenset(model.bed.grips)))])
    rng = np.random.default_rng(4)
    q, u = rng.normal(size=model.q.numel()), rng.normal(size=model.n)
    zero = np.zeros(joined.n_held)
    np.testing.assert_allclose(np.array(J(q)) @ u, joined.errors(q, u, zero, zero)[1], atol=1e-12)


def test_torques_of_a_fixed_arm_cost_nothing_while_it_holds_an_object() -> None:
    model = ControlModel(load("fixed-dual-arm/carry"))
    assert after_valves(model, frozenset(model.bed.grips)).n_instructions() < 30


@pytest.mark.parametrize("seed", range(3))
def test_joints_of_docked_vehicles_accelerate_as_demanded_whatever_the_valves_deliver(seed: int) -> None:
    model = ControlModel(load("two-flyers/docking"))
    docked = frozenset({"dock"})
    rng = np.random.default_rng(seed)
    q, u = rng.normal(size=model.n), np.zeros(model.n)
    q[:3], q[5:8] = (1.5, 1.0, 0.0), (1.0, 1.0, np.pi)  # as the ports hold them
    force, opening = 0.1 * rng.normal(size=model.n), (rng.random(16) < 0.4).astype(float)
    thrusts = ca.SX.sym("thrust", 16)
    push = ca.Function("push", [model.q, thrusts], [model.thrust_force(thrusts)])
    moved, joints = model.motion_under(docked), model.driven
    torque, thrust = numbers(after_valves(model, docked), q, u, force, NOTHING, opening)
    total = np.array(push(q, thrust)).ravel()
    wanted, plain = (
        np.array(moved(q, u, load)).ravel()[joints] for load in (force, total + model_torque(model, force))
    )
    acceleration = np.array(moved(q, u, total + model_torque(model, torque, is_torque=True))).ravel()[joints]
    assert np.abs(plain - wanted).max() > 1e-2
    np.testing.assert_allclose(acceleration, wanted, atol=1e-9)


def model_torque(model: ControlModel, force: Array, *, is_torque: bool = False) -> Array:
    """The part of a generalised force on the joints."""
    on_joints = np.zeros(model.n)
    on_joints[model.driven] = force if is_torque else force[model.driven]
    return on_joints


@pytest.mark.parametrize("seed", range(6))
def test_the_wheel_makes_the_yaw_torque_whatever_the_valves_deliver(seed: int) -> None:
    one = allocation(WHEEL)
    rng = np.random.default_rng(seed)
    q, u, a, force, d = one.demand(rng, 0.05)
    wrench, kept, unloading, planned = numbers(one.before, q, u, force, one.wrench(q, force), d, np.zeros(1))
    assert unloading == 0.0
    assert wrench[2] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(wrench[:2], one.wrench(q, force)[:2], atol=1e-12)
    opening = (rng.random(8) < 0.3).astype(float)
    torque, thrust = numbers(one.after, q, u, kept, planned, opening)
    assert abs(torque[0]) < one.limits[0]
    assert one.motion(q, u, torque, thrust, d)[2] == pytest.approx(a[2], abs=1e-10)


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_wheel_at_its_highest_rate_leaves_the_yaw_torque_to_the_thrusters(direction: float) -> None:
    one = allocation(WHEEL)
    q, u = np.zeros(4), np.array([0.0, 0.0, 0.0, 30.0 * direction])
    zero = np.zeros(4)
    force = np.array([0.0, 0.0, -0.02 * direction, 0.0])  # the wheel would have to turn even faster
    wrench, kept, unloading, planned = numbers(one.before, q, u, force, force[:3], zero, np.zeros(1))
    assert unloading == 1.0
    assert wrench[2] == pytest.approx(force[2], rel=1e-9)
    torque, _ = numbers(one.after, q, u, kept, planned, np.zeros(8))
    assert torque[0] == pytest.approx(0.0, abs=1e-12)
    braked, *_ = numbers(one.before, q, u, -force, -force[:3], zero, np.zeros(1))
    assert braked[2] == pytest.approx(-0.005 * direction, rel=1e-9)  # it can brake, and is unloaded besides


@pytest.mark.parametrize(
    ("rate", "before", "unloads"), [(20.9, 0.0, False), (21.1, 0.0, True), (6.1, 1.0, True), (5.9, 1.0, False)]
)
def test_unloading_begins_and_ends_at_its_ratios_of_the_rate_limit(rate: float, before: float, unloads: bool) -> None:
    one, zero = allocation(WHEEL), np.zeros(4)
    d = np.array([0.0, 0.0, 0.002, 0.0])
    for sign in (1.0, -1.0):
        u = np.array([0.0, 0.0, 0.0, sign * rate])
        wrench, _, now, _ = numbers(one.before, zero, u, -d, -d[:3], d, np.array([before]))
        assert now == float(unloads)
        # Against the disturbance, and towards the set point.
        assert wrench[2] == pytest.approx(unloads * (-0.002 - sign * 0.005), abs=1e-12)


def command_with_faults(bed: Testbed, faults: Array, wrench: Array) -> Array:
    """Thrust of the tick in which these faults are found [N]."""
    actuation, n = Actuation(ControlModel(bed)), len(bed.known.velocities)
    q, zero = np.zeros(len(bed.known.positions)), np.zeros(n)
    state = State(0.0, True, q, zero, zero, np.zeros(len(bed.sensors)), faults=faults)
    force = zero.copy()
    force[:3] = wrench
    reference = Reference(0.0, q, zero, zero, False)
    return actuation.allocate(state, reference, Demand(0.0, zero, force, wrench)).thrust


@pytest.mark.parametrize("lost", [0, 3, 6])
def test_a_thruster_whose_fault_is_found_is_replaced_in_the_same_tick(lost: int) -> None:
    bed = load("free-flyer/ideal", ["controller.allocation.sharing=least_propellant"])
    wrench, faults = np.array([0.3, -0.2, 0.02]), np.zeros(8)
    faults[lost] = 1.0
    thrust = command_with_faults(bed, faults, wrench)
    assert thrust[lost] == 0.0
    np.testing.assert_allclose(allocation("free-flyer").matrix @ thrust, wrench, atol=1e-9)


@pytest.mark.parametrize(
    ("bed", "change", "sentence"),
    [
        (WHEEL, "joint=arm", r"yaw_wheel\.joint = \"arm\": no such momentum wheel, expected wheel"),
        ("stanford-free-flyer", "joint=wheel", "expected a wheel of a device of kind momentum_wheel"),
        (WHEEL, "set_point_rad_s=10", r"set_point_rad_s = 10.*expected at most 9"),
        (WHEEL, "end_ratio=0.8", r"end_ratio = 0\.8.*expected less than begin_ratio = 0\.7"),
        (WHEEL, "torque_n_m=0", "torque_n_m = 0"),
        (WHEEL, "torque_n_m=5", r"torque_n_m = 5.*expected at most 0\.0917, the yaw torque that the thrusters"),
        (WHEEL, "begin_ratio=1.5", r"begin_ratio = 1\.5"),
    ],
)
def test_a_wheel_that_does_not_fit_is_refused(bed: str, change: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Actuation(ControlModel(load(bed, [f"controller.allocation.yaw_wheel.{change}"])))
