"""Thrust of each thruster and delay of the valves from one log of 60 s, by a plant that differs from the file."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import granite as library
from granite.calibration.identification.flight import expected_base, flight_of
from granite.calibration.identification.motion_fit import Fit
from granite.calibration.identification.thrusters import IdentifiedThrusters, identify_thrusters
from granite.calibration.identification.wiring import swapped_valves
from granite.config.loader import load
from granite.config.testbed import Testbed
from tests.support.command_line import Call, granite

__all__ = ["granite"]

DEVICE = "simulation.plant.devices.thrusters"
THRUST = np.array([1.0, 1.1, 0.9, 1.0, 0.95, 1.05, 0.97, 1.0])
FILE_S, DELAY_S = 0.004, 0.007


def bed_that_differs(seed: int = 1) -> Testbed:
    thrusts = [f"{DEVICE}.units.r{i}.thrust_n={value}" for i, value in enumerate(THRUST.tolist(), start=1)]
    changes = ["loop.duration_s=60", f"seed={seed}", f"{DEVICE}.valve.delay_s={DELAY_S}", *thrusts]
    return load("free-flyer", changes)


def identified(bed: Testbed) -> IdentifiedThrusters:
    return identify_thrusters(flight_of(library.simulate(bed)), expected_base(bed))


@pytest.mark.slow
def test_one_log_gives_every_thrust_and_the_delay():
    thrusters = identified(bed_that_differs())
    assert thrusters.thrust_n == pytest.approx(THRUST, rel=0.02)
    assert np.all(np.abs(thrusters.thrust_n - THRUST) < 4 * thrusters.deviation)
    assert np.all(thrusters.deviation < 0.01)
    assert abs(thrusters.later_s - (DELAY_S - FILE_S)) < 4 * thrusters.later_deviation < 0.008
    assert thrusters.dead(np.ones(8)) == thrusters.unknown(np.ones(8)) == []


def test_a_thruster_that_hardly_fired_is_unknown_and_not_dead():
    fit = Fit(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros((0, 3)))
    thrusters = IdentifiedThrusters(np.array([0.02, 0.1, 0.98]), np.array([0.01, 0.5, 0.01]), 0.0, 1e-3, fit)
    assert (thrusters.dead(np.ones(3)), thrusters.unknown(np.ones(3))) == ([0], [1])


@pytest.mark.slow
def test_errors_have_the_stated_spread():
    errors = []
    for seed in range(1, 21):
        thrusters = identified(bed_that_differs(seed))
        errors.append(
            [
                *((thrusters.thrust_n - THRUST) / thrusters.deviation),
                (thrusters.later_s - 0.003) / thrusters.later_deviation,
            ]
        )
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1.0, abs=0.25)
    assert np.mean(np.abs(errors) < 2.0) > 0.9


@pytest.mark.slow
def test_the_command_names_a_dead_valve(granite: Call, tmp_path: Path):
    granite("sim", "free-flyer", "--duration", 40, "--out", "a.mcap", "--set", f"{DEVICE}.units.r2.failed=true")
    said = granite("identify", "a.mcap", "--thrusters")
    assert said.code == 0
    assert "\ndead: r2\n" in said.out
    content = tomllib.loads((tmp_path / "a-thrusters.toml").read_text())
    assert (content["kind"], content["device"], content["dead"]) == ("thrusters", "thrusters", ["r2"])
    assert content["thrust_n"]["r2"] == pytest.approx(0.0, abs=0.05)
    assert content["thrust_n"]["r5"] == pytest.approx(1.0, abs=0.03)
    assert abs(content["valve"]["delay_s"] - FILE_S) < 4 * content["deviation"]["valve"]["delay_s"]


@pytest.mark.slow
def test_the_command_names_swapped_valves(granite: Call, tmp_path: Path):
    units = f"{DEVICE}.units"
    places = {"r1": "[-0.13, 0.13]", "r3": "[0.13, 0.13]"}
    directions = {"r1": "[0, -1]", "r3": "[-1, 0]"}
    changes = [f"{units}.{name}.position_m={place}" for name, place in places.items()]
    changes += [f"{units}.{name}.direction={direction}" for name, direction in directions.items()]
    granite("sim", "free-flyer", "--duration", 60, "--out", "a.mcap", *(f"--set={change}" for change in changes))
    said = granite("identify", "a.mcap", "--thrusters")
    assert "swapped: the command of r1 opens r3\nswapped: the command of r3 opens r1\n" in said.out
    content = tomllib.loads((tmp_path / "a-thrusters.toml").read_text())
    assert content["swapped"] == {"r1": "r3", "r3": "r1"}
    assert content["dead"] == []
    assert content["residual"]["deviation"] == pytest.approx([5e-4, 5e-4, 1e-3], rel=0.1)


@pytest.mark.slow
def test_a_flight_as_in_the_file_has_no_swapped_valves():
    bed = load("free-flyer", ["loop.duration_s=60"])
    assert swapped_valves(flight_of(library.simulate(bed)), expected_base(bed)) == {}
