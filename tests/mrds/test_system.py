"""Modules joined by contacts move as one dense KKT solve says, whatever the topology and the kinds of contact."""

from collections.abc import Iterable

import casadi as ca
import numpy as np
import pytest
from hypothesis import Phase, assume, example, given, settings
from hypothesis import strategies as st

from granite.config.contacts import Contact, Side
from granite.config.errors import InputError
from granite.config.modules import Module
from granite.mrds.contacts import KINDS
from granite.mrds.contacts.kind import RelativePose
from granite.mrds.contacts.solution import SolutionStatus
from granite.mrds.system import System
from granite.mrds.tolerances import DEPENDENT_SINE
from tests.peers.random_trees import random_module
from tests.support.dense_model import Model
from tests.support.random_systems import (
    PARAMETERS,
    PLANAR,
    SPATIAL,
    WELL_APART,
    Array,
    Referee,
    closed_chains,
    dense_solve,
    holdable,
    random_states,
    random_system,
    split,
)

pytestmark = pytest.mark.usefixtures("interpreted")


def independences(system: System, seeds: Iterable[int]) -> list[float]:
    """Of the contacts in random states, each of which must pass what any system must."""
    closed = system.contact_set()
    referee = Referee(system, closed)
    return [_checked(referee, *random_states(system, seed)) for seed in seeds]


def _checked(referee: Referee, q: Array, u: Array, force: Array) -> float:
    system, closed = referee.system, referee.set
    motion = closed.accelerate(q, u, force)
    # What is left of M u' + h = F + A^T F_c, by itself.
    M, h = referee.mass_and_bias(q, u)
    A, bias = referee.constraints(q, u)
    pushed = A.T @ motion.force
    residual = M @ motion.acceleration + h - force - pushed
    np.testing.assert_allclose(residual, 0, rtol=0, atol=1e-9 * (1 + np.abs(h).max() + np.abs(pushed).max()))
    # A contact between modules that float gives neither momentum nor angular momentum to the whole.
    floats = {name for name, module in system.modules.items() if module.base == "floating"}
    for contact in closed.contacts:
        if {contact.first.module, contact.second.module} <= floats:
            rows = closed.rows[contact.name]
            kick = np.linalg.solve(M, A[rows].T @ motion.force[rows])
            assert np.abs(referee.momentum(q, kick)).max() < 1e-9 * (1 + np.abs(motion.force[rows]).max())
    acceleration, held = dense_solve(M, h, A, bias, force)
    scale = 1 + np.abs(acceleration).max()
    if np.linalg.matrix_rank(A, tol=1e-9) < closed.n_held:
        assert motion.independence <= DEPENDENT_SINE
        if np.abs(A @ acceleration + bias).max() < 1e-9 * scale:  # else they contradict: no acceleration meets them all
            np.testing.assert_allclose(motion.acceleration, acceleration, rtol=0, atol=1e-9 * scale)
        return motion.independence
    # The referee's differences are good to about 1e-11, and what they lack is divided by the angle between contacts.
    worse = 1.0 if motion.independence >= WELL_APART else 10 * WELL_APART / motion.independence
    np.testing.assert_allclose(motion.acceleration, acceleration, rtol=0, atol=1e-9 * scale * worse)
    np.testing.assert_allclose(A @ motion.acceleration + bias, 0, rtol=0, atol=1e-9 * scale * worse)
    np.testing.assert_allclose(motion.force, held, rtol=0, atol=1e-9 * (1 + np.abs(held).max()) * worse**2)
    return motion.independence


OTHERS = [("planar", False, 13), ("planar", True, 9), ("spatial", False, 12), ("spatial", True, 9)]


@pytest.mark.parametrize(
    ("dimension", "flexible", "seed"),
    [
        ("planar", False, 4),
        ("planar", True, 6),
        ("spatial", False, 10),  # it has a universal joint, the only kind whose modes move
        *(pytest.param(*case, marks=pytest.mark.slow) for case in OTHERS),
    ],
)
def test_a_system_moves_as_one_dense_kkt_solve_says_and_acts_as_much_as_it_reacts(dimension, flexible, seed):
    """Most kinds of contact in chains and trees, in the plane and in space."""
    assert min(independences(random_system(seed, dimension, flexible), range(seed, seed + 3))) >= WELL_APART


@pytest.mark.slow
@pytest.mark.parametrize("flexible", [False, True], ids=["rigid", "flexible"])
@pytest.mark.parametrize(
    ("dimension", "examples"),
    [
        ("planar", 10),
        ("spatial", 5),
        pytest.param("planar", 30, marks=pytest.mark.study),
        pytest.param("spatial", 15, marks=pytest.mark.study),
    ],
)
def test_any_system_moves_as_one_dense_kkt_solve_says_and_acts_as_much_as_it_reacts(dimension, examples, flexible):
    @settings(max_examples=examples, phases=[Phase.explicit, Phase.generate])  # a smaller seed is no simpler system
    @example(2)  # rigid in space it has a universal joint, the only kind whose modes move
    @given(st.integers(0, 1 << 20).filter(lambda seed: holdable(random_system(seed, dimension, flexible))))
    def moves(seed):
        independence = independences(random_system(seed, dimension, flexible), range(seed, seed + 3))
        # Systems that were excused anything are checked all the same, but count for nothing.
        assume(min(independence) >= WELL_APART)

    moves()


@pytest.mark.parametrize(
    ("seed", "dimension", "flexible"),
    [
        (2, "planar", False),
        pytest.param(3, "planar", True, marks=pytest.mark.slow),
        pytest.param(4, "spatial", False, marks=pytest.mark.slow),
    ],
)
def test_redundant_contacts_are_reported_and_obey_newton(seed: int, dimension: str, flexible: bool):
    assert independences(random_system(seed, dimension, flexible), [seed])[0] <= DEPENDENT_SINE


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_dual_basis_is_dual(kind: str):
    rng = np.random.default_rng(1)
    R = ca.DM(np.linalg.qr(rng.normal(size=(3, 3)))[0])
    relative, given = RelativePose(ca.SX(ca.DM(rng.normal(size=3))), ca.SX(R)), PARAMETERS.get(kind, {})
    modes, bases = KINDS[kind].modes(relative, given), KINDS[kind].bases(relative, given, planar=False)
    phi = np.array(ca.DM(ca.evalf(ca.densify(ca.horzcat(modes.free, modes.constrained)))))
    psi = np.array(ca.DM(ca.evalf(ca.densify(ca.horzcat(bases.psi_u, bases.psi_c)))))
    np.testing.assert_allclose(psi.T @ phi, np.eye(6), atol=1e-14)


@pytest.mark.parametrize("dimension", ["planar", "spatial"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_slip_is_the_rate_of_the_gap_where_the_gap_is_closed(seed: int, dimension: str):
    """Both sides at one place: gap zero; a small motion opens the gap at the rate of the slip."""
    module = random_module(seed, dimension, "floating", 1)
    points = (module.points[0].model_copy(update={"name": "here"}),)
    a, b = (module.model_copy(update={"name": name, "points": points}) for name in ("a", "b"))
    for kind in PLANAR if dimension == "planar" else SPATIAL:
        if KINDS[kind].holonomic is not None:
            continue  # some of its slip is the rate of no gap
        contact = Contact(
            name="c", kind=kind, first=Side(module="a", point="here"), second=Side(module="b", point="here"),
            parameters=PARAMETERS.get(kind, {}),
        )  # fmt: skip
        system = System([a, b], [contact])
        closed = system.contact_set()
        q, u, _ = random_states(system, seed)
        half = len(q) // 2
        q[half:] = q[:half]
        gap, slip = closed.errors(q, u)
        np.testing.assert_allclose(gap, 0, atol=1e-12)
        referee, h = Referee(system, closed), 1e-6
        ahead, behind = (closed.errors(referee.moved(q, u, s * h), u)[0] for s in (1, -1))
        np.testing.assert_allclose((ahead - behind) / (2 * h), slip, atol=1e-7 * (1 + np.abs(slip).max()))


def test_dependent_constraints_are_solved_by_least_norm_and_said():
    """The same grasp twice: half the force each, the accelerations of one grasp."""
    first = random_module(3, "spatial", "floating", 2)
    a, b = (first.model_copy(update={"name": name}) for name in ("a", "b"))

    def grasp(name: str) -> Contact:
        return Contact(
            name=name,
            kind="rigid_grasp",
            first=Side(module="a", point="point0"),
            second=Side(module="b", point="point0"),
        )

    system = System([a, b], [grasp("one"), grasp("two")])
    q, u, force = random_states(system, 3)
    once, twice = system.contact_set(["one"]).accelerate(q, u, force), system.contact_set().accelerate(q, u, force)
    assert once.independence > DEPENDENT_SINE
    assert once.status is SolutionStatus.UNIQUE
    assert twice.independence <= DEPENDENT_SINE
    assert twice.status is SolutionStatus.NOT_UNIQUE
    np.testing.assert_allclose(twice.acceleration, once.acceleration, atol=1e-8 * np.abs(once.acceleration).max())
    np.testing.assert_allclose(twice.force, np.tile(once.force / 2, 2), atol=1e-8 * np.abs(once.force).max())


def test_an_open_set_moves_every_module_by_itself():
    system = random_system(5, "spatial")
    q, u, force = random_states(system, 5)
    motion = system.contact_set([]).accelerate(q, u, force)
    qs, us, fs = (split(system, x, of) for x, of in ((q, "q"), (u, "u"), (force, "u")))
    expected = [Model(m).forward_dynamics(qs[n], us[n], fs[n]).copy() for n, m in system.modules.items()]
    np.testing.assert_allclose(motion.acceleration, np.concatenate(expected), rtol=1e-9)


@pytest.fixture(scope="module")
def grasp():
    """Two arms of six joints hold a body; a pose and speeds that fit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANITE_NO_COMPILER", "1")
        system, q, u = closed_chains(2, 6, "rigid_grasp", seed=26)
        closed = system.contact_set()
        closed.prepare()
        q, u = closed.project(q, 0.5 * u)
        referee = Referee(system, closed)
        referee.energy(q, u)
    return system, closed, referee, q, u


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_a_catch_sends_every_slip_back_by_the_restitution_and_accounts_for_the_energy(grasp, restitution):
    _, closed, referee, q, u = grasp
    u = u + np.random.default_rng(1).normal(size=len(u))
    slip = closed.errors(q, u)[1]
    caught = closed.catch(q, u, restitution)
    np.testing.assert_allclose(closed.errors(q, caught.u)[1], -restitution * slip, atol=1e-12 * np.abs(slip).max())
    M, _ = referee.mass_and_bias(q, u)
    np.testing.assert_allclose(M @ (caught.u - u), closed.constraint_matrix(q).T @ caught.impulse, atol=1e-11)
    lost = referee.energy(q, u) - referee.energy(q, caught.u)
    assert caught.energy_lost == pytest.approx(lost, abs=1e-10)
    assert lost > -1e-10


def test_a_restitution_that_cannot_be_is_refused(grasp):
    _, closed, _, q, u = grasp
    with pytest.raises(InputError, match="restitution = 1"):
        closed.catch(q, u, 1.5)


def test_projection_closes_gaps_and_slips_and_leaves_a_fitting_state_alone(grasp):
    _, closed, _, q, u = grasp
    rng = np.random.default_rng(2)
    apart = q + 0.05 * rng.normal(size=len(q))
    apart[-4:] /= np.linalg.norm(apart[-4:])
    there, speed = closed.project(apart, u + rng.normal(size=len(u)))
    gap, slip = closed.errors(there, speed)
    assert np.abs(gap).max() < 1e-12
    assert np.abs(slip).max() < 1e-12
    again = closed.project(there, speed)
    np.testing.assert_allclose(again[0], there, atol=1e-11)
    np.testing.assert_allclose(again[1], speed, atol=1e-11)


def test_projection_onto_what_cannot_be_reached_is_never_worse(grasp):
    """A chain pulled off the ground it stands on: the gap stays, but does not grow."""
    system, _, _, q, u = grasp
    far = Side(position_m=(50.0, 0.0, 0.0))
    pull = Contact(name="pull", kind="spherical", first=far, second=Side(module="chain0", point="tip"))
    torn = System(list(system.modules.values()), [*system.contacts.values(), pull]).contact_set()
    before = np.abs(torn.errors(q, u)[0]).max()
    there, _ = torn.project(q, u)
    assert np.isfinite(there).all()
    assert np.abs(torn.errors(there, u)[0]).max() <= before


def test_the_internal_force_is_what_does_no_work_on_the_body(grasp):
    _, closed, _, q, u = grasp
    force = closed.accelerate(q, u, np.random.default_rng(3).normal(size=len(u))).force
    A = closed.constraint_matrix(q)[:, -6:]
    internal = closed.internal_force("load", q, force)
    np.testing.assert_allclose(A.T @ internal, 0, atol=1e-11 * np.abs(force).max())
    # The rest is in the range of A: nothing of it could be left out without work being lost.
    rest = force - internal
    np.testing.assert_allclose(A @ np.linalg.lstsq(A, rest)[0], rest, atol=1e-11 * np.abs(force).max())
    np.testing.assert_allclose(closed.internal_force("load", q, internal), internal, atol=1e-11 * np.abs(force).max())
    assert np.linalg.norm(internal) > 0
    with pytest.raises(InputError, match='module = "cup"'):
        closed.internal_force("cup", q, force)


def held_at_both_ends(bodies: list[dict], joints: tuple = (), more: tuple = ()) -> System:
    """A module of 1 m along x whose ends, points a and b, are pinned to the ground."""
    points = [
        {"name": "a", "body": bodies[0]["name"], "position_m": [0.0, 0.0]},
        {"name": "b", "body": bodies[-1]["name"], "position_m": [1.0 / len(bodies), 0.0]},
    ]
    content = {"bodies": bodies, "joints": list(joints), "points": points}
    link = Module.model_validate({"name": "link", "dimension": "planar", "base": "floating", **content})
    pins = [
        Contact(name=end, kind="revolute", first=Side(position_m=(x, 0.0)), second=Side(module="link", point=end))
        for end, x in (("a", 0.0), ("b", 1.0))
    ]
    return System([link], [*pins, *more])


def test_the_squeeze_of_a_link_is_there_however_it_bends():
    """Pulled at both ends by 3 N: its elastic motions do work against that, its motions as a whole do not."""
    beam = {"length_m": 1.0, "line_density_kg_m": 0.5, "ei_n_m2": 4.0, "modes_y": 2}
    closed = held_at_both_ends([{"name": "beam", "flexible": beam}]).contact_set()
    pull = np.array([-3.0, 0.0, 3.0, 0.0])
    for bent in (0.0, 1e-6, 1e-3):
        q = np.array([0.0, 0.0, 0.0, bent, 0.0])
        # The ends are 2 bent apart across, so the pull turns the link by 3 N on that lever; the rest cancels.
        np.testing.assert_allclose(closed.internal_force("link", q, pull), pull, atol=10 * bent)


def test_the_squeeze_of_jointed_arms_is_that_of_their_frozen_pose():
    """The pull along the line of the hands cancels, though it would unfold the arms; a push across does not."""
    half = {"mass_kg": 1.0, "inertia_kg_m2": 0.1}
    bodies = [{"name": "first", **half}, {"name": "last", **half}]
    joint = {"name": "elbow", "parent": "first", "child": "last", "origin_m": [0.5, 0.0]}
    folded = held_at_both_ends(bodies, (joint,)).contact_set()
    q, pull = np.array([0.0, 0.0, 0.4, -0.8]), np.array([-3.0, 0.0, 3.0, 0.0])
    across = np.array([0.0, 0.0, 0.0, 2.0])
    np.testing.assert_allclose(folded.internal_force("link", q, pull + across), pull, atol=1e-12)


def test_a_contact_of_a_module_with_itself_is_no_squeeze():
    itself = Contact(
        name="itself", kind="revolute", first=Side(module="link", point="a"), second=Side(module="link", point="b")
    )
    system = held_at_both_ends([{"name": "rod", "mass_kg": 1.0, "inertia_kg_m2": 0.1}], more=(itself,))
    q, force = np.zeros(3), np.array([-3.0, 0.0, 3.0, 0.0, 7.0, 5.0])
    assert system.contact_set().internal_force("link", q, force) == pytest.approx([-3.0, 0.0, 3.0, 0.0, 0.0, 0.0])
    assert system.contact_set(["a"]).internal_force("link", q, [4.0, 1.0]) == pytest.approx(0.0, abs=1e-15)
    assert system.contact_set([]).internal_force("link", q, []).shape == (0,)


def test_a_step_is_the_four_stages_written_out(grasp):
    _, closed, _, q, u = grasp
    rng = np.random.default_rng(4)
    force, excited = rng.normal(size=len(u)), rng.normal(size=(closed.n_held, 3))
    stepped = closed.rk4(q, u, force, 1e-2, prescribed=excited, velocity=0.1 * excited, feedback=(3.0, 2.0))
    drive, nowhere = (
        [np.zeros((3, closed.n_free)), 0.1 * excited.T.copy(), excited.T.copy()],
        np.zeros((3, closed.n_held)),
    )
    by_hand = closed._rk4_by_svd((q, u, force), 1e-2, drive, np.array([3.0, 2.0]), nowhere, False)
    for one, other in zip(stepped, by_hand, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(stepped[0][-4:]), 1, atol=1e-14)
    # What was given once is not remembered, and one column serves all stages.
    free = closed._rk4_by_svd((q, u, force), 1e-2, [0 * d for d in drive], np.zeros(2), nowhere, False)
    np.testing.assert_allclose(closed.rk4(q, u, force, 1e-2)[1], free[1], atol=1e-12)
    held, repeated = (closed.rk4(q, u, force, 1e-2, prescribed=x) for x in (excited[:, 0], excited[:, [0, 0, 0]]))
    np.testing.assert_array_equal(held[1], repeated[1])


def test_a_projected_step_of_dependent_constraints_holds_too():
    """The same grasp twice: elimination breaks down, the step does not."""
    system, q, u = closed_chains(2, 6, "rigid_grasp", seed=26)
    twice = system.contacts["tip0"].model_copy(update={"name": "again"})
    closed = System(list(system.modules.values()), [*system.contacts.values(), twice]).contact_set()
    once = system.contact_set()
    q, u = once.project(q, 0.3 * u)
    assert closed.accelerate(q, u, 0 * u).independence <= DEPENDENT_SINE
    stepped, expected = (x.rk4(q, u, 0 * u, 1e-3, project=True) for x in (closed, once))
    np.testing.assert_allclose(stepped[0], expected[0], atol=1e-10)
    np.testing.assert_allclose(stepped[1], expected[1], atol=1e-8)
    np.testing.assert_allclose(closed.catch(q, u + 1).u, once.catch(q, u + 1).u, atol=1e-9)


def test_excited_modes_follow_what_is_prescribed_at_the_stages():
    """A body pulled along by its rigid grasp on a ground that moves: x = a sin(w t), to the order of the integrator."""
    body = random_module(7, "planar", "floating", 1)
    hold = Contact(name="hold", kind="rigid_grasp", first=Side(), second=Side(module=body.name, point="point0"))
    closed = System([body], [hold]).contact_set()
    q, _ = closed.project(np.zeros(4), np.zeros(4))
    a, w, h = 0.1, 3.0, 1e-2
    u = closed.catch(q, np.zeros(4)).u + 0.0
    u += np.linalg.pinv(closed.constraint_matrix(q)) @ np.array([a * w, 0, 0])
    for k in range(50):
        t = h * (k + np.array([0, 0.5, 1]))
        along = np.zeros((3, 3))
        along[0] = -a * w**2 * np.sin(w * t)
        q, u = closed.rk4(q, u, np.zeros(4), h, prescribed=along)
    gap = closed.errors(q, u)[0]
    assert gap[0] == pytest.approx(a * np.sin(w * 50 * h), abs=1e-7)
    assert np.abs(gap[1:]).max() < 1e-7


def test_the_compiled_functions_are_the_interpreted_ones_to_the_bit(monkeypatch: pytest.MonkeyPatch):
    system = random_system(1, "planar")
    q, u, force = random_states(system, 1)
    interpreted, compiled = system.contact_set(), system.contact_set()
    interpreted.accelerate(q, u, force)
    monkeypatch.delenv("GRANITE_NO_COMPILER")
    for one, other in zip(interpreted.accelerate(q, u, force), compiled.accelerate(q, u, force), strict=True):
        np.testing.assert_array_equal(one, other)


def test_modules_that_differ_only_in_name_and_place_share_one_function():
    system, _, _ = closed_chains(6, 3, "hard_point", seed=3)  # of two shapes
    code = ca.CodeGenerator("shared.c")
    code.add(system.contact_set().assembly.accelerate)
    assert code.dump().count("leaf_module:(") == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "glue"}, 'kind = "glue"'),
        ({"first": Side(module="c", point="point0")}, 'first.module = "c"'),
        ({"second": Side(module="b", point="nose")}, 'second.point = "nose"'),
        ({"kind": "screw"}, "pitch_m_rad is missing"),
        ({"parameters": {"pitch_m_rad": 1.0}}, "pitch_m_rad = 1.0: unknown"),
        ({"first": Side(), "second": Side()}, "joins the ground to itself"),
        ({"second": Side(module="a", point="point0")}, "joins a point to itself"),
    ],
)
def test_a_contact_that_cannot_be_is_refused_by_name(change, words):
    module = random_module(1, "spatial", "floating", 1)
    a, b = (module.model_copy(update={"name": name}) for name in ("a", "b"))
    contact = Contact(
        name="hold", kind="rigid_grasp", first=Side(module="a", point="point0"), second=Side(module="b", point="point0")
    )
    with pytest.raises(InputError, match=r"contacts\.hold") as refusal:
        System([a, b], [contact.model_copy(update=change)])
    assert words in str(refusal.value)


def test_axes_that_lean_out_of_the_plane_are_refused():
    module = random_module(1, "planar", "floating", 1)
    side = Side(module=module.name, point="point0")
    for ground, words in (
        (Side(rotation_rad=(0.1, 0.0, 0.0)), r"first.rotation_rad = \[0.1, 0.0, 0.0\]"),
        (Side(position_m=(0.0, 0.0, 1.0)), r"first.position_m = \[0.0, 0.0, 1.0\]"),
    ):
        with pytest.raises(InputError, match=words):
            System([module], [Contact(name="hold", kind="revolute", first=ground, second=side)])
