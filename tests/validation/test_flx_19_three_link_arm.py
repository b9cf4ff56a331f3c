"""Mackay 1988, section 3.3.5: a controlled arm of three links, closure, generated code (acceptance tests F19 to F23).

Trajectory, gains, hubs and gravity of his run are lost; these are ours.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import casadi as ca
import numpy as np
import pytest

from granite.config.modules import Module
from granite.kernels.kernel import Array
from tests.peers.interpreted import interpreted
from tests.support.dense_model import Model, functions
from tests.support.flexible_arms import GROUND, stiffness
from tests.validation.claims import Claims
from tests.validation.mackay_flx import (
    EI,
    LENGTH,
    MASS,
    Flx,
    FlxLink,
    G,
    module_of,
    order,
    ours,
    scale,
    three_links,
)
from tests.validation.mackay_points import Points

DOWN = np.array([0.0, 0.0, -G])
HUB = 1.25
FROM, TO, DURATION = np.array([0.0, 0.3, 0.5]), np.array([1.0, 0.8, -0.3]), 2.0
KP, KD, KI = np.array([2000.0, 4000.0, 1000.0]), np.array([400.0, 600.0, 150.0]), np.array([500.0, 1000.0, 300.0])
STEP = 1e-3


@cache
def arm(flexible: bool) -> Model:
    links = three_links((1, 1) if flexible else (0, 0), HUB)
    return interpreted(module_of(links, DOWN, f"flx_arm_{'flexible' if flexible else 'rigid'}"))


def driven(model: Model, seconds: float, off_after: float) -> tuple[list[tuple[Array, Array, Array]], Array]:
    """States with the force of the step that follows, and energies; a joint controller until `off_after`."""
    q, u, sum_of_errors = np.concatenate([FROM, np.zeros(model.n_q - 3)]), np.zeros(model.n_u), np.zeros(3)
    path, energy = [], []
    for k in range(round(seconds / STEP)):
        s = k * STEP / DURATION
        aim, aim_rate = FROM + (TO - FROM) * (3 * s**2 - 2 * s**3), (TO - FROM) * 6 * (s - s**2) / DURATION
        sum_of_errors += STEP * (aim - q[:3])
        force = np.zeros(model.n_u)
        if k * STEP < off_after:
            force[:3] = KP * (aim - q[:3]) + KD * (aim_rate - u[:3]) + KI * sum_of_errors
        path.append((q, u, force))
        energy.append(model.kinetic_energy(q, u) + model.potential_energy(q))
        q, u = (x.copy() for x in model.rk4(q, u, force, STEP))
    return path, np.array(energy)


@pytest.mark.parametrize(("flexible", "bound"), [(True, 1e-5), (False, 1e-8)], ids=["flexible", "rigid"])
def test_f19_energy_stays_once_the_controllers_are_off(flexible: bool, bound: float, claims: Claims) -> None:
    _, energy = driven(arm(flexible), DURATION, 0.5)
    after = energy[round(0.5 / STEP) :]
    name = "flexible" if flexible else "rigid"
    drift = np.abs(after / after[0] - 1).max()
    claims.below("FLX F19", f"energy drift after the controllers went off, {name} arm at 1 ms, relative", bound, drift)
    # The controllers did something before, or this says nothing.
    assert abs(energy[round(0.5 / STEP)] - energy[0]) > 10.0


def test_f20_independent_inverse_dynamics_finds_the_torques_that_were_applied(claims: Claims) -> None:
    """Closure. The inverse dynamics is that of mass points that shorten, which knows nothing of our model."""
    model, links = arm(True), three_links((1, 1), HUB)
    by_points = Points(links, DOWN, shortened=True)
    where, size = order(links), scale(links)
    path, _ = driven(model, DURATION, DURATION)
    largest = max(np.abs(force).max() for _, _, force in path)
    wrong, of_modes = 0.0, 0.0
    for q, u, force in path[::40]:
        acceleration = model.forward_dynamics(q, u, force)
        torques = by_points.inverse(*(x[where] / size for x in (q, u, acceleration)))
        wrong = max(wrong, np.abs(torques - force[where] * size).max())
        of_modes = max(of_modes, np.abs(torques[[2, 3, 5, 6]]).max())
    claims.below("FLX F20", "torques by inverse dynamics against those applied, of the largest", 1e-9, wrong / largest)
    claims.below("FLX F20", "forces found on the modes, of the largest torque", 1e-9, of_modes / largest)
    assert largest > 100.0


# --- F22


def operations(function: ca.Function) -> tuple[int, int]:
    """Multiplications, and additions with subtractions; a square is one of the first, a doubling one of the second."""
    kinds = Counter(function.instruction_id(k) for k in range(function.n_instructions()))
    return (
        kinds[ca.OP_MUL] + kinds[ca.OP_SQ] + kinds[ca.OP_DIV],
        kinds[ca.OP_ADD] + kinds[ca.OP_SUB] + kinds[ca.OP_TWICE],
    )


@pytest.mark.parametrize(("modes", "times", "plus"), [((0, 0), 445, 213), ((1, 1), 2659, 1313)], ids=["3", "7"])
def test_f22_generated_code_needs_no_more_operations_than_his(
    modes: tuple[int, int], times: int, plus: int, claims: Claims
) -> None:
    """Table 4.1, SYMFLX without its unused lines: I and R, links without hubs. Ours shorten besides, his do not."""
    made = {f.name(): f for f in functions(module_of(three_links(modes), DOWN, "flx_counted"))}
    counts = np.array([operations(made[name]) for name in ("mass_matrix", "bias")]).sum(axis=0)
    freedom = 3 + 2 * sum(modes)
    claims.below("FLX F22", f"multiplications in mass matrix and bias, {freedom} coordinates", times, int(counts[0]))
    claims.below("FLX F22", f"additions in the same, {freedom} coordinates", plus, int(counts[1]))


@pytest.mark.slow
def test_f22_compiled_code_is_the_generic_matrix_code(claims: Claims) -> None:
    """Compiled functions against 4 x 4 matrices unbent, and against mass points bent; 7 coordinates."""
    links = three_links((1, 1), HUB)
    model, chain = Model(module_of(links, DOWN, "flx_compiled", polar=0.0)), Flx(links, DOWN)
    by_points, rng = Points(links, DOWN, shortened=True), np.random.default_rng(22)
    worst = {"4 x 4 matrices, unbent": 0.0, "mass points, bent": 0.0}
    for _ in range(20):
        z, zd = rng.normal(size=7), rng.normal(size=7)
        z[[2, 3, 5, 6]] *= 0.02
        M, h = by_points.dynamics(z, zd)
        straight, still = z.copy(), zd.copy()
        straight[[2, 3, 5, 6]] = still[[2, 3, 5, 6]] = 0.0
        inertia, rest = chain.dynamics(straight, still)
        for name, state, expected in (
            ("mass points, bent", (z, zd), (M, h)),
            ("4 x 4 matrices, unbent", (straight, still), (inertia, -rest)),
        ):
            for values, right in zip(_of_ours(model, links, *state), expected, strict=True):
                worst[name] = max(worst[name], np.abs(values - right).max() / np.abs(right).max())
    for name, off in worst.items():
        claims.below("FLX F22", f"compiled mass matrix and bias against {name}", 1e-12, off)


def _of_ours(model: Model, links: list[FlxLink], z: Array, zd: Array) -> tuple[Array, Array]:
    where, size = order(links), scale(links)
    M = model.mass_matrix(ours(links, z))[np.ix_(where, where)] * np.outer(size, size)
    return M, model.bias(ours(links, z), ours(links, zd))[where] * size


# --- F23

TWISTED = {
    "length_m": LENGTH, "line_density_kg_m": MASS / LENGTH, "eiy_n_m2": EI, "eiz_n_m2": EI, "modes_y": 1, "modes_z": 1,
    "modes_x": 1,
}  # fmt: skip


def twisting(**more: float) -> Module:
    bodies = [
        {**GROUND, "inertia_kg_m2": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]},
        {"name": "link", "flexible": {**TWISTED, **more}},
    ]
    joints = [{"name": "joint", "parent": "ground", "child": "link"}]
    content = {"dimension": "spatial", "base": "fixed", "bodies": bodies, "joints": joints}
    return Module.model_validate({"name": "twisting", **content})


def test_a_last_link_that_twists_without_polar_inertia_is_refused() -> None:
    """In FLX its row of the inertia is zero, and the factorisation fails."""
    with pytest.raises(
        ValueError, match=r"polar_inertia_kg_m = 0.0: expected a number greater than 0 where modes_x is 1"
    ):
        twisting(gj_n_m2=100.0)
    with pytest.raises(ValueError, match=r"gj_n_m2 = none: expected a number greater than 0 where modes_x is 1"):
        twisting(polar_inertia_kg_m=1e-3)


def test_f23_a_last_link_that_twists_with_polar_inertia_has_the_frequency_of_a_shaft(claims: Claims) -> None:
    gj, polar = 2000.0, 4.6e-3
    model = interpreted(twisting(gj_n_m2=gj, polar_inertia_kg_m=polar))
    M, K = model.mass_matrix(np.zeros(model.n_q)), stiffness(model)
    claims.above("FLX F23", "least eigenvalue of the inertia with a twisting last link", 1e-6, np.linalg.eigvalsh(M)[0])
    shaft = np.pi / (2 * LENGTH) * np.sqrt(gj / polar)
    i = [c.name for c in model.velocities].index("link_x1")
    claims.near("FLX F23", "its twisting frequency, of a shaft", shaft, np.sqrt(K[i, i] / M[i, i]), 1e-9, "rad/s")
