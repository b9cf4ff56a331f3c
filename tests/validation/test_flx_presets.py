"""Mackay 1988: the presets `flx-*`, run by name, have his periods and keep their energy (tests F04 to F21)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from granite.config.loader import load
from granite.kernels.kernel import Array
from granite.mrds.energy import Energy
from granite.rt.run_in_memory import simulate_in_memory
from tests.validation.claims import Claims

pytestmark = pytest.mark.usefixtures("interpreted")


@cache
def flown(name: str, **changes: Any) -> tuple[Array, Array, Array]:
    """Times, coordinates and energy [J] of a run, tick by tick."""
    bed = load(name, {key.replace("__", "."): value for key, value in changes.items()})
    log = simulate_in_memory(bed)
    assert log.summary["ended"] == "completed", log.summary["text"]
    q, u = (log.rows[:, log.channels.columns("/truth", entry)] for entry in ("q", "u"))
    energy = Energy(bed.modules)
    energies = np.array([energy.balance(*state).energy for state in zip(q, u, strict=True)])
    return log.rows[:, log.channels.column("/truth", "t_s")], q, energies


@pytest.mark.parametrize(("start", "printed"), [(0.05, 3.276), (0.1, 3.278), (0.2, 3.284), (0.4, 3.309)])
def test_f04_f05_the_rigid_pendulum_has_the_periods_of_table_3_2(start: float, printed: float, claims: Claims) -> None:
    t, q, energy = flown("flx-pendulum/rigid", simulation__initial__joint_rad=start)
    angle = q[:, 0]
    i = np.flatnonzero(np.sign(angle[1:]) != np.sign(angle[:-1]))
    crossings = t[i] + (t[i + 1] - t[i]) * angle[i] / (angle[i] - angle[i + 1])
    period = 2 * float(np.diff(crossings).mean())
    claims.equal("FLX F04", f"granite sim flx-pendulum/rigid, period from {start:g} rad", printed, period, 1e-3, "s")
    drift = float(np.abs(energy - energy[0]).max())
    claims.below("FLX F05", f"granite sim flx-pendulum/rigid, energy drift from {start:g} rad", 1e-8, drift, "J")


def test_f06_f07_f21_the_double_pendulum_moves_as_its_corrected_equations_say(claims: Claims) -> None:
    t, q, energy = flown("flx-pendulum/double")
    expected = {1: (0.178712, -0.134273), 2: (-0.451199, -0.021604), 4: (0.232134, 0.125605), 5: (0.408077, 0.267246)}
    for second, angles in expected.items():
        got = q[int(np.argmin(np.abs(t - second)))]
        claims.equal("FLX F06", f"granite sim flx-pendulum/double after {second} s", angles, got, 1e-6, "rad")
    drift = float(np.abs(energy - energy[0])[t <= 5.0].max())
    claims.below("FLX F07", "granite sim flx-pendulum/double, energy drift in 5 s", 1e-8, drift, "J")
    claims.below("FLX F21", "granite sim flx-pendulum/double, energy drift in 5 s", 1e-8, drift, "J")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pid-rigid", "pid"])
def test_f19_energy_stays_once_the_controllers_are_off(name: str, claims: Claims) -> None:
    t, _, energy = flown(f"flx-three-link/{name}")
    after = energy[t > 0.5005]
    drift = float(np.abs(after / after[0] - 1).max())
    claims.below("FLX F19", f"granite sim flx-three-link/{name}, energy drift after 0.5 s, relative", 1e-8, drift)
    assert abs(after[0] - energy[0]) > 10.0  # the controllers did something before
    assert np.ptp(energy[t < 0.5]) > 10.0
