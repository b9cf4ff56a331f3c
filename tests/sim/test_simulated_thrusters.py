import math
from types import SimpleNamespace

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.loader import load
from granite.sim.devices.pressure import SimulatedPressure
from granite.sim.lab import Lab
from tests.support.dense_model import Model

ALL, NONE = np.ones(8), np.zeros(8)


def lab(*overrides):
    made = Lab(load("free-flyer", overrides=list(overrides)))
    return made.plant, made.device("thrusters")


def test_thrust_droops_with_what_the_tank_has_given():
    plant, thrusters = lab("devices.thrusters.simulated.tank_n_s=20.0")
    thrusters.write(0.0, ALL)
    plant.advance(2.0)
    [left] = plant.impulse_left
    assert left == pytest.approx(20.0 * math.exp(-8.0 / 20.0 * (2.0 - 0.004 - 0.0015)), rel=1e-9)
    assert left + plant.impulse_used == pytest.approx(20.0, rel=1e-12)
    plant.advance(2.001)
    np.testing.assert_allclose(plant.thrust, 0.5 * (left + plant.impulse_left[0]) / 20.0, rtol=1e-6)


def test_without_a_tank_the_thrust_stays():
    plant, thrusters = lab("devices.thrusters.simulated.tank_n_s=none")
    thrusters.write(0.0, ALL)
    plant.advance(2.0)
    plant.advance(2.005)
    np.testing.assert_allclose(plant.thrust, 1.0, rtol=1e-12)
    assert math.isnan(plant.impulse_left[0])
    assert plant.impulse_used == pytest.approx(8.0 * (2.005 - 0.004 - 0.0015), rel=1e-9)


def test_ideal_thrusters_throttle_at_once_and_for_ever():
    plant, thrusters = lab("devices.thrusters.simulated.ideal=true", "devices.thrusters.simulated.tank_n_s=1.0")
    wanted = np.array([0.0, 0.25, 1.0, 0.5, 0.0, 0.1, 2.0, -1.0])
    applied = thrusters.write(0.0, wanted).values
    np.testing.assert_array_equal(applied, np.clip(wanted, 0.0, 1.0))
    plant.advance(10.0)
    np.testing.assert_allclose(plant.thrust, applied, rtol=1e-12)
    assert plant.impulse_used == pytest.approx(10.0 * applied.sum())


def test_real_valves_open_after_their_delay():
    plant, thrusters = lab()
    thrusters.write(0.0, ALL)
    plant.advance(0.004)
    assert not plant.thrust.any()
    plant.advance(0.007)
    np.testing.assert_allclose(plant.thrust, 0.5, rtol=1e-4)
    plant.advance(0.010)
    np.testing.assert_allclose(plant.thrust, 1.0, rtol=1e-4)


def test_a_pulse_shorter_than_the_valve_can_make_is_lengthened_and_reported():
    plant, thrusters = lab()
    thrusters.write(0.0, ALL)
    np.testing.assert_array_equal(thrusters.write(0.005, NONE).values, ALL)
    np.testing.assert_array_equal(thrusters.write(0.010, NONE).values, NONE)
    plant.advance(0.1)
    assert plant.impulse_used == pytest.approx(8 * 0.010, rel=1e-4)


def test_stop_closes_the_valves_however_short_they_were_open():
    plant, thrusters = lab()
    thrusters.write(0.0, ALL)
    thrusters.stop(0.009)
    used = plant.impulse_used
    assert used > 0.0
    plant.advance(0.2)
    assert not plant.thrust.any()
    assert plant.impulse_used == used
    np.testing.assert_array_equal(thrusters.write(0.2, NONE).values, NONE)


def test_a_failed_thruster_gives_nothing():
    plant, thrusters = lab("devices.thrusters.units.r3.failed=true")
    applied = thrusters.write(0.0, ALL).values
    np.testing.assert_array_equal(applied, ALL)
    plant.advance(0.1)
    plant.advance(0.105)
    assert plant.thrust[2] == 0.0
    assert np.all(np.delete(plant.thrust, 2) > 0.99)


def test_thrust_of_a_tick_is_the_mean_over_its_steps():
    plant, thrusters = lab()
    thrusters.write(0.0, ALL)
    plant.advance(0.010)
    np.testing.assert_allclose(plant.thrust.sum() * 0.010, plant.impulse_used, rtol=1e-12)


def test_a_thruster_that_is_stuck_open_pushes_from_the_start_and_through_a_stop():
    plant, thrusters = lab("devices.thrusters.simulated.stuck_open=['r3']", "devices.thrusters.simulated.tank_n_s=none")
    np.testing.assert_array_equal(thrusters.write(0.0, NONE).values, NONE)
    plant.advance(0.1)
    np.testing.assert_allclose(plant.thrust, np.eye(8)[2], rtol=1e-12)
    thrusters.stop(0.1)
    plant.advance(0.2)
    np.testing.assert_allclose(plant.thrust, np.eye(8)[2], rtol=1e-12)


# --- gas ---------------------------------------------------------------------------------------------------------

SIMULATED = "devices.thrusters.simulated"


def opened(n, *overrides):
    """The thrust of each when n valves are open."""
    plant, thrusters = lab(f"{SIMULATED}.tank_n_s=none", *overrides)
    thrusters.write(0.0, (np.arange(8) < n).astype(float))
    plant.advance(0.05)
    plant.advance(0.06)
    return plant.thrust


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_every_further_open_valve_takes_its_part_of_the_thrust_of_all(n):
    np.testing.assert_allclose(opened(n, f"{SIMULATED}.shared_drop=0.1")[:n], 0.9 ** (n - 1), rtol=1e-12)


def test_a_regulator_keeps_the_thrust_until_its_pressure_is_reached():
    plant, thrusters = lab(f"{SIMULATED}.tank_n_s=20.0", f"{SIMULATED}.regulated_ratio=0.4")
    thrusters.write(0.0, ALL)
    opens, falls = 0.004 + 0.0015, 0.6 * 20.0 / 8.0
    plant.advance(1.0)
    plant.advance(1.4)
    np.testing.assert_allclose(plant.thrust, 1.0, rtol=1e-12)
    plant.advance(3.0)
    expected = 0.4 * 20.0 * math.exp(-8.0 / (0.4 * 20.0) * (3.0 - opens - falls))
    assert plant.impulse_left[0] == pytest.approx(expected, rel=1e-3)
    assert plant.impulse_left[0] + plant.impulse_used == pytest.approx(20.0, rel=1e-12)


def directions(seed):
    """Of the force of each thruster by the momentum it gives, in the axes of the base, less that of its data sheet."""
    angles = []
    for i, unit in enumerate(load("free-flyer").thrusters):
        level = ["simulation.table.ideal=true", "simulation.initial={}", f"seed={seed}"]
        plant, thrusters = lab(*level, f"{SIMULATED}.misalignment_rad=0.05", f"{SIMULATED}.tank_n_s=none")
        thrusters.write(0.0, (np.arange(8) == i).astype(float))
        plant.advance(0.02)
        momentum = Model(plant.bed.modules[0]).momentum(plant.q, plant.u)[:2]
        assert np.linalg.norm(momentum) == pytest.approx(0.02 - 0.0055, rel=1e-5)
        angle = math.atan2(momentum[1], momentum[0]) - math.atan2(unit.direction[1], unit.direction[0])
        angles.append((angle + math.pi) % math.tau - math.pi)
    return np.array(angles)


def test_the_seed_turns_nozzles_by_a_normal_error():
    drawn = np.concatenate([directions(seed) for seed in (1, 2, 3)])
    assert len(set(drawn.round(9))) == 24
    assert 0.7 * 0.05 < drawn.std() < 1.3 * 0.05  # 24 numbers: 0.05 within 15 % one sigma
    assert abs(drawn.mean()) < 0.03


def test_the_seed_draws_the_thrust_of_each_nozzle():
    drawn = [opened(8, f"{SIMULATED}.thrust_error=0.1", f"seed={seed}") for seed in (1, 2)]
    assert np.abs(np.array(drawn) - 1).max() <= 0.1
    assert len(set(np.ravel(drawn).round(9))) == 16


def test_pulses_scatter():
    plant, thrusters = lab(f"{SIMULATED}.pulse_scatter=0.2", f"{SIMULATED}.tank_n_s=none")
    thrusts = []
    for k in range(100):
        thrusters.write(0.1 * k, ALL)
        plant.advance(0.1 * k + 0.03)
        plant.advance(0.1 * k + 0.04)
        thrusts.append(plant.thrust)
        plant.advance(0.1 * k + 0.05)
        np.testing.assert_allclose(plant.thrust, thrusts[-1], rtol=1e-12)  # the same all over a pulse
        thrusters.write(0.1 * k + 0.05, NONE)
    scatter = np.array(thrusts) - 1
    assert np.abs(scatter).max() <= 0.2
    np.testing.assert_allclose(scatter.std(axis=0), 0.2 / math.sqrt(3), rtol=0.25)
    assert np.abs(scatter.mean(axis=0)).max() < 0.05
    assert np.abs(np.corrcoef(scatter.T) - np.eye(8)).max() < 0.4
    assert max(abs(np.corrcoef(f[1:], f[:-1])[0, 1]) for f in scatter.T) < 0.3


@pytest.mark.usefixtures("interpreted")
def test_a_jet_pushes_an_arm_in_its_way_as_the_formula_says():
    """The robot gets the momentum of its own jet, for the nozzle that strikes most and the one that strikes least."""
    level = ["simulation.table.ideal=true", "simulation.initial={shoulder_rad=0.3}", f"{SIMULATED}.tank_n_s=none"]
    level += ["devices.thrusters.valve={delay_s=0.0, rise_s=0.0}"]
    plume = f"{SIMULATED}.plume={{strength=0.5, spread_rad=0.6, length_m=0.4}}"

    def momentum(i):
        plant, thrusters = lab(*level, plume)
        thrusters.write(0.0, (np.arange(8) == i).astype(float))
        plant.advance(0.001)
        return Model(plant.bed.modules[0]).momentum(plant.q, plant.u)[:2]

    def push(unit):
        force, angle, at = np.zeros(2), 0.0, np.zeros(2)
        for joint, turn in zip(vehicle.joints, (0.3, 0.0), strict=True):
            at = at + _turned(angle, joint.origin_m)
            angle += turn
            com = next(body.com_m for body in vehicle.bodies if body.name == joint.child)
            away = at + _turned(angle, com) - unit.position_m[:2]
            r = np.linalg.norm(away)
            a = math.acos(np.clip(-np.dot(unit.direction[:2], away) / r, -1, 1))
            force += 0.5 * math.exp(-((a / 0.6) ** 2)) / (1 + (r / 0.4) ** 2) * away / r * unit.thrust_n
        return force

    bed = load("free-flyer")
    vehicle = bed.modules[0]
    forces = np.array([push(unit) for unit in bed.thrusters])
    sizes = np.linalg.norm(forces, axis=1)
    assert sizes.max() > 0.01 > sizes.min()
    for i in (np.argmax(sizes), np.argmin(sizes)):
        thrust = np.array(bed.thrusters[i].direction[:2]) * bed.thrusters[i].thrust_n
        np.testing.assert_allclose(momentum(i), 0.001 * (thrust + forces[i]), atol=2e-8)


def _turned(angle, vector):
    x, y = vector[:2]
    return np.array([x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)])


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
