"""Mackay 1988, section 3.3: pendulums of one and two links, rigid and flexible (acceptance tests F03 to F12)."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.special import ellipk

from granite.config.modules import Module
from tests.peers.interpreted import interpreted
from tests.support.dense_model import Model
from tests.support.flexible_arms import GROUND, Array, stiffness
from tests.validation.claims import Claims
from tests.validation.mackay_pendulum import EI, MASS, A, G, pendulum, swing

CANTILEVER_MS = 275.402


def crossings(t: Array, x: Array) -> Array:
    """When x changes sign, between the samples."""
    i = np.flatnonzero(np.sign(x[1:]) != np.sign(x[:-1]))
    times: Array = t[i] + (t[i + 1] - t[i]) * x[i] / (x[i] - x[i + 1])
    return times


@functools.cache
def rigid_swing(start: float) -> tuple[float, Array]:
    """Period [s] of a link of no modes, which is rigid, let go at an angle; and its energy, from that at first."""
    path, energy = swing(Model(pendulum(0)), np.array([start]), 1e-3, 10_000)
    when = crossings(1e-3 * np.arange(10_001), path[:, 0])
    return float(2 * np.diff(when).mean()), energy


def test_f03_a_rigid_pendulum_has_the_printed_period_at_small_angles(claims: Claims) -> None:
    claims.equal("FLX F03", "period at small angles, printed", 3.276, rigid_swing(0.05)[0], 1e-3, "s")


@pytest.mark.parametrize(
    ("start", "printed"),
    [
        (0.05, 3.276),
        (0.4, 3.309),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in ((0.1, 3.278), (0.2, 3.284))),
    ],
)
def test_f04_f05_a_rigid_pendulum_has_the_printed_period_and_keeps_its_energy(
    start: float, printed: float, claims: Claims
) -> None:
    """Table 3.2, the column of the elliptic integral."""
    period, energy = rigid_swing(start)
    exact = np.sqrt(32 * A / (3 * G)) * ellipk(np.sin(start / 2) ** 2)
    claims.equal("FLX F04", f"period from {start:g} rad, printed in Table 3.2", printed, period, 1e-3, "s")
    claims.equal("FLX F04", f"period from {start:g} rad, by elliptic integral", exact, period, 2e-5, "s")
    what = f"energy of the rigid pendulum from {start:g} rad, 10 s at 1 ms: drift"
    claims.below("FLX F05", what, 1e-8, np.abs(energy).max(), "J")


def test_f06_f07_the_double_pendulum_moves_as_its_corrected_equations_say(claims: Claims) -> None:
    """Mackay 1988, eqs. 3.8 and 3.9, of which the printed form does not keep the energy."""
    model = Model(pendulum(0, links=2))
    path, energy = swing(model, np.array([0.4, 0.4]), 1e-3, 5000)
    expected = {1: (0.178712, -0.134273), 2: (-0.451199, -0.021604), 4: (0.232134, 0.125605), 5: (0.408077, 0.267246)}
    for second, angles in expected.items():
        claims.equal("FLX F06", f"double pendulum after {second} s", angles, path[1000 * second], 1e-6, "rad")
    assert model.potential_energy(path[0]) == pytest.approx(-743.6587, abs=1e-4)
    claims.below("FLX F07", "energy of the double pendulum, 5 s at 1 ms: drift", 1e-8, np.abs(energy).max(), "J")
    rng = np.random.default_rng(3)
    for _ in range(20):
        (p1, p2), (w1, w2) = q, u = rng.normal(size=(2, 2))
        c, s, g = np.cos(p2), np.sin(p2), G / A
        M = np.array([[5 + 3 * c, 1 + 1.5 * c], [1 + 1.5 * c, 1.0]])
        h = np.array(
            [
                -1.5 * s * (2 * w1 + w2) * w2 + g * (4.5 * np.sin(p1) + 1.5 * np.sin(p1 + p2)),
                1.5 * s * w1**2 + 1.5 * g * np.sin(p1 + p2),
            ]
        )
        assert model.mass_matrix(q) == pytest.approx(MASS * A**2 / 3 * M, rel=1e-12)
        assert model.bias(q, u) == pytest.approx(MASS * A**2 / 3 * h, rel=1e-11, abs=1e-11)


def period_ms(module: Module) -> float:
    """Of the slowest vibration, without gravity."""
    model = interpreted(module)
    squares = eigh(stiffness(model), model.mass_matrix(np.zeros(model.n_q)), eigvals_only=True)
    return float(2000 * np.pi / np.sqrt(squares[squares > 1.0][0]))


def test_f09_f10_one_mode_vibrates_too_fast_and_more_modes_find_the_beam_pinned_at_its_base(claims: Claims) -> None:
    """47 +- 1 ms is printed; the beam itself has 62.804 ms."""
    one = period_ms(pendulum(1, gravity=0.0))
    claims.equal("FLX F09", "vibration of a link of one mode, printed", 47.0, one, 1.0, "ms")
    claims.equal("FLX F09", "vibration of a link of one mode, worked out", 47.151, one, 1e-3, "ms")
    expected = [62.735, 62.799, 62.803, 62.803, 62.803]
    periods = [period_ms(pendulum(modes, gravity=0.0)) for modes in (2, 3, 4, 5, 6)]
    claims.equal("FLX F10", "vibration of a link of 2, 3, 4, 5, 6 modes", expected, periods, 1e-3, "ms")


def test_f10_one_mode_of_the_pinned_beam_has_its_period_at_once(claims: Claims) -> None:
    exact = 2000 * np.pi * np.sqrt(MASS * A**3 / EI) / 3.926602312047919**2
    assert period_ms(pendulum(1, gravity=0.0, shapes="pinned_free")) == pytest.approx(exact, rel=1e-12)
    claims.near("FLX F10", "the beam itself, with 6 modes", exact, period_ms(pendulum(6, gravity=0.0)), 1e-6, "ms")


@pytest.mark.parametrize(
    ("inertia", "one_mode", "beam"),
    [(1.0, 58.839, 68.462), (10.0, 113.941, 114.945), (100.0, 220.668, 220.692), (1e5, 275.324, 275.324)],
)
def test_f11_a_heavy_hub_turns_the_beam_into_a_cantilever(
    inertia: float, one_mode: float, beam: float, claims: Claims
) -> None:
    def with_hub(modes: int) -> Module:
        module = pendulum(modes, gravity=0.0)
        hub = module.bodies[1].model_copy(update={"inertia_kg_m2": inertia})
        return module.model_copy(update={"bodies": (module.bodies[0], hub)})

    what = f"vibration with a hub of {inertia:g} kg m^2"
    claims.near("FLX F11", f"{what}, one mode", one_mode, period_ms(with_hub(1)), 1e-4, "ms")
    claims.near("FLX F11", f"{what}, six modes against the beam", beam, period_ms(with_hub(6)), 1e-4, "ms")


def test_f08_bending_along_the_joint_axis_leaves_the_joint_alone(claims: Claims) -> None:
    """275 ms is printed."""
    spatial = {"eiy_n_m2": EI, "eiz_n_m2": EI, "modes_y": 1, "modes_z": 1, "polar_inertia_kg_m": 1e-3}
    bodies = [
        {**GROUND, "inertia_kg_m2": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]},
        {"name": "link", "flexible": {"length_m": A, "line_density_kg_m": MASS / A, **spatial}},
    ]
    joints = [{"name": "joint", "parent": "ground", "child": "link"}]
    content = {"dimension": "spatial", "base": "fixed", "bodies": bodies, "joints": joints}
    model = Model(Module.model_validate({"name": "out_of_plane", **content}))
    path, energy = swing(model, np.array([0.0, 0.0, 0.01635]), 1e-3, 1500)
    moved = np.abs(path[:, :2]).max()
    claims.below("FLX F08", "joint angle while the link bends along the joint's axis", 1e-12, moved, "rad")
    when = crossings(1e-3 * np.arange(1501), path[:, 2])
    # Foreshortening makes a finite vibration slower, by its square.
    period = 2000 * np.diff(when).mean()
    claims.equal("FLX F08", "vibration along the joint's axis, printed", 275.0, period, 0.5, "ms")
    claims.equal("FLX F08", "vibration along the joint's axis, worked out", CANTILEVER_MS, period, 0.01, "ms")
    assert np.abs(energy).max() < 1e-6 * model.potential_energy(path[0])


def test_f12_the_flexible_pendulum_swings_with_the_printed_period(claims: Claims) -> None:
    """3.307 +- 0.001 s is printed; measured on what the vibration leaves still."""
    model = Model(pendulum(1))
    amplitude = -0.012 * 2.7244411 / 2
    path, energy = swing(model, np.array([0.4, amplitude]), 1e-3, 10_000)
    rigid = path[:, 0] + 3 * 0.7748661 / A * path[:, 1] * 2 / 2.7244411
    period = 2 * np.diff(crossings(1e-3 * np.arange(10_001), rigid)).mean()
    claims.equal("FLX F12", "period of the flexible pendulum, printed", 3.307, period, 1e-3, "s")
    claims.equal("FLX F12", "period of the flexible pendulum, worked out", 3.3079, period, 1e-4, "s")
    # Classical Runge and Kutta takes (wh)^6/72 of the vibration's energy a step; that is 6.1e-4 J in 10 s.
    assert energy[-1] == pytest.approx(-6.1e-4, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [20_000, 120_000])
def test_the_flexible_pendulum_keeps_its_energy_at_a_fine_step(steps: int) -> None:
    model = Model(pendulum(2))
    start = np.array([0.4, -0.0163, 0.0])
    _, energy = swing(model, start, 2.5e-5, steps)
    strain = model.potential_energy(start) - interpreted(pendulum(2, ei_n_m2=1e-9)).potential_energy(start)
    assert np.abs(energy).max() < 1e-8 * strain
