"""Torque of motors at their joints: back-EMF, ripple, cogging, and gears, by closed forms and balances of energy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from granite.config.devices.motors import Motors
from granite.config.errors import InputError
from granite.config.testbed import Testbed
from granite.sim.plant.plant import Plant

pytestmark = pytest.mark.usefixtures("interpreted")

INERTIA = 0.3 + 2.0 * 0.5**2  #: of the link about its joint [kg m^2]
GEAR = {"stiffness_n_m_rad": 80.0, "rotor_inertia_kg_m2": 0.2, "damping_s_rad": 0.0}


class Source:
    """A constant torque [N m]."""

    def __init__(self, torque: float) -> None:
        self.torque = np.array([torque])


def plant(errors: dict[str, Any], torque: float = 0.0, angle: float = 0.0, rate: float = 0.0, seed: int = 1) -> Plant:
    """A link on a fixed base whose motor has this torque."""
    bodies = [
        {"name": "base", "mass_kg": 5.0, "inertia_kg_m2": 0.4},
        {"name": "link", "mass_kg": 2.0, "com_m": [0.5, 0.0], "inertia_kg_m2": 0.3},
    ]
    module = {"name": "arm", "dimension": "planar", "base": "fixed", "bodies": bodies}
    bed = Testbed.model_validate(
        {
            "name": "arm",
            "title": "Arm",
            "seed": seed,
            "loop": {"period_s": 0.01, "duration_s": 2.0},
            "modules": [module | {"joints": [{"name": "joint", "parent": "base", "child": "link"}]}],
            "devices": {"motors": {"units": [{"joint": "joint", "torque_limit_n_m": 2.0}], "simulated": errors}},
            "simulation": {"initial": {"joint_rad": angle, "joint_rad_s": rate}, "table": {"ideal": True}},
        }
    )
    built, [table] = Plant(bed), bed.devices_of(Motors).values()
    built.attach_motors(table, Source(torque))
    return built


def torque_at(errors: dict[str, Any], torque: float, angle: float, seed: int = 1) -> float:
    """Measured by the acceleration in one step from rest."""
    moved = plant(errors, torque, angle, seed=seed)
    moved.advance(0.001)
    return float(moved.u[0] / 0.001 * INERTIA)


def test_a_lag_follows_its_command_in_the_first_order() -> None:
    """u = tau/I (t - T (1 - e^(-t/T)))."""
    moved, lag = plant({"lag_s": 0.05}, 1.5), 0.05
    for t in (0.02, 0.05, 0.2):
        moved.advance(t)
        assert moved.u[0] == pytest.approx(1.5 / INERTIA * (t - lag * (1 - math.exp(-t / lag))), rel=1e-6)


def test_a_lag_shorter_than_the_step_is_refused() -> None:
    with pytest.raises(InputError, match="the lag of the motor on 'joint' is short"):
        plant({"lag_s": 1e-6})


def test_back_emf_leaves_no_torque_at_the_no_load_rate() -> None:
    moved = plant({"no_load_rate_rad_s": 3.0}, 2.0)
    for t in (0.5, 1.0, 3.0):
        moved.advance(t)
        assert moved.u[0] == pytest.approx(3.0 * (1 - math.exp(-2.0 / (3.0 * INERTIA) * t)), rel=1e-9)
    braked = plant({"no_load_rate_rad_s": 3.0}, -2.0, rate=2.9)
    braked.advance(0.5)
    assert braked.u[0] == pytest.approx(2.9 - 2.0 / INERTIA * 0.5, rel=1e-9)


@pytest.mark.parametrize("errors", [{"ripple_ratio": 0.2, "ripple_per_turn": 6.0}, {"cogging_n_m": 0.06}])
def test_ripple_follows_the_torque_and_cogging_does_not(errors: dict[str, Any]) -> None:
    per_turn = errors.get("ripple_per_turn", 12.0)
    for torque in (0.3, -0.9):
        amplitude = 0.2 * abs(torque) if "ripple_ratio" in errors else 0.06
        quarter = math.pi / 2 / per_turn
        ripples = [torque_at(errors, torque, 0.4 + k * quarter) - torque for k in range(5)]
        assert math.hypot(ripples[0], ripples[1]) == pytest.approx(amplitude, rel=1e-3)
        assert ripples[2] == pytest.approx(-ripples[0], abs=1e-3 * amplitude)
        assert ripples[4] == pytest.approx(ripples[0], abs=1e-3 * amplitude)


def test_the_seed_draws_the_phase() -> None:
    torques = {round(torque_at({"cogging_n_m": 0.06}, 0.0, 0.0, seed), 6) for seed in range(6)}
    assert len(torques) == 6


def test_cogging_takes_and_gives_energy_back() -> None:
    """Kinetic energy and the integral of the torque over the angle, A / n cos(n angle + phase), are constant."""
    errors = {"cogging_n_m": 0.5}
    phase = math.atan2(torque_at(errors, 0.0, 0.0), torque_at(errors, 0.0, math.tau / 48))
    moved, energies, rates = plant(errors, rate=1.0), [], []
    for k in range(1000):
        moved.advance(k * 0.001)
        rates.append(moved.u[0])
        energies.append(0.5 * INERTIA * moved.u[0] ** 2 + 0.5 / 12 * math.cos(12 * moved.q[0] + phase))
    assert np.ptp(rates) > 0.05
    assert np.ptp(energies) < 1e-5


def test_a_rotor_swings_against_its_joint_at_the_frequency_of_two_inertias() -> None:
    moved = plant({"gear": GEAR}, 0.5)
    angles = []
    for k in range(4000):
        moved.advance((k + 1) * 0.001)
        mean = 0.5 * 0.5 / (INERTIA + 0.2) * moved.t**2
        angles.append(moved.q[0] - mean)
    crossings = np.flatnonzero(np.diff(np.sign(np.array(angles) - np.mean(angles))) > 0)
    frequency = math.sqrt(80.0 * (1 / INERTIA + 1 / 0.2))
    period = (crossings[-1] - crossings[0]) * 0.001 / (len(crossings) - 1)
    assert math.tau / period == pytest.approx(frequency, rel=2e-3)


def test_a_joint_rests_until_its_rotor_has_crossed_the_play() -> None:
    moved = plant({"gear": GEAR | {"backlash_rad": 0.1, "damping_s_rad": 3.0}}, 0.1)
    crosses = math.sqrt(2 * 0.05 / (0.1 / 0.2))
    moved.advance(round(crosses - 0.002, 3))
    assert moved.q[0] == 0.0
    moved.advance(crosses + 0.05)
    assert moved.q[0] > 0
    # Together they have the momentum of the torque.
    moved.advance(60.0)
    assert moved.u[0] == pytest.approx(0.1 * 60.0 / (INERTIA + 0.2), rel=1e-3)


def test_a_gear_too_stiff_for_the_step_is_refused() -> None:
    with pytest.raises(InputError, match="gear of joint 'joint' is too stiff, expected at most"):
        plant({"gear": GEAR | {"rotor_inertia_kg_m2": 1e-5}})
