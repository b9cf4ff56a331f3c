"""Linearised contact sets are derivatives of accelerations, forces and velocities along what their contacts allow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from granite.config.contacts import Contact, Side
from granite.config.coordinates import Coordinate
from granite.config.errors import InputError
from granite.kernels.kernel import Array
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.linearisation import StateSpace, linearise
from granite.mrds.system import System
from tests.peers.interpreted import interpreted
from tests.peers.random_trees import random_module
from tests.support.flexible_arms import bent_state, flexible, planar_arm, spatial_robot
from tests.support.four_bar import at_angle, four_bar
from tests.support.random_systems import Referee, closed_chains, random_states, random_system

pytestmark = pytest.mark.usefixtures("interpreted")

STEP = 1e-5


def differences(system: System, closed: ContactSet, q: Array, u: Array, force: Array, along: Array) -> Array:
    """Central differences of accelerations and holding forces along columns of (dθ, du)."""
    referee, n_u = Referee(system, closed), len(u)
    columns = []
    for direction in STEP * along.T:
        turn, push = direction[:n_u], direction[n_u:]
        there, back = (
            closed.accelerate(referee.moved(q, s * turn, 1.0) if turn.any() else q, u + s * push, force)
            for s in (1, -1)
        )
        columns.append(np.concatenate([there.acceleration - back.acceleration, there.force - back.force]) / (2 * STEP))
    return np.array(columns).T


def assert_close(actual: Array, expected: Array, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(actual, expected, atol=tolerance * (1 + np.abs(expected).max(initial=0.0)))


def flexible_grasp() -> tuple[System, Array, Array]:
    """A floating flexible robot in space that holds a floating body by a spherical joint, both moving."""
    robot, load = spatial_robot(gravity_m_s2=[1.0, -2.0, 3.0]), random_module(4, "spatial", "floating", 1)
    contact = Contact(
        name="hold", kind="spherical", first=Side(module=robot.name, point="tip"),
        second=Side(module=load.name, point="point0"),
    )  # fmt: skip
    system = System([robot, load], [contact])
    q, u = bent_state(interpreted(robot), 3)
    body, rates, _ = random_states(System([load]), 4)
    return system, *system.contact_set().project(np.concatenate([q, body]), 0.3 * np.concatenate([u, rates]))


@pytest.mark.slow
@pytest.mark.parametrize("dimension", ["planar", "spatial"])
def test_all_coordinates_move_as_differences_of_accelerations_say(dimension: str) -> None:
    """Any state, also one that its contacts do not fit; the first system whose constraints are independent."""
    for seed in range(20):
        system = random_system(seed, dimension)
        q, u, force = random_states(system, seed)
        if len(u) < 36 and system.contact_set().accelerate(q, u, force).independence > 0.01:
            break
    for closed in (system.contact_set(), system.contact_set([])):
        linear = linearise(closed, q, u, force, reduced=False)
        expected = differences(system, closed, q, u, force, np.eye(2 * len(u)))[: len(u)]
        assert_close(linear.A[len(u) :], expected)


@pytest.mark.parametrize(
    "make",
    [pytest.param(lambda: closed_chains(2, 6, "rigid_grasp", seed=26), marks=pytest.mark.slow), flexible_grasp],
)
def test_along_what_contacts_allow_it_is_the_difference_of_accelerations_and_forces(make) -> None:
    system, q, u = make()
    closed = system.contact_set()
    q, u = closed.project(q, 0.5 * u)
    force = np.random.default_rng(1).normal(size=len(u))
    names = [f"{c.name}_{axis}_n" for c in closed.contacts for axis in "xyz"]
    linear = linearise(closed, q, u, force, outputs=names)
    n_u, n = len(u), len(linear.states) // 2
    assert n == n_u - closed.n_held
    expected = differences(system, closed, q, u, force, linear.T)
    # States are coordinates: T has the identity at them.
    kept = [int(np.flatnonzero(np.all(linear.T[n_u:, n:] == e, axis=1))[0]) for e in np.eye(n)]
    assert_close(linear.A[n:], expected[kept])
    rows = np.concatenate(
        [np.arange(closed.rows[c.name].start, closed.rows[c.name].start + 3) for c in closed.contacts]
    )
    assert_close(linear.C, expected[n_u + rows])
    pushed = [closed.accelerate(q, u, force + e).acceleration - closed.accelerate(q, u, force).acceleration
              for e in np.eye(n_u)]  # fmt: skip
    assert_close(linear.B, np.vstack([np.zeros((n, n_u)), np.array(pushed).T[kept]]))
    held = [closed.accelerate(q, u, force + e).force - closed.accelerate(q, u, force).force for e in np.eye(n_u)]
    assert_close(linear.D, np.array(held).T[rows])


def test_what_follows_leaves_no_gap_and_no_slip() -> None:
    system, q, u = flexible_grasp()
    closed, referee = system.contact_set(), Referee(system, system.contact_set())
    T, n_u = linearise(closed, q, u, 0 * u).T, len(u)
    assert np.linalg.matrix_rank(T) == 2 * (n_u - closed.n_held)
    for direction in STEP * T.T:
        there, back = (
            closed.errors(referee.moved(q, s * direction[:n_u], 1.0), u + s * direction[n_u:]) for s in (1, -1)
        )
        for ahead, behind in zip(there, back, strict=True):
            np.testing.assert_allclose((ahead - behind) / (2 * STEP), 0, atol=1e-6)


def test_a_turn_disturbed_on_a_turning_body_goes_round_with_it() -> None:
    """dθ' = dw - w x dθ, against quaternions of two motions."""
    body = random_module(4, "spatial", "floating", 1)
    q, u, force = random_states(System([body]), 2)
    A = linearise(System([body]).contact_set(), q, u, force).A
    referee = Referee(System([body]), System([body]).contact_set())
    disturbed = np.random.default_rng(3).normal(size=(2, len(u)))

    def apart(size: float, t: float) -> Array:
        """The turn from one body to the other after a time, in axes of the first."""
        first = referee.moved(q, u, t)
        second = referee.moved(referee.moved(q, size * disturbed[0], 1.0), u + size * disturbed[1], t)
        one, other = (Rotation.from_quat(np.roll(x[3:7], -1)) for x in (first, second))
        return (one.inv() * other).as_rotvec()

    size, t = 1e-4, 1e-4
    rates = [(apart(s * size, t) - apart(s * size, -t)) / (2 * t * s * size) for s in (1, -1)]
    assert_close(sum(rates) / 2, (A @ disturbed.ravel())[3:6])


@pytest.mark.slow
def test_each_constraint_adds_two_zeros_to_the_eigenvalues_of_the_mechanism() -> None:
    system, q, u = closed_chains(2, 6, "rigid_grasp", seed=26)
    closed = system.contact_set()
    q, u = closed.project(q, 0 * u)
    balance = Referee(system, closed).mass_and_bias(q, u)[1]
    few, many = (np.linalg.eigvals(linearise(closed, q, u, balance, reduced=r).A) for r in (True, False))
    far = many[np.abs(many) > 1e-3]
    assert len(many) == len(few) + 2 * closed.n_held
    assert len(far) == len(few)
    np.testing.assert_allclose(np.sort_complex(far**2), np.sort_complex(few**2), atol=1e-7 * np.abs(few).max() ** 2)


@pytest.mark.slow
def test_the_same_grasp_twice_is_linearised_like_once_and_shares_no_definite_force() -> None:
    system, q, u = closed_chains(2, 6, "rigid_grasp", seed=26)
    twice = system.contacts["tip0"].model_copy(update={"name": "again"})
    doubled = System(list(system.modules.values()), [*system.contacts.values(), twice]).contact_set()
    once = system.contact_set()
    q, u = once.project(q, 0.5 * u)
    names = ["tip1_x_n", "tip1_rz_n_m"]
    expected, linear = (linearise(c, q, u, 0 * u, outputs=names) for c in (once, doubled))
    assert linear.states == expected.states
    for one, other in zip(linear[:4], expected[:4], strict=True):
        assert_close(one, other, 1e-9)
    assert_close(linear.T, expected.T, 1e-9)
    with pytest.raises(InputError, match="output 'tip0_x_n': other constraints can take its place"):
        linearise(doubled, q, u, 0 * u, outputs=["tip0_x_n"])


def test_a_linkage_in_space_is_linearised_like_the_one_in_the_plane() -> None:
    """Three of its ten constraints are too many; moving, about a pose where nothing balances."""
    angle, rate = -1.0, 0.8
    systems: list[StateSpace] = []
    for dimension in ("planar", "spatial"):
        closed = four_bar(dimension).contact_set()
        q = at_angle(dimension, angle)
        u = np.zeros(len(q) - (dimension == "spatial"))
        x, y = q[2:4]
        u[:4] = rate, rate, -rate * y, rate * x
        systems.append(linearise(closed, q, u, 0 * u, inputs=["left_pivot"], outputs=["left_pivot_rad_s"]))
    for one, other in zip(systems[0][:4], systems[1][:4], strict=True):
        assert_close(one, other, 1e-9)
    assert systems[0].states == systems[1].states
    assert systems[0].A.shape == (2, 2)


@pytest.mark.parametrize("dimension", ["planar", "spatial"])
def test_a_flat_linkage_is_refused_for_it_can_go_two_ways(dimension: str) -> None:
    """Also where it is in balance, and nothing but the second order of its constraints tells."""
    system, q = four_bar(dimension), at_angle(dimension, 0.0)
    closed, still = system.contact_set(), np.zeros(len(q) - (dimension == "spatial"))
    for force in (still, Referee(system, closed).mass_and_bias(q, still)[1]):
        with pytest.raises(InputError, match="expected a pose that is not singular"):
            linearise(closed, q, still, force)


def test_a_rolling_ball_has_more_free_coordinates_than_velocities() -> None:
    body = random_module(4, "spatial", "floating", 1)
    contact = Contact(
        name="floor", kind="rolling", first=Side(), second=Side(module=body.name, point="point0"),
        parameters={"radius_m": 0.2},
    )  # fmt: skip
    system = System([body], [contact])
    closed = system.contact_set()
    q, u, force = random_states(system, 4)
    q, u = closed.project(q, 0.3 * u)
    linear = linearise(closed, q, u, force)
    n_u = len(u)
    n = n_u - 1
    assert len(linear.A) == n_u - 1 + n_u - 3
    assert [c.unit.endswith("/s") for c in linear.states] == [False] * n + [True] * (n_u - 3)
    kept = [int(np.flatnonzero(np.all(linear.T[n_u:] == e, axis=1))[0]) for e in np.eye(len(linear.A))[n:]]
    assert_close(linear.A[n:], differences(system, closed, q, u, force, linear.T)[kept])


def test_inputs_can_be_any_combination_of_forces() -> None:
    module = planar_arm([flexible(1.0, 2), flexible(0.5, 1)])
    closed = System([module]).contact_set()
    q, u = bent_state(interpreted(module), 1)
    every = linearise(closed, q, u, 0 * u)
    assert [c.key for c in every.inputs][:3] == ["joint1_torque_n_m", "joint2_torque_n_m", "link1_y1_force_n"]
    assert [c.key for c in every.outputs][4:6] == ["link2_y1_m", "joint1_rad_s"]
    assert every.states == every.outputs
    push = np.random.default_rng(2).normal(size=len(u))
    valve = linearise(closed, q, u, 0 * u, inputs={Coordinate("valve", "1"): push}, outputs=["joint2_rad"])
    assert_close(valve.B[:, 0], every.B @ push, 1e-12)
    assert valve.inputs == (Coordinate("valve", "1"),)
    np.testing.assert_array_equal(valve.C, np.eye(10)[[1]])
    named = linearise(closed, q, u, 0 * u, inputs=["joint2"])
    assert_close(named.B[:, 0], every.B[:, 1], 1e-12)


def test_what_cannot_be_is_refused_by_name() -> None:
    closed = four_bar("planar").contact_set()
    q, still = at_angle("planar", -1.0), np.zeros(5)
    for given, words in (
        ({"inputs": ["left_pivto"]}, "input = \"left_pivto\": expected one of .*did you mean 'left_pivot'"),
        ({"outputs": ["left_pivot"]}, 'output = "left_pivot": expected one of '),
        ({"inputs": {Coordinate("valve", "1"): np.ones(3)}}, r"input 'valve': has shape \(3,\), expected \(5,\)"),
    ):
        with pytest.raises(InputError, match=words):
            linearise(closed, q, still, still, **given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"contact 'pin_left' has a gap of 0.008"):
        linearise(closed, q + np.array([0, 0, 0.01, 0, 0]), still, still)
    with pytest.raises(InputError, match=r"contact 'pin_right' has a slip of 0.4"):
        linearise(closed, q, np.array([0.0, 1.0, 0.0, 0.0, 0.0]), still)
