"""Modes are those of beams and pendulums by hand, and the step they allow is the last at which Runge-Kutta holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from granite.config.contacts import Contact, Side
from granite.config.modules import Module
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.linearisation import linearise
from granite.mrds.system import System
from granite.mrds.vibration_modes import modes, stability_limit, stable_step
from tests.peers.interpreted import interpreted
from tests.peers.random_trees import random_module
from tests.support.flexible_arms import EI, LINE_DENSITY, bent_state, flexible, planar_arm, spatial_robot
from tests.support.four_bar import at_angle, four_bar, squared_frequency

pytestmark = pytest.mark.usefixtures("interpreted")


def beam(length: float, count: int, base: str = "fixed", **more: Any) -> ContactSet:
    """One flexible link by itself, clamped to the ground or floating."""
    content = {
        "dimension": "planar",
        "base": base,
        "bodies": [{"name": "beam", "flexible": flexible(length, count, **more)}],
    }
    return System([Module.model_validate({"name": "beam", **content})]).contact_set()


def hertz(roots: Any, length: float) -> list[float]:
    """Frequencies of a beam with these wave numbers times its length."""
    return [float(B**2 / length**2 * math.sqrt(EI / LINE_DENSITY) / (2 * math.pi)) for B in roots]


def pinned_beam(count: int, **more: Any) -> ContactSet:
    """A link on a joint, its tip on a slide that turns: a chain closed through the ground."""
    arm = planar_arm([flexible(1.0, count, shapes="pinned_pinned", **more)], name="arm")
    slide = Contact(
        name="slide", kind="x_slide_turning", first=Side(position_m=(1.0, 0.0)), second=Side(module="arm", point="tip")
    )
    return System([arm], [slide]).contact_set()


def test_a_cantilever_has_the_frequencies_of_the_beam() -> None:
    roots = [1.8751040687119611, 4.6940911329741754, 7.8547574382376126]
    vibrations = modes(beam(0.8, 3), np.zeros(3))
    assert [m.frequency for m in vibrations] == pytest.approx(hertz(roots, 0.8), rel=1e-9)
    assert [max(m.shape, key=lambda n: abs(m.shape[n])) for m in vibrations] == ["beam_y1", "beam_y2", "beam_y3"]
    assert not any(m.rigid or m.unstable for m in vibrations)


def test_a_tip_mass_slows_the_cantilever_as_the_exact_beam_says() -> None:
    """1 + cos B cosh B + μ B (cos B sinh B - sin B cosh B) = 0, μ the tip's mass to the beam's."""
    length, tip = 0.8, 0.25
    ratio = tip / (LINE_DENSITY * length)

    def exact(B: float) -> float:
        turning = math.cos(B) * math.sinh(B) - math.sin(B) * math.cosh(B)
        return 1 + math.cos(B) * math.cosh(B) + ratio * B * turning

    roots = [brentq(exact, 0.5, 1.8), brentq(exact, 3.5, 4.6)]
    vibrations = modes(beam(length, 6, tip_mass_kg=tip), np.zeros(6))
    # Eigenfunctions without a tip mass have no shear at the tip: their sum comes near it from above.
    assert [m.frequency for m in vibrations[:2]] == pytest.approx(hertz(roots, length), rel=2e-3)
    assert all(m.frequency > f for m, f in zip(vibrations, hertz(roots, length), strict=False))


def test_a_chain_closed_at_both_ends_swings_as_the_pinned_beam_and_has_no_other_modes() -> None:
    vibrations = modes(pinned_beam(3), np.zeros(4))
    assert [m.frequency for m in vibrations] == pytest.approx(hertz(np.pi * np.arange(1, 4), 1.0), rel=1e-9)
    # In shape k the joint turns by the slope of sqrt(2) sin(k π x) at the base.
    assert [abs(m.shape["joint1"] / m.shape[f"link1_y{k}"]) for k, m in enumerate(vibrations, 1)] == pytest.approx(
        math.sqrt(2) * np.pi * np.arange(1, 4), rel=1e-9
    )


@pytest.mark.parametrize("dimension", ["planar", "spatial"])
def test_a_hanging_linkage_is_a_pendulum_and_a_standing_one_falls(dimension: str) -> None:
    closed, omega = four_bar(dimension).contact_set(), math.sqrt(squared_frequency())
    (hanging,) = modes(closed, at_angle(dimension, -math.pi / 2))
    assert hanging.frequency == pytest.approx(omega / (2 * math.pi), rel=1e-10)
    assert hanging.damping_ratio == pytest.approx(0, abs=1e-12)
    assert not hanging.unstable
    # Cranks point down: the coupler slides to the right as they turn to the left.
    assert hanging.shape["left_pivot"] == pytest.approx(hanging.shape["right_pivot"])
    assert hanging.shape["coupler_bar_x"] == pytest.approx(0.4 * hanging.shape["left_pivot"])
    back, away = modes(closed, at_angle(dimension, math.pi / 2))
    assert sorted([back.eigenvalue.real, away.eigenvalue.real]) == pytest.approx([-omega, omega], rel=1e-10)
    assert sorted([(back.unstable, back.damping_ratio), (away.unstable, away.damping_ratio)]) == [
        (False, 1),
        (True, -1),
    ]


def test_a_free_flyer_has_three_rigid_modes_in_the_plane_and_six_in_space() -> None:
    vibrations = modes(beam(0.8, 3, base="floating", shapes="pinned_free"), np.zeros(6))
    assert [m.rigid for m in vibrations] == [True] * 3 + [False] * 3
    assert [m.frequency for m in vibrations[:3]] == [0, 0, 0]
    # Of the free beam, whose shapes are near to these; a Rayleigh quotient comes from above.
    assert vibrations[3].frequency == pytest.approx(hertz([4.730040744862704], 0.8)[0], rel=0.05)
    robot = spatial_robot()
    q, _ = bent_state(interpreted(robot), 1, bend=0.0)
    vibrations = modes(System([robot]).contact_set(), q)
    assert sum(m.rigid for m in vibrations) == 6 + 2  # and two joints
    assert len(vibrations) == 6 + 2 + 9
    assert not any(m.unstable for m in vibrations)
    # No rigid mode bends anything.
    for mode in vibrations[:8]:
        assert max(abs(a) for name, a in mode.shape.items() if name.startswith(("first_", "second_"))) < 1e-6


def test_two_modules_in_contact_have_the_modes_of_one() -> None:
    """And rigid modes are distinguished from slow ones: one joint, one joint as a contact."""
    first, second = flexible(1.0, 2), flexible(0.5, 2, tip_mass_kg=0.5)
    whole = System([planar_arm([first, second])]).contact_set()
    foot = {"name": "foot", "body": "link2", "position_m": [0.0, 0.0]}
    content = {"dimension": "planar", "base": "floating", "bodies": [{"name": "link2", "flexible": second}]}
    loose = Module.model_validate({"name": "loose", **content, "points": [foot]})
    sides = Side(module="arm", point="tip"), Side(module="loose", point="foot")
    elbow = Contact(name="elbow", kind="revolute", first=sides[0], second=sides[1])
    joined = System([planar_arm([first], name="arm"), loose], [elbow]).contact_set()
    expected = modes(whole, [0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0])
    vibrations = modes(joined, [0.0, 0.0, 0.0, 1.0, 0.0, np.pi / 2, 0.0, 0.0])
    assert [m.rigid for m in vibrations] == [m.rigid for m in expected] == [True] * 2 + [False] * 4
    assert [m.frequency for m in vibrations] == pytest.approx([m.frequency for m in expected], rel=1e-8)


@pytest.mark.parametrize("ratio", [0.02, 0.3])
def test_the_damping_ratio_given_is_the_one_found(ratio: float) -> None:
    for tip in (0.0, 0.3):
        free, damped = (modes(beam(0.8, 3, damping_ratio=r, tip_mass_kg=tip), np.zeros(3)) for r in (0.0, ratio))
        assert [m.damping_ratio for m in damped] == pytest.approx([ratio] * 3, rel=1e-8)
        assert [m.frequency for m in damped] == pytest.approx([m.frequency for m in free], rel=1e-8)


def test_material_damping_damps_each_mode_by_its_frequency() -> None:
    """ζ = τ ω / 2; above one, two modes creep back in place of one that swings."""
    tau = 8e-3
    free, damped = modes(beam(0.8, 3), np.zeros(3)), modes(beam(0.8, 3, material_damping_s=tau), np.zeros(3))
    omega = [2 * math.pi * m.frequency for m in free]
    swinging = [m for m in damped if m.eigenvalue.imag > 0]
    assert [m.damping_ratio for m in swinging] == pytest.approx([tau * w / 2 for w in omega if tau * w < 2], rel=1e-9)
    creeping = sorted(m.eigenvalue.real for m in damped if m.eigenvalue.imag == 0)
    fast = [w for w in omega if tau * w > 2]
    assert len(fast) == 1
    roots = np.roots([1, tau * fast[0] ** 2, fast[0] ** 2])
    assert creeping == pytest.approx(sorted(roots.tolist()), rel=1e-9)


def test_spin_stiffens_a_link_by_its_moving_state() -> None:
    """Modes at a velocity: M λ^2 + K_E + w^2 (K_G - H_ff) with one shape (Bonaventura 2002, eq. 125), the joint free to
    turn and Coriolis' force of second order in the straight link."""
    closed, spin = System([planar_arm([flexible(1.0, 1)])]).contact_set(), 3.0
    still, spun = (modes(closed, np.zeros(2), u=[w, 0.0])[-1] for w in (0.0, spin))
    grown = (2 * math.pi * spun.frequency) ** 2 - (2 * math.pi * still.frequency) ** 2
    M = interpreted(planar_arm([flexible(1.0, 1)])).mass_matrix(np.zeros(2))
    bare = M[1, 1] - M[0, 1] ** 2 / M[0, 0]  # what moves while the joint is free
    assert grown == pytest.approx(spin**2 * LINE_DENSITY * (2.38667274821651 / 2 - 1) / bare, rel=1e-6)


# --- steps


def test_the_step_is_where_the_stability_function_is_one() -> None:
    assert stable_step(2j) * 2 == pytest.approx(math.sqrt(8), rel=1e-12)
    assert stable_step(-5.0) * 5 == pytest.approx(2.785293563405282, rel=1e-12)
    assert stable_step(0j) == stable_step(3.0 + 0j) == math.inf
    coefficients = [1 / 24, 1 / 6, 1 / 2, 1, 1]
    for angle in np.linspace(np.pi / 2, 3 * np.pi / 2, 181):
        direction = complex(min(np.cos(angle), 0.0), np.sin(angle))
        step = stable_step(direction)
        inside = np.abs(np.polyval(coefficients, direction * np.linspace(0, step, 500)))
        assert inside.max() <= 1 + 1e-12
        assert abs(np.polyval(coefficients, 1.001 * step * direction)) > 1


@pytest.mark.parametrize(
    ("closed", "n_q"),
    [
        pytest.param(lambda: beam(0.8, 3), 3, id="undamped"),
        pytest.param(lambda: beam(0.8, 3, damping_ratio=0.3), 3, id="damped"),
        pytest.param(lambda: pinned_beam(2, damping_ratio=0.05), 3, id="closed chain"),
    ],
)
def test_just_below_the_limit_runge_kutta_holds_and_just_above_it_blows_up(closed: Any, n_q: int) -> None:
    contact_set, still = closed(), np.zeros(n_q)
    limit = stability_limit(contact_set, still, still).step
    start = contact_set.project(1e-9 * np.random.default_rng(1).normal(size=n_q), still)
    grown = []
    for factor in (0.99, 1.01):
        (q, u), greatest = start, 0.0
        for _ in range(400):
            q, u = contact_set.rk4(q, u, still, factor * limit)
            greatest = max(greatest, np.abs(q).max() / np.abs(start[0]).max())
            if greatest > 1e4:
                break
        grown.append(greatest)
    assert grown[0] < 5
    assert grown[1] > 1e4


def test_a_step_that_is_too_long_is_said_in_one_sentence() -> None:
    closed = beam(0.8, 6)
    limit = stability_limit(closed, np.zeros(6))
    assert limit.fastest == pytest.approx(2 * math.pi * modes(closed, np.zeros(6))[-1].frequency)
    assert limit.step == pytest.approx(math.sqrt(8) / limit.fastest)
    assert limit.complaint(limit.step) is None
    assert str(limit.complaint(0.01)) == (
        "a step of 0.01 s is too long for the mode of 214.3 Hz, expected at most 0.0021 s or fewer modes"
    )


def test_what_falls_freely_asks_for_no_step() -> None:
    body = random_module(1, "planar", "floating", 3)
    assert any(body.gravity_m_s2)
    closed, q = System([body]).contact_set(), np.random.default_rng(1).normal(size=6)
    assert [m.rigid for m in modes(closed, q)] == [True] * 6
    assert stability_limit(closed, q).step == math.inf
    assert stability_limit(closed, q).complaint(10.0) is None


@pytest.mark.parametrize(("growth", "unstable"), [(1e-8, True), (1e-12, False), (-1e-8, False)])
def test_growth_counts_from_the_rounding_of_squared_eigenvalues_on(
    growth: float, unstable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An oscillator of 100 rad/s, whose square is known to 1e-9: growth times frequency is compared with that."""
    closed = beam(0.8, 1)
    known = linearise(closed, np.zeros(1), np.zeros(1), np.zeros(1))
    swings = known._replace(A=np.array([[0.0, 1.0], [-1e4, 2 * growth]]))
    monkeypatch.setattr("granite.mrds.vibration_modes.linearise", lambda *_: swings)
    (mode,) = modes(closed, np.zeros(1))
    assert mode.eigenvalue == pytest.approx(100j + growth, abs=1e-9)
    assert mode.unstable is unstable
