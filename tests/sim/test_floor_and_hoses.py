"""Floor by place, pads that stick, and hoses: a puck whose motion has a closed form or a balance of energy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.sim.plant.plant import Plant

pytestmark = pytest.mark.usefixtures("interpreted")

G = 9.81
MASS = 4.0
LEVEL: dict[str, Any] = {"tilt_g": 0.0, "drag_ratio": 0.0}


def puck(
    simulation: dict[str, Any], at: tuple[float, float] = (0.0, 0.0), u: tuple[float, float] = (0.0, 0.0)
) -> Plant:
    """A floating disc at this place with this velocity."""
    initial = dict(zip(("base_x_m", "base_y_m", "base_x_m_s", "base_y_m_s"), (*at, *u), strict=True))
    module = {
        "name": "puck",
        "dimension": "planar",
        "base": "floating",
        "bodies": [{"name": "base", "mass_kg": MASS, "inertia_kg_m2": 0.1}],
    }
    initial |= simulation.pop("initial", {})
    bed = Testbed.model_validate(
        {
            "name": "puck",
            "title": "Puck",
            "seed": simulation.pop("seed", 1),
            "loop": {"period_s": 0.01, "duration_s": 2.0},
            "modules": [module],
            "simulation": {"initial": initial, **simulation},
        }
    )
    return Plant(bed)


def acceleration(simulation: dict[str, Any], at: tuple[float, float]) -> Array:
    moved = puck(dict(simulation), at)
    moved.advance(0.001)
    return moved.u[:2] / 0.001


# --- floor -------------------------------------------------------------------------------------------------------


def test_waves_are_a_floor_of_heights() -> None:
    """Kinetic energy and m g h are constant, with h = A L / (2 pi) cos(2 pi s / L + phase) along the wave."""
    wave = {"length_m": 0.6, "slope_g": 3e-3, "direction_rad": 0.5}
    simulation = {"table": LEVEL | {"waves": [wave]}}
    along = np.array([math.cos(0.5), math.sin(0.5)])
    accelerations = [acceleration(simulation, tuple(s * along)) for s in (0.0, 0.15)]
    assert abs(accelerations[0] @ [-along[1], along[0]]) < 1e-12
    phase = math.atan2(accelerations[0] @ along, accelerations[1] @ along)
    assert np.hypot(accelerations[0] @ along, accelerations[1] @ along) == pytest.approx(3e-3 * G, rel=1e-5)
    moved, energies, heights = puck(simulation, u=(0.3, 0.1)), [], []
    for k in range(300):
        moved.advance(0.01 * k)
        heights.append(3e-3 * 0.6 / math.tau * math.cos(math.tau / 0.6 * (along @ moved.q[:2]) + phase))
        energies.append(0.5 * moved.u[:2] @ moved.u[:2] + G * heights[-1])
    assert G * np.ptp(heights) > 5e-3
    assert np.ptp(energies) < 1e-6


def test_the_seed_draws_phase_and_direction_of_waves() -> None:
    wave = {"length_m": 0.6, "slope_g": 3e-3}
    accelerations = [acceleration({"table": LEVEL | {"waves": [wave]}, "seed": seed}, (0.0, 0.0)) for seed in range(6)]
    assert len({round(math.atan2(a[1], a[0]), 6) for a in accelerations}) == 6
    assert max(np.linalg.norm(a) for a in accelerations) <= 3e-3 * G * (1 + 1e-9)
    assert len({round(float(np.linalg.norm(a)), 9) for a in accelerations}) == 6


def test_a_step_between_plates_gives_the_energy_of_its_height() -> None:
    step = {"position_m": [0.5, 0.0], "height_m": 2e-4, "pad_m": 0.1}
    moved = puck({"table": LEVEL | {"steps": [step]}}, u=(0.2, 0.05))
    moved.advance(2.0)
    assert moved.q[0] == pytest.approx(0.4, abs=1e-9)
    moved.advance(5.0)
    assert moved.q[0] > 0.6
    assert moved.u[0] == pytest.approx(math.sqrt(0.2**2 + 2 * G * 2e-4), rel=1e-7)
    assert moved.u[1] == pytest.approx(0.05, abs=1e-12)


def test_a_map_of_heights_has_the_slope_of_its_surface() -> None:
    """A cubic B-spline of heights a x + b y + c x^2 has the gradient (a + 2 c x, b)."""
    heights = [[1e-4 * x - 2e-4 * y + 5e-5 * x**2 for x in np.arange(-1, 2.1, 0.5)] for y in np.arange(0, 2.1, 0.5)]
    table = LEVEL | {"map": {"corner_m": [-1.0, 0.0], "spacing_m": 0.5, "heights_m": np.array(heights).tolist()}}
    for x, y in ((0.0, 1.0), (0.3, 0.8), (1.1, 1.2)):
        expected = -G * np.array([1e-4 + 2 * 5e-5 * x, -2e-4])
        np.testing.assert_allclose(acceleration({"table": table}, (x, y)), expected, rtol=1e-6)
    np.testing.assert_allclose(acceleration({"table": table}, (5.0, -3.0)), 0.0, atol=1e-12)


def test_a_map_with_uneven_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="rows of 4 to 40, all alike"):
        puck({"table": {"map": {"spacing_m": 1.0, "heights_m": [[0.0] * 4, [0.0] * 4, [0.0] * 5, [0.0] * 4]}}})


# --- pads that stick ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", [0.0, 2.0])
def test_pads_hold_on_a_slope_below_static_friction_and_slide_on_a_steeper_one(direction: float) -> None:
    table = {"drag_ratio": 1e-3, "tilt_direction_rad": direction, "stiction": {"presliding_m": 1e-4}}
    held = puck({"table": table | {"tilt_g": 4e-4}})
    held.advance(20.0)
    downhill = np.array([math.cos(direction), math.sin(direction)])
    np.testing.assert_allclose(held.q[:2], 0.4e-4 * downhill, atol=1e-9)
    slides = puck({"table": table | {"tilt_g": 2e-3}})
    slides.advance(2.0)
    before = slides.u[:2]
    slides.advance(3.0)
    np.testing.assert_allclose(slides.u[:2] - before, G * 1e-3 * downhill, rtol=1e-6, atol=1e-12)


def test_pads_that_stick_take_energy_whatever_pushes_them() -> None:
    """Under a push that jumps at random, the drag has never given more than it took."""
    push = [{"kind": "push", "at_s": 1e3, "duration_s": 1.0, "body": "base"}]
    table = LEVEL | {"drag_ratio": 1e-3, "pad_radius_m": 0.1, "stiction": {"presliding_m": 1e-4}}
    moved, rng = puck({"table": table, "events": push, "audit": True}), np.random.default_rng(5)
    given, drag, scale = 0.0, [], MASS * G * 1e-3 * np.array([1.0, 1.0, 0.1])
    for k in range(1500):
        wrench, before = scale * rng.uniform(-6, 6, 3) if k % 3 == 0 else np.zeros(3), moved.q
        moved.pushes = np.array([*wrench[:2], 0.0, wrench[2]])
        moved.advance((k + 1) / 100)
        given += float(wrench @ (moved.q - before))
        drag.append(moved.work - given)
    assert max(drag) < 1e-9
    assert min(drag) < -1e-4


def test_pads_bring_a_puck_to_rest_and_stop_its_turning() -> None:
    table = LEVEL | {"drag_ratio": 1e-3, "pad_radius_m": 0.1, "stiction": {"presliding_m": 1e-4}}
    moved = puck({"table": table, "initial": {"base_x_m_s": 0.05, "base_heading_rad_s": 0.1}})
    moved.advance(60.0)
    assert np.abs(moved.u).max() < 1e-8
    # The path of a puck that slides, but for Stribeck's part and the bristles.
    assert moved.q[0] == pytest.approx(0.05**2 / (2 * G * 1e-3), rel=0.03)
    assert moved.q[2] > 0.005


def test_pads_that_stick_are_refused_without_friction_and_where_they_are_too_stiff() -> None:
    with pytest.raises(ValueError, match="pads do not rub, expected drag = 'coulomb' and a drag_ratio"):
        puck({"table": {"drag": "viscous", "stiction": {}}})
    with pytest.raises(InputError, match=r"pads that stick stop a body .* more simulation.table.stiction.presliding_m"):
        puck({"table": {"drag_ratio": 1e-2, "stiction": {"presliding_m": 1e-8}}})


# --- hoses -------------------------------------------------------------------------------------------------------

IDEAL = {"ideal": True}


def hosed(hose: dict[str, Any], u: tuple[float, float] = (0.0, 0.0), seed: int = 1) -> Plant:
    return puck({"table": IDEAL, "hoses": [hose], "seed": seed}, (0.4, 0.2), u)


def test_a_hose_is_a_spring_to_its_anchor() -> None:
    w = math.sqrt(0.5 / MASS)
    moved = hosed({"stiffness_n_m": 0.5}, u=(0.1, 0.0))
    for t in (1.0, 5.0):
        moved.advance(t)
        np.testing.assert_allclose(moved.q[:2], [0.4 + 0.1 / w * math.sin(w * t), 0.2], atol=1e-9)
    other = hosed({"stiffness_n_m": 0.5, "anchor_m": [1.4, 0.2]})
    other.advance(2.0)
    assert other.q[0] == pytest.approx(1.4 - math.cos(w * 2.0), abs=1e-9)


def test_a_hose_off_the_centre_turns_the_body() -> None:
    moved = hosed({"stiffness_n_m": 0.5, "position_m": [0.0, 0.1], "anchor_m": [1.4, 0.3]})
    moved.advance(0.001)
    assert moved.u[2] == pytest.approx(-0.5 * 1.0 * 0.1 / 0.1 * 0.001, rel=1e-6)


def test_a_slack_hose_does_not_pull_and_drags() -> None:
    moved = hosed({"stiffness_n_m": 0.5, "slack_m": 0.3, "drag_n_s_m": 0.2}, u=(0.01, 0.0))
    moved.advance(5.0)
    assert moved.u[0] == pytest.approx(0.01 * math.exp(-0.2 / MASS * 5.0), rel=1e-9)
    tight = hosed({"stiffness_n_m": 0.5, "slack_m": 0.3, "anchor_m": [1.4, 0.2]})
    tight.advance(0.001)
    assert tight.u[0] == pytest.approx(0.5 * 0.7 / MASS * 0.001, rel=1e-6)


def test_an_anchor_that_sways_goes_round_once_in_a_period() -> None:
    """The impulse of half a period is k a T / pi, and that of a whole one is zero, but for the puck's own motion."""
    moved = hosed({"stiffness_n_m": 1e-4, "sway_m": 0.1, "sway_period_s": 4.0})
    moved.advance(2.0)
    assert MASS * np.linalg.norm(moved.u[:2]) == pytest.approx(1e-4 * 0.1 * 4.0 / math.pi, rel=1e-3)
    moved.advance(4.0)
    assert MASS * np.linalg.norm(moved.u[:2]) < 1e-3 * 1e-4 * 0.1 * 4.0


def test_the_seed_moves_the_anchor() -> None:
    anchors = []
    for seed in range(5):
        moved = hosed({"stiffness_n_m": 0.5, "anchor_spread_m": 0.1}, seed=seed)
        moved.advance(0.001)
        anchors.append(moved.u[:2] / 0.001 * MASS / 0.5)
    assert np.abs(anchors).max() <= 0.1
    assert len({round(float(x), 6) for x in np.ravel(anchors)}) == 10


def test_hoses_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"simulation.hoses.0.body = \"bse\": no such body"):
        hosed({"stiffness_n_m": 0.5, "body": "bse"})
    with pytest.raises(ValueError, match="it does nothing, expected more than 0, or a drag_n_s_m"):
        hosed({"stiffness_n_m": 0.0})
