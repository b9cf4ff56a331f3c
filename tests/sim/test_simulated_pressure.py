"""The simulated supply pressure falls with the gas in the tank, as the thrust does."""

from types import SimpleNamespace

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.sim.devices.pressure import SimulatedPressure
from granite.sim.lab import Lab

TANK = {"devices.thrusters.simulated.tank_n_s": 10.0}


def test_it_is_proportional_to_what_is_left_and_has_noise():
    bed = granite.load("free-flyer", {"devices.pressure": {"noise_pa": 500.0}, **TANK})
    for left in (10.0, 5.0, 0.0):
        plant = SimpleNamespace(bed=bed, impulse_left=np.array([left]), advance=lambda t: None)
        device = SimulatedPressure(bed.devices["pressure"], plant, np.random.default_rng(2))
        values = np.array([device.read(0.01 * k).values[0] for k in range(2000)])
        assert values.mean() == pytest.approx(7e5 * left / 10.0, abs=250.0)  # below zero nothing is read
        if left:
            assert values.std() == pytest.approx(500.0, rel=0.06)


def test_a_supply_without_limit_has_its_full_pressure():
    bed = granite.load("free-flyer", {"devices.pressure": {"noise_pa": 0.0}, "devices.thrusters.simulated.ideal": True})
    plant = SimpleNamespace(bed=bed, impulse_left=np.array([np.nan]), advance=lambda t: None)
    device = SimulatedPressure(bed.devices["pressure"], plant, np.random.default_rng(2))
    assert device.read(0.0).values[0] == pytest.approx(7e5, abs=bed.devices["pressure"].step_pa)


@pytest.mark.slow
def test_thrust_and_pressure_fall_together():
    bed = granite.load("free-flyer", {"devices.pressure": {"noise_pa": 0.0}, **TANK})
    lab = Lab(bed)
    thrusters, pressure = lab.device("thrusters"), lab.device("pressure")
    open_all = np.ones(len(bed.devices["thrusters"].units))
    thrusts, pressures = [], []
    for k in range(30):
        lab.advance(0.05 * k)
        thrusters.write(0.05 * k, open_all)
        pressures.append(pressure.read(0.05 * k).values[0])
        thrusts.append(lab.plant.thrust.sum())
    ratio = np.array(thrusts[5:]) / np.array(pressures[5:])
    assert 0.1 * pressures[0] < pressures[-1] < 0.6 * pressures[0]
    assert ratio == pytest.approx(np.full(len(ratio), ratio[0]), rel=0.02)


def test_wrong_tables_are_refused():
    for table, expected in (
        ({"thrusters": "motors"}, r"devices.pressure.thrusters .*no such thrusters"),
        ({"low_pa": 8e5}, r"devices.pressure.full_pa .*above low_pa"),
    ):
        with pytest.raises(InputError, match=expected):
            granite.load("free-flyer", {"devices.pressure": table})
