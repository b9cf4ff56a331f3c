"""Contacts that rub: while they slip, friction is exactly mu times the pressing force; while they stick, they hold."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from granite.config.contacts import Contact, Side
from granite.config.errors import InputError
from granite.mrds.contacts.friction import JammedError, SlidingContact, magnitudes, magnitudes_by_trial
from granite.mrds.contacts.least_norm import least_norm
from granite.mrds.system import System
from tests.support.jamming_rod import G, rod, rod_state
from tests.support.random_systems import Referee, plain_body, random_module, random_states

pytestmark = pytest.mark.usefixtures("interpreted")


def incline(slope: float, dimension: str, friction: float, kind: str = "sliding") -> System:
    """A block, touched at its mass centre, on a plane that falls towards +y of E by the slope; x of E is the normal."""
    down = (0.0, -G) if dimension == "planar" else (0.0, -G, 0.0)
    block = plain_body("block", dimension, {"foot": (0.0, 0.0)}, down)
    # The normal stands upright, at pi / 2, where there is no slope; y of E then points to -x of the world.
    plane = Side(rotation_rad=(0.0, 0.0, np.pi / 2 + slope))
    on = Contact(
        name="slope", kind=kind, first=plane, second=Side(module="block", point="foot"),
        parameters={"friction": friction},
    )  # fmt: skip
    return System([block], [on])


def along_y(system: System, slope: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """The block at rest in its turning, moving along y of E."""
    tangent = np.array([-np.cos(slope), -np.sin(slope)])
    u = np.zeros(system.n_u)
    u[:2] = speed * tangent
    q = np.zeros(system.n_q)
    if system.n_q == 7:
        q[3] = 1.0
    return q, u


@pytest.mark.parametrize("kind", ["sliding", "edge"])
@pytest.mark.parametrize("dimension", ["planar", "spatial"])
@settings(max_examples=8)
@given(slope=st.floats(0.0, 1.2), friction=st.floats(0.01, 1.5))
def test_a_block_slides_down_by_g_sin_minus_mu_g_cos(dimension: str, kind: str, slope: float, friction: float):
    system = incline(slope, dimension, friction, kind)
    slides = system.contact_set(slipping=["slope"])
    for speed, way in ((0.3, 1.0), (-0.3, -1.0)):
        q, u = along_y(system, slope, speed)
        motion = slides.accelerate(q, u, np.zeros(system.n_u))
        tangent = np.array([-np.cos(slope), -np.sin(slope)])
        assert tangent @ motion.acceleration[:2] == pytest.approx(
            G * np.sin(slope) - way * friction * G * np.cos(slope), abs=1e-12
        )
        assert motion.force[0] == pytest.approx(2.0 * G * np.cos(slope))
        np.testing.assert_allclose(motion.acceleration[2:], 0, atol=1e-12)


def test_a_block_that_sticks_does_not_move_and_shows_what_it_takes():
    system = incline(0.4, "spatial", 0.5)
    q, u = along_y(system, 0.4, 0.0)
    motion = system.contact_set().accelerate(q, u, np.zeros(6))
    np.testing.assert_allclose(motion.acceleration, 0, atol=1e-12)
    np.testing.assert_allclose(motion.force, 2 * G * np.array([np.cos(0.4), -np.sin(0.4), 0]), atol=1e-12)


def test_a_slot_rubs_on_whichever_of_its_sides_is_pressed():
    body = plain_body("pin", "planar", {"foot": (0.0, 0.0)}, (0.0, 0.0))
    slot = Contact(
        name="slot", kind="sliding", first=Side(), second=Side(module="pin", point="foot"), parameters={"friction": 0.4}
    )
    slides = System([body], [slot]).contact_set(slipping=["slot"])
    for push in (3.0, -3.0):
        motion = slides.accelerate(np.zeros(3), [0.0, 0.2, 0.0], [push, 0.0, 0.0])
        np.testing.assert_allclose(motion.force, [-push], atol=1e-14)
        np.testing.assert_allclose(motion.acceleration, [0, -0.4 * 3.0 / 2.0, 0], atol=1e-14)


@pytest.mark.parametrize(
    ("seed", "dimension"),
    [
        (0, "planar"),
        (0, "spatial"),
        *(pytest.param(seed, "planar", marks=pytest.mark.slow) for seed in range(1, 6)),
        *(pytest.param(seed, "spatial", marks=pytest.mark.slow) for seed in range(1, 4)),
    ],
)
def test_friction_is_mu_n_against_the_slip_whatever_it_does_to_the_motion(seed: int, dimension: str):
    """Two contacts slip on a random robot: newton's law with the forces of both, and |F_t| = mu |N| of each."""
    robot = random_module(seed, dimension, "floating", 3)
    other = random_module(seed + 50, dimension, "floating", 2).model_copy(update={"name": "other"})
    a, b = robot.points[0].name, robot.points[-1].name
    contacts = [
        Contact(
            name="wall", kind="bumper", first=Side(rotation_rad=(0.0, 0.0, 0.7)),
            second=Side(module=robot.name, point=a), parameters={"radius_m": 0.1, "friction": 0.25},
        ),
        Contact(
            name="rail", kind="sliding", first=Side(module="other", point=other.points[0].name),
            second=Side(module=robot.name, point=b), parameters={"friction": 0.15},
        ),
    ]  # fmt: skip
    system = System([robot, other], contacts)
    slides, sticks = system.contact_set(slipping=["wall", "rail"]), system.contact_set()
    q, u, force = random_states(system, seed)
    slip = sticks.errors(q, u)[1]
    try:
        motion = slides.accelerate(q, u, force)
    except JammedError:
        return  # a free choice of numbers may do that
    M, h = Referee(system, slides).mass_and_bias(q, u)
    rubbed = np.zeros(sticks.n_held)
    for contact, friction in (("wall", 0.25), ("rail", 0.15)):
        rows, N = sticks.rows[contact], motion.force[slides.rows[contact]]
        v, rubbing = slip[rows][1:], max(N[0], 0.0) if contact == "wall" else abs(N[0])
        rubbed[rows] = [*N, *(-friction * rubbing * v / np.linalg.norm(v))]
    scale = 1 + np.abs(motion.acceleration).max()
    A, bias = Referee(system, slides).constraints(q, u)
    np.testing.assert_allclose(A @ motion.acceleration + bias, 0, atol=1e-9 * scale)
    residual = M @ motion.acceleration + h - force - sticks.constraint_matrix(q).T @ rubbed
    np.testing.assert_allclose(residual, 0, atol=1e-9 * (1 + np.abs(h).max()))
    # The numbers' way, which dependent constraints take, is the same.
    by_numbers = slides._with_friction(*_columns(slides, q, u, force))
    np.testing.assert_allclose(by_numbers.acceleration, motion.acceleration, atol=1e-8 * scale)


def _columns(contact_set, q, u, force):
    M, f, A, y = contact_set._dense_terms((q, u, force), contact_set._driven_by((None,) * 5))
    return *least_norm(M, f, A, y), A, y


def test_a_rod_jams_above_four_thirds_and_says_so_by_name():
    nothing = np.zeros(3)
    # Its lower end is dragged behind: it digs in while it moves towards -x of the world, where the end leads.
    below, above = (rod(friction).contact_set(slipping=["floor"]) for friction in (4 / 3 - 0.01, 4 / 3 + 0.01))
    q, u = rod_state(-1.0)
    assert below.accelerate(q, u, nothing).force[0] > 100
    with pytest.raises(JammedError, match="contact 'floor' jams") as refusal:
        above.accelerate(q, u, nothing)
    assert refusal.value.contacts == ("floor",)
    with pytest.raises(JammedError):
        above.rk4(q, u, nothing, 1e-3)
    assert (
        above.compiled.solutions["driven"].run((*above._state(q, u, nothing), *above._driven_by((None,) * 5)))[-1] == -1
    )
    # The other way round the ground yields to it.
    q, u = rod_state(1.0)
    assert 0 < above.accelerate(q, u, nothing).force[0] < G


def test_a_slot_jams_either_way():
    """Held from both sides there are two motions that fit where one-sided there is one."""
    above = rod(1.4, "sliding").contact_set(slipping=["floor"])
    for speed in (-1.0, 1.0):
        q, u = rod_state(speed)
        with pytest.raises(JammedError, match="'floor'"):
            above.accelerate(q, u, np.zeros(3))


@given(seed=st.integers(0, 10_000))
def test_signs_of_several_slots_are_found_together(seed: int):
    """The compiled rounds and the trial of all signs agree; both solve N = a + B m with m = mu |N|."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    rubbing = [
        SlidingContact(f"c{i}", float(rng.uniform(0.1, 1)), bool(rng.random() < 0.3), i, slice(i, i + 1), ca.SX(1))
        for i in range(n)
    ]
    a, B = rng.normal(size=n), rng.normal(size=(n, n)) * 0.5
    m, margin = (np.array(ca.DM(ca.evalf(x))).ravel() for x in magnitudes(ca.SX(a), ca.SX(B), rubbing))
    try:
        expected = magnitudes_by_trial(a, B, rubbing)
    except JammedError:
        return
    N = a + B @ expected
    pressed = [max(x, 0.0) if r.one_sided else abs(x) for r, x in zip(rubbing, N, strict=True)]
    np.testing.assert_allclose(expected, [r.friction for r in rubbing] * np.array(pressed), atol=1e-9)
    assume(margin[0] > 0)
    np.testing.assert_allclose(m, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "parameters.friction is missing"),
        ({"friction": -0.1}, "friction = -0.1: expected the coefficient of kinetic friction, at least 0"),
        ({"friction": 0.5, "static_friction": 0.4}, "static_friction = 0.4: expected at least friction = 0.5"),
        ({"friction": 0.5, "restitution": 0.4}, "parameters.restitution = 0.4: unknown"),
    ],
)
def test_friction_that_cannot_be_is_refused(parameters, words):
    body = plain_body("block", "planar", {"foot": (0.0, 0.0)}, (0.0, 0.0))
    on = Contact(
        name="slope", kind="sliding", first=Side(), second=Side(module="block", point="foot"), parameters=parameters
    )
    with pytest.raises(InputError, match=r"contacts\.slope") as refusal:
        System([body], [on])
    assert words in str(refusal.value)


def test_only_contacts_with_friction_can_be_commanded_to_slip():
    system = incline(0.1, "planar", 0.0)
    with pytest.raises(InputError, match="lets 'slope' slip"):
        system.contact_set(slipping=["slope"])
