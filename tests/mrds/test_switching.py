"""Contacts that open and close: what a run does is what mechanics says, and the events account for every joule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from granite.config.contacts import Contact, Side
from granite.config.errors import InputError
from granite.config.modules import Body, Module, Point
from granite.mrds.contacts.events import ContactStatus, Event, EventKind
from granite.mrds.contacts.switching import Switching
from granite.mrds.system import System
from tests.support.jamming_rod import rod, rod_state
from tests.support.random_systems import Referee, plain_body

pytestmark = pytest.mark.usefixtures("interpreted")

G = 9.81
UP = (0.0, 0.0, np.pi / 2)  #: turns x of E, the normal, upright
Array = NDArray[np.float64]


def stop(
    name: str, point: str = "foot", ground: Side | None = None, kind: str = "edge", **parameters: float
) -> Contact:
    """A stop of the body against the ground, by default the floor."""
    return Contact(
        name=name, kind=kind, first=ground or Side(rotation_rad=UP), second=Side(module="body", point=point),
        parameters=parameters,
    )  # fmt: skip


def on_floor(*stops: Contact, points: dict[str, tuple[float, ...]] | None = None, dimension: str = "planar") -> System:
    gravity = (0.0, -G) if dimension == "planar" else (0.0, -G, 0.0)
    return System([plain_body("body", dimension, points or {"foot": (0.0, 0.0)}, gravity)], stops)


def start(system: System, height: float = 0.0) -> tuple[Array, Array]:
    q = np.zeros(system.n_q)
    q[1] = height
    if system.n_q > system.n_u:
        q[3] = 1.0
    return q, np.zeros(system.n_u)


def run(
    switching: Switching, q: Array, u: Array, steps: int, h: float, force: Callable[[int, Array], Array] | None = None
) -> tuple[Array, Array, list[tuple[int, Event]]]:
    """States after every step, and the events with the step in which they happened."""
    path, speeds, happened = [q], [u], []
    for k in range(steps):
        push = np.zeros(len(u)) if force is None else force(k, q)
        q, u = switching.active.rk4(q, u, push, h)
        q, u, events = switching.settle(q, u, push, h)
        happened += [(k, e) for e in events]
        path.append(q)
        speeds.append(u)
    return np.array(path), np.array(speeds), happened


def energy(system: System, q: Array, u: Array) -> float:
    return Referee(system, system.contact_set([])).energy(q, u)


@pytest.mark.parametrize("restitution", [0.9, 0.5])
@pytest.mark.parametrize("kind", ["edge", "bumper"])
def test_a_ball_bounces_to_e_squared_of_its_height_each_time_and_comes_to_rest(restitution: float, kind: str):
    radius = {"radius_m": 0.1} if kind == "bumper" else {}
    system = on_floor(stop("floor", kind=kind, restitution=restitution, **radius))
    q, u = start(system, 1.0 + radius.get("radius_m", 0.0))
    switching, before = Switching(system, [frozenset()]), energy(system, q, u)
    # The whole of the bounces takes sqrt(2 / g) (1 + e) / (1 - e).
    h = 2e-3
    last = np.sqrt(2 / G) * (1 + restitution) / (1 - restitution)
    path, speeds, happened = run(switching, q, u, int(last / h) + 20, h)
    impulses = [e.impulse[0] for _, e in happened if e.kind is EventKind.BOUNCES]
    # Speeds at the floor: v = sqrt(2 g) e^n, impulse (1 + e) m v.
    n = np.arange(len(impulses))
    np.testing.assert_allclose(impulses, (1 + restitution) * 2.0 * np.sqrt(2 * G) * restitution**n, rtol=1e-6)
    assert happened[-1][1].kind is EventKind.TOUCHES
    assert switching.status["floor"] is ContactStatus.CLOSED
    assert happened[-1][0] * h == pytest.approx(last, abs=3 * h)
    np.testing.assert_allclose(path[-1], [0, radius.get("radius_m", 0.0), 0], atol=1e-12)
    np.testing.assert_allclose(speeds[-1], 0, atol=1e-12)
    assert sum(e.energy_lost for _, e in happened) == pytest.approx(
        before - energy(system, path[-1], speeds[-1]), rel=1e-9
    )


@pytest.mark.parametrize("dimension", ["planar", "spatial"])
@pytest.mark.parametrize("friction", [0.3, pytest.param(0.8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["edge", "sliding"])
def test_a_block_sticks_on_a_slope_below_the_angle_of_friction_and_slides_above(dimension, friction, kind):
    for slope, slides in ((np.arctan(friction) - 0.01, False), (np.arctan(friction) + 0.01, True)):
        ground = Side(rotation_rad=(0.0, 0.0, np.pi / 2 + slope))
        system = on_floor(stop("slope", ground=ground, kind=kind, friction=friction), dimension=dimension)
        switching = Switching(system, [frozenset({"slope"} if kind == "sliding" else ())])
        q, u = start(system)
        h, steps = 5e-3, 100
        path, speeds, happened = run(switching, q, u, steps, h)
        assert switching.status["slope"] is (ContactStatus.SLIPPING if slides else ContactStatus.STUCK)
        tangent = np.array([-np.cos(slope), -np.sin(slope)])
        if slides:
            a, begun = G * (np.sin(slope) - friction * np.cos(slope)), happened[-1][0] + 1
            late = speeds[begun + 1 :, :2] @ tangent
            np.testing.assert_allclose(np.diff(late) / h, a, rtol=1e-7)
        else:
            assert np.abs(speeds[2:]).max() < 1e-12
            assert np.abs(path[-1][:2]).max() < 1e-3
        # What falls on a slope slips already when it touches.
        expected = [EventKind.TOUCHES] if kind == "edge" else [EventKind.SLIPS] if slides else []
        assert [e.kind for _, e in happened] == expected


def test_a_block_thrown_up_a_slope_turns_round_or_stays():
    for friction, ends in ((0.2, ContactStatus.SLIPPING), (0.7, ContactStatus.STUCK)):
        slope = 0.4
        ground = Side(rotation_rad=(0.0, 0.0, np.pi / 2 + slope))
        system = on_floor(stop("slope", ground=ground, kind="sliding", friction=friction))
        switching = Switching(system, [frozenset(), frozenset({"slope"})])
        q, u = start(system)
        tangent = np.array([-np.cos(slope), -np.sin(slope)])
        u[:2] = -2.0 * tangent
        q, u, events = switching.command({"slope"}, q, u)
        assert [e.kind for e in events] == [EventKind.TAKES_HOLD]
        assert switching.status["slope"] is ContactStatus.SLIPPING
        h = 1e-3
        path, speeds, happened = run(switching, q, u, 1000, h)
        assert switching.status["slope"] is ends
        up, down = (G * (np.sin(slope) + way * friction * np.cos(slope)) for way in (1, -1))
        highest = -(path[:, :2] @ tangent).min()
        assert highest == pytest.approx(2.0**2 / (2 * up), abs=2e-5)
        if ends is ContactStatus.STUCK:
            assert [e.kind for _, e in happened] == [EventKind.STICKS]
            assert np.abs(speeds[-1]).max() < 1e-12
        else:
            assert speeds[-1][:2] @ tangent == pytest.approx(down * (1.0 - 2.0 / up), abs=3 * up * h)


def test_a_block_dragged_by_a_spring_sticks_and_slips():
    """It sticks until the spring pulls mu_s m g. Then the stretch swings about mu m g / k with the amplitude
    a = (mu_s - mu) m g / k, until the block is at rest again: after (pi + 2 phi) / w, tan phi = v / (w a)."""
    k, drive, mu, mu_s = 400.0, 0.01, 0.2, 0.4
    system = on_floor(stop("floor", friction=mu, static_friction=mu_s))
    switching = Switching(system, [frozenset()])
    q, u = start(system)
    h = 1e-3

    def pull(step: int, q: Array) -> Array:
        return np.array([k * (drive * step * h - q[0]), 0.0, 0.0])

    path, _, happened = run(switching, q, u, 4500, h, pull)
    slips = [s for s, e in happened if e.kind is EventKind.SLIPS]
    sticks = [s for s, e in happened if e.kind is EventKind.STICKS]
    weight = 2.0 * G
    assert slips[0] * h == pytest.approx(mu_s * weight / (k * drive), abs=3 * h)
    w, a = np.sqrt(k / 2.0), (mu_s - mu) * weight / k
    lasts = (np.pi + 2 * np.arctan(drive / (w * a))) / w
    for begun, ended in zip(slips, sticks, strict=False):
        assert (ended - begun) * h == pytest.approx(lasts, abs=3 * h)
        assert path[ended + 1][0] - path[begun][0] == pytest.approx(2 * a + drive * lasts, rel=0.02)
    assert len(sticks) >= 2


@pytest.fixture(scope="module")
def pair():
    """Two bodies that float, with a grip between them."""
    points = {"hand": (0.3, 0.1, -0.05)}
    bodies = [plain_body(name, "spatial", points, (0.0, 0.0, 0.0)) for name in ("body", "other")]
    grip = Contact(name="grip", kind="rigid_grasp", first=Side(module="body", point="hand"),
                   second=Side(module="other", point="hand"))  # fmt: skip
    return System(bodies, [grip])


def test_taking_hold_keeps_momentum_and_says_what_energy_it_took_and_letting_go_changes_nothing(pair):
    switching = Switching(pair, [frozenset(), frozenset({"grip"})])
    rng = np.random.default_rng(3)
    q, u = np.tile([0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0], 2), rng.normal(size=12)
    referee = Referee(pair, pair.contact_set([]))
    held_q, held_u, events = switching.command({"grip"}, q, u)
    (event,) = events
    assert event.kind is EventKind.TAKES_HOLD
    np.testing.assert_allclose(referee.momentum(held_q, held_u), referee.momentum(q, u), atol=1e-12)
    assert event.energy_lost == pytest.approx(referee.energy(q, u) - referee.energy(held_q, held_u), rel=1e-12)
    assert event.energy_lost > 0.1
    assert np.abs(switching.active.errors(held_q, held_u)[1]).max() < 1e-12
    free_q, free_u, events = switching.command((), held_q, held_u)
    assert [e.kind for e in events] == [EventKind.LETS_GO]
    np.testing.assert_array_equal(free_u, held_u)
    np.testing.assert_array_equal(free_q, held_q)
    assert switching.active.label.closed == ()


def test_closing_a_gap_keeps_momentum(pair):
    """4.8e-4 N s of a catch were lost, because the pose was projected and the rates kept."""
    switching = Switching(pair, [frozenset(), frozenset({"grip"})])
    q, u = np.tile([0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0], 2), np.random.default_rng(4).normal(size=12)
    q[7:10] += 0.005, -0.004, 0.003
    q[11:13] = 0.003, -0.002
    referee = Referee(pair, pair.contact_set([]))
    held_q, held_u, _ = switching.command({"grip"}, q, u)
    np.testing.assert_allclose(referee.momentum(held_q, held_u), referee.momentum(q, u), atol=1e-12)
    assert np.abs(switching.active.errors(held_q, held_u)).max() < 1e-12


def test_hands_close_and_open_one_by_one_where_another_misses():
    """One hand out of reach neither keeps the other from closing nor an old grip from opening."""
    blocks = [
        Module(name=name, dimension="planar", base="floating", bodies=[Body(name="b", mass_kg=1.0, inertia_kg_m2=0.1)],
               points=[Point(name="p", body="b", position_m=(0.0, 0.0))])
        for name in ("a", "b")
    ]  # fmt: skip
    places = {"old": ("a", (0.0, 0.0)), "near": ("a", (0.005, 0.0)), "far": ("b", (0.5, 0.0))}
    contacts = [
        Contact(name=n, kind="revolute", first=Side(position_m=at), second=Side(module=m, point="p"))
        for n, (m, at) in places.items()
    ]
    switching = Switching(System(blocks, contacts), [frozenset({"old"}), frozenset({"near", "far"})])
    assert {s.label.closed for s in switching.sets()} >= {("old",), ("near",), ("far",), (), ("near", "far")}
    q, _, events = switching.command({"near", "far"}, np.zeros(6), np.zeros(6))
    assert {(e.contact, e.kind) for e in events} == {
        ("far", EventKind.MISSES), ("old", EventKind.LETS_GO), ("near", EventKind.TAKES_HOLD),
    }  # fmt: skip
    assert switching.active.label.closed == ("near",)
    assert switching.missing({"near", "far"}, q) == ("far",)
    q[3] = 0.5
    switching.command({"near", "far"}, q, np.zeros(6))
    assert switching.active.label.closed == ("near", "far")


def test_a_grip_too_far_away_misses_and_nothing_changes(pair):
    switching = Switching(pair, [frozenset(), frozenset({"grip"})], reach=0.02)
    q, u = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], 2), np.ones(12)
    q[7] = 0.03
    there_q, there_u, events = switching.command({"grip"}, q, u)
    assert [(e.contact, e.kind) for e in events] == [("grip", EventKind.MISSES)]
    np.testing.assert_array_equal(there_q, q)
    np.testing.assert_array_equal(there_u, u)
    assert switching.status["grip"] is ContactStatus.OPEN
    q[7] = 0.01
    there_q, there_u, _ = switching.command({"grip"}, q, u)
    assert np.abs(switching.active.errors(there_q, there_u)[0]).max() < 1e-12


def test_a_stop_lifts_as_soon_as_it_would_pull():
    system = on_floor(stop("floor"))
    switching = Switching(system, [frozenset()])
    q, u = start(system)
    h = 1e-3
    path, speeds, happened = run(switching, q, u, 100, h, lambda k, q: np.array([0.0, 0.5 * k, 0.0]))
    assert [e.kind for _, e in happened] == [EventKind.TOUCHES, EventKind.LIFTS]
    assert happened[-1][0] == int(np.ceil(2 * G / 0.5))
    assert np.abs(path[happened[0][0] + 1 : 40, 1]).max() < 1e-12
    assert speeds[-1][1] > 0


@settings(max_examples=12)
@given(
    spin=st.floats(-20, 20), along=st.floats(-3, 3), down=st.floats(0.2, 3), mu=st.floats(0, 1.5), e=st.floats(0, 1),
    offset=st.floats(-0.5, 0.5),
)  # fmt: skip
def test_a_blow_sends_the_normal_back_stays_in_the_cone_and_makes_no_energy(spin, along, down, mu, e, offset):
    """Also where the mass centre is not above the touching point, so that friction and normal work on each other."""
    system = on_floor(
        stop("floor", kind="bumper", friction=mu, restitution=e, radius_m=0.1), points={"foot": (offset, 0.0)}
    )
    switching = Switching(system, [frozenset()])
    q, u = np.array([0.0, 0.1 - 1e-12, 0.0]), np.array([along, -down - spin * offset, spin])
    before = switching._watch(q, u)[1]["floor"]
    _, after, events = switching.settle(q, u, np.zeros(3))
    blow = events[0]
    slip = switching._watch(q, after)[1]["floor"]
    assert blow.energy_lost == pytest.approx(energy(system, q, u) - energy(system, q, after), abs=1e-9)
    assert blow.energy_lost >= -1e-12
    if mu == 0:
        assert len(blow.impulse) == 1
        return
    bounces = blow.kind is EventKind.BOUNCES
    assert slip[0] == pytest.approx(-e * before[0] if bounces else 0.0, abs=1e-9)
    assert abs(blow.impulse[1]) <= mu * blow.impulse[0] * (1 + 1e-9)
    if not bounces and abs(blow.impulse[1]) < mu * blow.impulse[0] * (1 - 1e-9):
        assert abs(slip[1]) < 1e-8


def test_a_box_lands_flat_on_both_its_feet_at_once_and_stays():
    system = on_floor(
        stop("left", "left", restitution=0.5, friction=0.3), stop("right", "right", restitution=0.5, friction=0.3),
        points={"left": (-0.2, 0.0), "right": (0.2, 0.0)},
    )  # fmt: skip
    switching = Switching(system, [frozenset()])
    q, u = start(system, 0.2)
    path, speeds, happened = run(switching, q, u, 800, 1e-3)
    assert set(switching.status.values()) == {ContactStatus.STUCK}
    np.testing.assert_allclose(path[-1], 0, atol=1e-9)
    np.testing.assert_allclose(speeds[-1], 0, atol=1e-9)
    by_contact = [[e.impulse for _, e in happened if e.contact == name] for name in ("left", "right")]
    np.testing.assert_allclose(by_contact[0], by_contact[1] * np.array([1, -1]), atol=1e-9)


def test_a_ball_that_rattles_in_a_wedge_does_not_hang_and_loses_what_the_events_say():
    walls = [Side(rotation_rad=(0.0, 0.0, angle)) for angle in (np.pi / 4, 3 * np.pi / 4)]
    system = on_floor(*(stop(n, ground=w, restitution=0.8) for n, w in zip(("left", "right"), walls, strict=True)))
    switching = Switching(system, [frozenset()])
    q, u = start(system, 0.5)
    q[0] = 0.1
    before = energy(system, q, u)
    path, speeds, happened = run(switching, q, u, 1500, 5e-3)
    assert set(switching.status.values()) == {ContactStatus.CLOSED}
    np.testing.assert_allclose(path[-1][:2], 0, atol=1e-9)
    lost = sum(e.energy_lost for _, e in happened)
    assert lost == pytest.approx(before - energy(system, path[-1], speeds[-1]), rel=1e-6)


def test_a_rod_that_jams_is_stopped_at_once_and_it_has_a_name():
    system = rod(2.0)
    switching = Switching(system, [frozenset()])
    q, u = (np.array(x) for x in rod_state(-1.0))
    switching.status["floor"] = ContactStatus.SLIPPING
    before = energy(system, q, u)
    q, u, events = switching.settle(q, u, np.zeros(3))
    assert [(e.contact, e.kind) for e in events] == [("floor", EventKind.JAMS)]
    assert switching.status["floor"] is ContactStatus.STUCK
    assert np.abs(switching.active.errors(q, u)[1]).max() < 1e-12
    assert events[0].energy_lost == pytest.approx(before - energy(system, q, u), rel=1e-9)
    assert events[0].energy_lost > 0


def test_the_sets_a_run_can_reach_are_listed_and_too_many_are_refused():
    system = on_floor(stop("smooth"), stop("rough", friction=0.5))
    switching = Switching(system, [frozenset()])
    labels = {s.label for s in switching.sets()}
    assert len(labels) == 2 * 3
    many = on_floor(*(stop(f"stop{k}", friction=0.5) for k in range(4)))
    with pytest.raises(InputError, match=r"'stop0', 'stop1', 'stop2', 'stop3' .* 81 combinations, expected at most 64"):
        Switching(many, [frozenset()])
    with pytest.raises(InputError, match="names 'rough' of kind edge, which opens and closes by itself"):
        Switching(system, [frozenset({"rough"})])
    with pytest.raises(InputError, match="commanded contact set names 'glue'"):
        Switching(system, [frozenset({"glue"})])
    with pytest.raises(InputError, match="command closes 'rough'"):
        switching.command({"rough"}, *start(system))
