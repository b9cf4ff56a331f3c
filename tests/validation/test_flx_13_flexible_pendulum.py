"""Mackay 1988, section 3.3.3: the flexible pendulum FPEN and what its integration loses (acceptance tests F13 to F15).

His links do not shorten when they bend; ours do. With that one effect taken out, ours is his to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from granite.config.modules import Flexible
from granite.mrds.flexible import link as link_module
from granite.mrds.flexible.integrals import AtSection, Integrals, at_section, integrals
from tests.peers.interpreted import interpreted
from tests.support.dense_model import Model
from tests.validation.claims import Claims
from tests.validation.mackay_flx import (
    EI,
    LENGTH,
    MASS,
    ROOTS,
    Array,
    Flx,
    G,
    gauss,
    normalisation,
    shape,
    standard,
)  # fmt: skip
from tests.validation.mackay_pendulum import pendulum, swing

#: integrals of eqs. 3.13 to 3.16, first mode
X, W = gauss(LENGTH)
PHI = shape(0, LENGTH, X)
F1, G1, H1 = PHI**2 @ W / LENGTH, X * PHI @ W / LENGTH**2, PHI @ W / LENGTH
K1 = ROOTS[0] ** 4 * float(shape(0, LENGTH, np.array([LENGTH]))[0]) ** 2
START = np.array([0.4, 0.012])
#: of our amplitude: his shape is larger, and bends to the other side
SCALE = np.array([1.0, -normalisation(0)])


def fpen(x: Array) -> Array:
    """phi'' and zeta'' of eqs. 3.11 and 3.12 as corrected, x = (phi, zeta, phi', zeta')."""
    phi, zeta, phi_d, zeta_d = x
    a, s, c = LENGTH, np.sin(phi), np.cos(phi)
    M = MASS * np.array([[a**2 / 3 + F1 * zeta**2, -G1 * a], [-G1 * a, F1]])
    h = np.array(
        [
            2 * MASS * F1 * zeta * zeta_d * phi_d + MASS * G * (a / 2 * s - H1 * zeta * c),
            (K1 * EI / (4 * a**3) - MASS * F1 * phi_d**2) * zeta - MASS * G * H1 * s,
        ]
    )
    return np.linalg.solve(M, -h)


@pytest.fixture(scope="module")
def his() -> Iterator[Model]:
    """Our pendulum of one mode without shortening: the fields that carry it are left out."""

    def without(link: Flexible) -> Integrals:
        numbers, k = integrals(link), 2 + max(link.modes_y, link.modes_z)
        return replace(numbers, pairs=(), mass=numbers.mass[:k, :k])

    def section_without(link: Flexible, x: float) -> AtSection:
        section = at_section(link, x)
        return replace(section, phi=section.phi[: 2 + max(link.modes_y, link.modes_z)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_module, "integrals", without)
        patch.setattr(link_module, "at_section", section_without)
        patch.setenv("GRANITE_NO_COMPILER", "1")
        model = Model(pendulum(1).model_copy(update={"name": "pendulum_that_does_not_shorten"}))
        model.mass_matrix(np.zeros(2))
    return model


def swung(model: Model, h: float, seconds: float) -> tuple[Array, Array, float]:
    """State in his terms and energy against the start [J]."""
    q, u = START * SCALE, np.zeros(2)
    before = model.potential_energy(q)
    for _ in range(round(seconds / h)):
        q, u = model.rk4(q, u, np.zeros(2), h)
    return q / SCALE, u / SCALE, model.kinetic_energy(q, u) + model.potential_energy(q) - before


def test_f13_the_pendulum_moves_as_the_corrected_equations_and_as_the_recursion(his: Model, claims: Claims) -> None:
    rng, chain = np.random.default_rng(13), Flx([standard((1, 0))], np.array([G, 0.0, 0.0]))
    off_ours, off_chain = 0.0, 0.0
    for _ in range(20):
        x = rng.normal(size=4) * [1.0, 0.02, 1.0, 1.0]
        expected, (q, u) = fpen(x), x.reshape(2, 2)
        mine = his.forward_dynamics(q * SCALE, u * SCALE, np.zeros(2)) / SCALE
        bend = np.array([1.0, -1.0])
        recursion = bend * chain.accelerate(bend * q, bend * u)
        size = np.abs(expected).max()
        off_ours = max(off_ours, np.abs(mine - expected).max() / size)
        off_chain = max(off_chain, np.abs(recursion - expected).max() / size)
    claims.below("FLX F13", "accelerations of FPEN, random states, by our model without shortening", 1e-11, off_ours)
    claims.below("FLX F13", "accelerations of FPEN, random states, by Mackay's recursion", 1e-11, off_chain)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (1, (-0.1223511, 0.0083868, -1.418886, -1.2229822)),
        (2, (-0.312334, -0.0014123, -0.4918574, -1.6289573)),
    ],
)
def test_f13_after_seconds_the_pendulum_is_where_fpen_is(
    second: int, expected: tuple[float, ...], his: Model, claims: Claims
) -> None:
    q, u, _ = swung(his, 1e-4, second)
    what = f"flexible pendulum after {second} s, steps of 0.1 ms: phi, zeta and their rates"
    claims.equal("FLX F13", what, expected, [*q, *u], 1e-5)
    bent = swung(interpreted(pendulum(1)), 1e-4, second)[0]
    claims.below("FLX F13", f"what shortening changes in phi after {second} s", 1e-2, abs(bent[0] - q[0]), "rad")
    # A model that does not see the shortening is not ours.
    assert abs(bent[1] - q[1]) > 1e-3


#: step [s], and loss after 1, 2, 4 and 10 s [J]; the figure is lost, these are worked out
LOSSES = [
    (1e-2, (-0.8041, -0.8059, -0.8059, -0.8059)),
    (5e-3, (-0.1624, -0.2923, -0.4786, -0.7213)),
    (2e-3, (-1.94e-3, -3.89e-3, -7.75e-3, -1.92e-2)),
    (1e-3, (-6.13e-5, -1.23e-4, -2.45e-4, -6.12e-4)),
    (5e-4, (-1.92e-6, -3.84e-6, -7.67e-6, -1.92e-5)),
]
QUICK = (1e-2, 2e-3, 1e-3)


@pytest.mark.parametrize(
    ("h", "losses"),
    [
        pytest.param(*row, marks=() if row[0] in QUICK else pytest.mark.slow, id=f"{1e3 * row[0]:g} ms")
        for row in LOSSES
    ],
)
def test_f14_the_energy_lost_follows_the_step(h: float, losses: tuple[float, ...], his: Model, claims: Claims) -> None:
    for seconds, loss in zip((1, 2, 4, 10), losses, strict=True):
        lost = swung(his, h, seconds)[2]
        assert lost == pytest.approx(loss, rel=0.005)
        if seconds == 4:
            claims.near("FLX F14", f"energy lost in 4 s at {1e3 * h:g} ms", loss, lost, 0.005, "J")
        # Shortening makes the vibration a little faster, and takes 5 mJ from where it starts.
        assert swung(interpreted(pendulum(1)), h, seconds)[2] == pytest.approx(loss, rel=0.05)


@pytest.mark.slow
def test_f14_the_loss_goes_with_the_fifth_power_of_the_step_and_is_not_eight_decimals(claims: Claims) -> None:
    """ "Constant to 8 decimals at 1 ms" is printed; that takes 0.1 ms."""
    model = interpreted(pendulum(1))
    coarse, fine = (swung(model, h, 4)[2] for h in (2e-3, 5e-4))
    claims.equal("FLX F14", "power of the step in the energy lost, 0.5 to 2 ms", 5.0, np.log2(coarse / fine) / 2, 0.05)
    claims.above(
        "FLX F14", "energy lost in 4 s at 1 ms, printed as less than 1e-8 J", 1e-4, -swung(model, 1e-3, 4)[2], "J"
    )
    claims.below("FLX F14", "energy lost in 4 s at 0.1 ms", 1e-8, -swung(model, 1e-4, 4)[2], "J")


def test_f15_steps_of_ten_milliseconds_lose_all_flexure_in_two_seconds(his: Model, claims: Claims) -> None:
    """About 2 s is printed. What the swing itself bends stays: 3.7e-4 (a mode amplitude, so without a unit)."""
    path, energy = swing(his, START * SCALE, 1e-2, 600)
    zeta = path[:, 1] / SCALE[1]
    # five steps are one vibration: what is left of its mean is vibration
    shaking = zeta[2:-2] - np.convolve(zeta, np.full(5, 0.2), "valid")
    left = np.abs(shaking[200:]).max() / np.abs(shaking[:10]).max()
    claims.below("FLX F15", "vibration left after 2 s in steps of 10 ms, of the first", 0.01, left)
    # Weight less the inertia of the swing, at its end: m g sin(phi) (H - 3/2 G) over the stiffness.
    own = MASS * G * np.sin(np.abs(path[300:, 0]).max()) * abs(H1 - 1.5 * G1) / (K1 * EI / (4 * LENGTH**3))
    claims.near("FLX F15", "bending left, which is the swing's own: largest zeta", own, np.abs(zeta[300:]).max(), 0.01)
    assert abs(energy[-1] / energy[200] - 1) < 1e-3
