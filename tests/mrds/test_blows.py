"""Several stops struck at once: no blow makes energy, none pulls, and what was struck leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from granite.config.contacts import Contact, Side
from granite.config.modules import Body, Module, Point
from granite.mrds.contacts.events import ContactStatus, EventKind
from granite.mrds.contacts.friction import static_friction
from granite.mrds.contacts.switching import Switching
from granite.mrds.system import System
from granite.mrds.tolerances import SAME_SPEED
from tests.support.random_systems import Array, Referee, plain_body

pytestmark = pytest.mark.usefixtures("interpreted")

#: so deep are all stops at the start: they touch [m]
DEPTH = 1e-12


def heap(seed: int, grounded: bool) -> tuple[System, Array, Array]:
    """Two bodies that touch each other, and maybe the ground, in up to four places, each with its own surface."""
    rng = np.random.default_rng(seed)
    dimension = str(rng.choice(["planar", "spatial"]))
    d = 2 if dimension == "planar" else 3
    centres = rng.uniform(-0.4, 0.4, (2, d))
    points: list[list[Point]] = [[], []]
    contacts = []

    def side(k: int, name: str, place: Array, turned: float) -> Side:
        at = tuple((place - centres[k]).tolist())
        points[k].append(Point(name=name, body=f"b{k}", position_m=at, rotation_rad=(0.0, 0.0, turned)))
        return Side(module=f"b{k}", point=name)

    for i in range(int(rng.integers(2, 5))):
        place, angle, k = rng.uniform(-0.5, 0.5, d), float(rng.uniform(-np.pi, np.pi)), int(rng.integers(2))
        inside = place + DEPTH * np.array([np.cos(angle), np.sin(angle), 0.0])[:d]
        if grounded and rng.random() < 0.6:
            first = Side(position_m=tuple(inside.tolist()), rotation_rad=(0.0, 0.0, angle))
        else:
            first = side(1 - k, f"e{i}", inside, angle)
        surface = {"restitution": float(rng.choice([0.0, 1.0, rng.uniform()]))}
        if i < 3 and rng.random() < 0.6:
            surface["friction"] = float(rng.uniform(0, 1.2))
        contacts.append(
            Contact(name=f"stop{i}", kind="edge", first=first, second=side(k, f"p{i}", place, 0.0), parameters=surface)
        )
    modules = [
        Module(
            name=f"b{k}", dimension=dimension, base="floating", points=tuple(points[k]),
            bodies=(Body(
                name=f"b{k}", mass_kg=float(rng.uniform(1, 4)),
                inertia_kg_m2=(0.02, 0.025, 0.03, 0.0, 0.0, 0.0) if d == 3 else 0.03,
            ),),
        )
        for k in range(2)
    ]  # fmt: skip
    system = System(modules, contacts)
    q = np.concatenate([[*c, *([0.0] if d == 2 else [1.0, 0.0, 0.0, 0.0])] for c in centres])
    return system, q, rng.normal(size=system.n_u) * np.tile([*[1.0] * d, *[3.0] * (system.n_u // 2 - d)], 2)


def struck(
    points: list[tuple[float, float]], angles: list[float], surfaces: list[dict[str, float]], u: list[float]
) -> tuple[Switching, float, Array, list[EventKind]]:
    """A body of 2 kg that touches the ground in several points at once, each with its normal at an angle: the contacts
    afterwards, the part of its energy that is left, the velocities along the normals, and the events."""
    contacts = []
    for i, (place, angle, surface) in enumerate(zip(points, angles, surfaces, strict=True)):
        inside = place[0] + DEPTH * np.cos(angle), place[1] + DEPTH * np.sin(angle)
        ground, point = Side(position_m=inside, rotation_rad=(0.0, 0.0, angle)), Side(module="body", point=f"p{i}")
        contacts.append(Contact(name=f"stop{i}", kind="edge", first=ground, second=point, parameters=surface))
    body = plain_body("body", "planar", {f"p{i}": place for i, place in enumerate(points)}, (0.0, 0.0))
    system = System([body], contacts)
    switching, referee = Switching(system, [frozenset()]), Referee(system, system.contact_set([]))
    q, after, events = switching.settle(np.zeros(3), u, np.zeros(3))
    left = referee.energy(q, after) / referee.energy(np.zeros(3), np.array(u))
    leaving = np.array([velocity[0] for velocity in switching._watch(q, after)[1].values()])
    return switching, left, leaving, [event.kind for event in events]


def test_friction_that_presses_a_stop_which_would_pull_without_it_makes_no_energy():
    """Two stops side by side, the one with restitution also with friction: after a blow on both, the energy would be
    three times that before, because the other one, held by friction, takes part in a restitution in which it pulls."""
    surfaces = [{"restitution": 0.76, "friction": 0.83}, {"restitution": 0.02}]
    _, left, leaving, _ = struck([(0.156, -0.42), (0.175, -0.146)], [1.757, 1.611], surfaces, [0.396, -0.676, -2.729])
    assert left < 1.0
    assert leaving.min() >= -SAME_SPEED


def test_of_three_feet_in_a_line_the_lively_one_sends_back_the_others():
    """They cannot all have their own restitution: a rigid rod that lands flat comes back flat."""
    surfaces = [{"restitution": e} for e in (0.0, 0.8, 0.0)]
    feet = [(-0.2, 0.0), (0.0, 0.0), (0.2, 0.0)]
    switching, left, leaving, events = struck(feet, [np.pi / 2] * 3, surfaces, [0.0, -1.0, 0.0])
    assert events == [EventKind.BOUNCES]
    np.testing.assert_allclose(leaving, 0.8)
    assert left == pytest.approx(0.64)
    assert set(switching.status.values()) == {ContactStatus.OPEN}


def test_what_stays_but_is_set_in_motion_by_a_bounce_elsewhere_slips():
    """A floor that is rough enough to hold, and a wall that sends the body back along it."""
    surfaces = [{"restitution": 0.0, "friction": 1.0}, {"restitution": 0.9}]
    switching, left, leaving, events = struck([(0.0, 0.0), (0.0, 0.0)], [np.pi / 2, np.pi], surfaces, [1.0, -3.0, 0.0])
    assert sorted(event.value for event in events) == ["bounces", "touches"]
    np.testing.assert_allclose(leaving, [0.0, 0.9], atol=1e-9)
    assert switching.status["stop0"] is ContactStatus.SLIPPING
    assert left == pytest.approx(0.81 / 10)


@pytest.mark.parametrize("examples", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_a_blow_on_several_stops_makes_no_energy_pulls_nowhere_and_lets_nothing_through(examples: int) -> None:
    @settings(max_examples=examples)
    @given(seed=st.integers(0, 2**32 - 1), grounded=st.booleans())
    def holds(seed: int, grounded: bool) -> None:
        system, q, u = heap(seed, grounded)
        switching = Switching(system, [frozenset()])
        referee = Referee(system, system.contact_set([]))
        before, momentum = referee.energy(q, u), referee.momentum(q, u)
        q_after, after, events = switching.settle(q, u, np.zeros(system.n_u))
        lost = before - referee.energy(q_after, after)
        assert lost >= -1e-9 * before
        assert sum(e.energy_lost for e in events) == pytest.approx(lost, abs=1e-7 * before)
        for event in events:
            if event.kind in (EventKind.BOUNCES, EventKind.TOUCHES):
                pressed, rubbed = event.impulse[0], np.linalg.norm(event.impulse[1:])
                assert pressed >= -1e-11
                assert rubbed <= static_friction(system.contacts[event.contact]) * pressed * (1 + 1e-9) + 1e-11
        gap, slip = switching._watch(q_after, after)
        for name, status in switching.status.items():
            if status is not ContactStatus.OPEN:
                assert abs(slip[name][0]) < 1e-8
            elif gap[name] < 0:
                assert slip[name][0] >= -SAME_SPEED
        if not grounded:
            np.testing.assert_allclose(referee.momentum(q_after, after), momentum, atol=1e-9)

    holds()
