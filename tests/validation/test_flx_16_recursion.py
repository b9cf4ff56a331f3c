"""Mackay 1988, chapter 2: his recursion, mass points, and our model (acceptance tests F16 to F18 and F21).

Unbent, at any angles and joint rates, his model is ours: shortening and the skew matrix of eq. 2.8 differ from true
bending in the second order only. Bent, ours is held against mass points that shorten.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from granite.kernels.kernel import Array
from tests.peers.interpreted import interpreted
from tests.support.dense_model import Model
from tests.validation.claims import Claims
from tests.validation.mackay_flx import (
    LENGTH,
    MASS,
    Flx,
    FlxLink,
    G,
    module_of,
    order,
    ours,
    random_links,
    run,
    scale,
    three_links,
)  # fmt: skip
from tests.validation.mackay_points import Points

DOWN = np.array([0.0, 0.0, -G])
ASLANT = np.array([1.0, -2.0, -9.0])


@cache
def points(seed: int, shifted: bool, shortened: bool) -> Points:
    return Points(random_links(seed, shifted), ASLANT, shortened)


def state(n: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) * 0.3, rng.normal(size=n)


def of_ours(model: Model, links: list[FlxLink], z: Array, zd: Array) -> tuple[Array, Array]:
    """M and h of our model in his coordinates."""
    where, size = order(links), scale(links)
    M = model.mass_matrix(ours(links, z))[np.ix_(where, where)] * np.outer(size, size)
    return M, model.bias(ours(links, z), ours(links, zd))[where] * size


def off(actual: Array, expected: Array) -> float:
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def errors(chain: Flx, by_points: Points) -> tuple[float, float]:
    """Of I and R over random states, relative."""
    worst = np.zeros(2)
    for seed in range(10):
        z, zd = state(chain.n_z, seed)
        inertia, rest = chain.dynamics(z, zd)
        M, h = by_points.dynamics(z, zd)
        worst = np.maximum(worst, [off(inertia, M), off(-rest, h)])
    return float(worst[0]), float(worst[1])


# --- F16


@pytest.mark.parametrize("seed", [0, 1])
def test_f16_the_corrected_recursion_is_the_lagrangian_over_mass_points(seed: int, claims: Claims) -> None:
    inertia, rest = errors(Flx(random_links(seed, True), ASLANT), points(seed, True, False))
    what = f"recursion against mass points, 3 links bent in both planes, chain {seed + 1}"
    claims.below("FLX F16", f"{what}: I", 1e-10, inertia)
    claims.below("FLX F16", f"{what}: R", 1e-10, rest)


@pytest.mark.slow
def test_f16_our_model_is_the_lagrangian_over_mass_points_that_shorten(claims: Claims) -> None:
    links = random_links(2, False)
    model, worst = interpreted(module_of(links, ASLANT, "flx_random", polar=0.0)), np.zeros(2)
    for seed in range(10):
        z, zd = state(model.n_u, seed)
        M, h = points(2, False, True).dynamics(z, zd)
        mass, bias = of_ours(model, links, z, zd)
        worst = np.maximum(worst, [off(mass, M), off(bias, h)])
    claims.below("FLX F16", "our mass matrix against mass points that shorten", 1e-10, worst[0])
    claims.below("FLX F16", "our velocity, gravity and strain terms against the same", 1e-10, worst[1])


def test_f16_unbent_our_model_is_the_recursion(claims: Claims) -> None:
    links = random_links(2, False)
    chain, worst = Flx(links, ASLANT), np.zeros(2)
    model = interpreted(module_of(links, ASLANT, "flx_random", polar=0.0))
    for seed in range(10):
        z, zd = np.zeros(chain.n_z), np.zeros(chain.n_z)
        for x, drawn in zip((z, zd), state(chain.n_z, seed), strict=True):
            x[chain.at] = drawn[chain.at]
        inertia, rest = chain.dynamics(z, zd)
        mass, bias = of_ours(model, links, z, zd)
        worst = np.maximum(worst, [off(mass, inertia), off(bias, -rest)])
    claims.below("FLX F16", "our mass matrix against the recursion, links unbent", 1e-10, worst[0])
    claims.below("FLX F16", "our other terms against the recursion, links unbent", 1e-10, worst[1])


# --- F17


def test_f17_inertia_is_symmetric_and_positive_definite_wherever_the_arm_is(claims: Claims) -> None:
    links = random_links(2, False)
    chain, model = Flx(links, ASLANT), interpreted(module_of(links, ASLANT, "flx_random", polar=0.0))
    least, skew = {}, {}
    for seed in range(50):
        z, zd = state(chain.n_z, seed)
        for name, M in (("recursion", chain.dynamics(z, zd)[0]), ("our model", of_ours(model, links, z, zd)[0])):
            least[name] = min(least.get(name, 1.0), np.linalg.eigvalsh(M).min())
            skew[name] = max(skew.get(name, 0.0), np.abs(M - M.T).max())
    for name in least:
        claims.above("FLX F17", f"least eigenvalue of the inertia in 50 random states, {name}", 1e-3, least[name])
        claims.below("FLX F17", f"asymmetry of the inertia, {name}", 1e-10, skew[name])


# --- F18: section 3.3.5, of which nothing but the layout is printed

START = np.array([0.0, 0.3, 0.0, 0.0, 0.5, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def test_f18_the_three_link_arm_starts_as_worked_out(claims: Claims) -> None:
    links = three_links()
    model = interpreted(module_of(links, DOWN, "flx_three_links"))
    for name, (M, R) in (
        ("recursion", Flx(links, DOWN).dynamics(*START)),
        ("our model", [x * s for x, s in zip(of_ours(model, links, *START), (1, -1), strict=True)]),
    ):
        diagonal = [358.32137, 445.95600, 251.22773, 239.42332, 58.42667, 20.32859, 20.32859]
        claims.equal("FLX F18", f"three-link arm: diagonal of the inertia, {name}", diagonal, np.diag(M), 1e-5)
        aside = [M[0, 3], M[0, 6], M[1, 2], M[1, 4], M[4, 5]]
        expected = [-290.45915, -68.30764, 332.61116, 135.33800, 33.95463]
        claims.equal("FLX F18", f"three-link arm: other entries of the inertia, {name}", expected, aside, 1e-5)
        expected = [0, -939.04653, -668.88737, 0, -239.01013, -128.86214, 0]
        claims.equal("FLX F18", f"three-link arm: all other forces, {name}", expected, R, 1e-5)


@pytest.mark.slow
def test_f18_the_three_link_arm_moves_as_worked_out(claims: Claims) -> None:
    by_points = Points(three_links(), DOWN, shortened=False)
    z, zd = by_points.run(*START, 5e-4, 2000)
    expected = [0.9328551, -0.6556946, 0.0029871, -0.0008785, 0.2614821, 0.0025594, -0.0012534]
    claims.equal("FLX F18", "three-link arm as FLX has it after 1 s: joints and modes", expected, z, 1e-5)
    expected = [1.0845146, -0.81406, 0.0113259, -0.0065358, -3.1232919, -0.0374618, -0.036603]
    claims.equal("FLX F18", "three-link arm as FLX has it after 1 s: rates", expected, zd, 1e-5)
    energy = by_points.energy(*START)
    claims.equal("FLX F18", "three-link arm as FLX has it: energy", 523.90189, energy, 1e-5, "J")
    claims.below(
        "FLX F18",
        "three-link arm as FLX has it: energy lost in 1 s at 0.5 ms",
        1e-8,
        abs(by_points.energy(z, zd) - energy),
        "J",
    )


def test_f18_our_three_link_arm_moves_as_mass_points_that_shorten(claims: Claims) -> None:
    links = three_links()
    model = interpreted(module_of(links, DOWN, "flx_three_links"))
    z, zd = Points(links, DOWN, shortened=True).run(*START, 1e-3, 200)
    q, u = (ours(links, x) for x in START)
    where, size, path = order(links), scale(links), [(q, u)]
    for _ in range(1000):
        q, u = (x.copy() for x in model.rk4(q, u, np.zeros(7), 1e-3))
        path.append((q, u))
    off = np.abs(np.concatenate([path[200][0][where] / size - z, path[200][1][where] / size - zd])).max()
    claims.below("FLX F18", "our three-link arm after 0.2 s against mass points that shorten", 1e-8, off)
    flx = [0.9328551, -0.6556946, 0.2614821]
    claims.below("FLX F18", "what shortening changes in its joints after 1 s", 2e-3, np.abs(q[:3] - flx).max(), "rad")


def test_f18_the_rigid_three_link_arm_moves_as_worked_out(claims: Claims) -> None:
    links = three_links((0, 0))
    model = interpreted(module_of(links, DOWN, "flx_three_rigid_links"))
    q, u = np.array([0.0, 0.3, 0.5]), np.array([1.0, 0.0, 0.0])
    for _ in range(2000):
        q, u = model.rk4(q, u, np.zeros(3), 5e-4)
    expected = [0.9339485, -0.6535973, 0.2632158, 1.0993072, -0.804701, -3.146546]
    claims.equal("FLX F18", "the rigid twin after 1 s, our model: joints and rates", expected, [*q, *u], 1e-6)


# --- F21: misprints put back


def test_f21_the_printed_order_of_indices_in_2_37_fails_with_both_planes_and_not_with_one(claims: Claims) -> None:
    links = random_links(0, True)
    inertia, rest = errors(Flx(links, ASLANT, frozenset({"2.37"})), points(0, True, False))
    claims.above("FLX F21", "eq. 2.37 as printed: error of I", 1e-3, inertia)
    claims.above("FLX F21", "eq. 2.37 as printed: error of R", 1e-3, rest)
    planar = [FlxLink(LENGTH, MASS / LENGTH, modes=(2, 0)) for _ in range(2)]
    z, zd = state(6, 0)
    right, wrong = (Flx(planar, DOWN, frozenset(misprint)).dynamics(z, zd)[0] for misprint in ((), ("2.37",)))
    claims.below("FLX F21", "what that misprint changes in planar motion", 1e-12, off(wrong, right))


@pytest.mark.slow
def test_f21_the_printed_2_37_makes_energy(claims: Claims) -> None:
    by_points, gained = Points(three_links(), DOWN, shortened=False), {}
    for misprint in ((), ("2.37",)):
        end = run(Flx(three_links(), DOWN, frozenset(misprint)), *START, 2e-3, 500)
        gained[misprint] = abs(by_points.energy(*end) - by_points.energy(*START))
    claims.below("FLX F21", "energy that the corrected recursion loses in 1 s at 2 ms", 1e-5, gained[()], "J")
    claims.near("FLX F21", "energy that eq. 2.37 as printed makes", 3.6e-3, gained[("2.37",)], 0.02, "J")


def test_f21_the_printed_2_79_and_sign_of_2_45_fail(claims: Claims) -> None:
    links = random_links(0, True)
    inertia, _ = errors(Flx(links, ASLANT, frozenset({"2.79"})), points(0, True, False))
    claims.above("FLX F21", "eq. 2.79 as printed: error of I", 1e-3, inertia)
    _, rest = errors(Flx(links, ASLANT, frozenset({"2.45"})), points(0, True, False))
    claims.above("FLX F21", "eq. 2.45 with its printed sign: error of R", 1e-3, rest)


def test_f21_the_printed_double_pendulum_does_not_keep_its_energy(claims: Claims) -> None:
    """Eqs. 3.8 and 3.9 over m a^2/3; printed with phi_1' + phi_2', 6 g/a sin phi_1 and 3 g/2a sin phi_2."""

    def rate(x: Array, printed: bool) -> Array:
        (p1, p2, w1, w2), g = x, G / LENGTH
        c, s = np.cos(p2), np.sin(p2)
        M = np.array([[5 + 3 * c, 1 + 1.5 * c], [1 + 1.5 * c, 1.0]])
        swirl = w1 + w2 if printed else 2 * w1 + w2
        weight = 6 * np.sin(p1) + 1.5 * np.sin(p2) if printed else 4.5 * np.sin(p1) + 1.5 * np.sin(p1 + p2)
        h = np.array([-1.5 * s * swirl * w2 + g * weight, 1.5 * s * w1**2 + 1.5 * g * np.sin(p1 + p2)])
        return np.concatenate([x[2:], np.linalg.solve(M, -h)])

    def energy(x: Array) -> float:
        p1, p2, *w = x
        c = np.cos(p2)
        M = MASS * LENGTH**2 / 3 * np.array([[5 + 3 * c, 1 + 1.5 * c], [1 + 1.5 * c, 1.0]])
        weight = MASS * G * LENGTH * (1.5 * np.cos(p1) + 0.5 * np.cos(p1 + p2))
        return float(0.5 * np.array(w) @ M @ np.array(w) - weight)

    drift = {}
    for printed in (False, True):
        x, h = np.array([0.4, 0.4, 0.0, 0.0]), 2e-3
        start, worst = energy(x), 0.0
        for _ in range(2500):
            k1 = rate(x, printed)
            k2 = rate(x + h / 2 * k1, printed)
            k3 = rate(x + h / 2 * k2, printed)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3, printed))
            worst = max(worst, abs(energy(x) - start))
        drift[printed] = worst
    claims.below("FLX F21", "energy drift of the corrected double pendulum in 5 s", 1e-8, drift[False], "J")
    claims.above("FLX F21", "energy drift of eqs. 3.8 and 3.9 as printed", 0.4, drift[True], "J")
