"""Calibrations of simulated devices recover their true numbers, with uncertainties of the right size."""

import numpy as np
import pytest

import granite
from granite.calibration.fit import COVERAGE, CalibrationFit, FittedKey
from granite.calibration.procedure import BenchMeasurement
from granite.calibration.pulses import mean_openings, pulses_of
from granite.calibration.session import carry_out, find_procedure
from granite.calibration.simulated import SimulatedOperator, repeat
from granite.calibration.swing import timed_swing
from granite.config.devices.thrusters import Valve
from granite.config.errors import InputError
from granite.mrds.flexible.shapes import bending_shapes
from granite.mrds.tip_load import modes_per_newton
from granite.mrds.valve_response import remembered_changes
from granite.mrds.valves import ValveBank

BEDS = [("joints", "free-flyer"), ("force", "fixed-dual-arm/carry-gauges"), ("strain", "flexible-arm")]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "bed"), BEDS)
def test_true_numbers_are_within_the_stated_uncertainty_at_least_95_times_of_100(kind, bed):
    procedure = find_procedure(kind, granite.load(bed))
    levels = np.array([repeat(procedure, seed).level for seed in range(1, 101)])
    assert (levels < COVERAGE).sum() >= 95
    # Nor is it too large: the level is uniform, and its mean is 0.5 with a deviation of 0.029.
    assert np.mean(levels) == pytest.approx(0.5, abs=0.09)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["motors", "thrusters", "latency"])
def test_true_numbers_of_actuators_are_in_the_ellipsoid(kind):
    procedure = find_procedure(kind, granite.load("free-flyer"))
    levels = np.array([repeat(procedure, seed).level for seed in range(1, 6)])
    assert (levels < 0.999).all()
    assert levels.max() > 0.2


def arm_and_wheel() -> granite.Testbed:
    """A free-flyer with a wheel, whose motor and sensor are devices of their own."""
    bed = granite.load("free-flyer/clean").model_dump(mode="json", exclude_unset=True)
    [module] = bed["modules"]
    module["bodies"].append({"name": "rotor", "mass_kg": 1.4, "inertia_kg_m2": 0.006})
    module["joints"].insert(0, {"name": "wheel", "parent": module["bodies"][0]["name"], "child": "rotor"})
    wheel = {"joint": "wheel", "torque_limit_n_m": 0.08, "rate_limit_rad_s": 300.0}
    bed["devices"]["wheel"] = {"kind": "momentum_wheel", "units": [wheel]}
    sensor = {"kind": "joint_sensors", "joints": ["wheel"], "range_rad": 8000.0, "converter_bits": 24}
    bed["devices"]["wheel_sensor"] = {**sensor, "angle_noise_rad": 0.02}
    return granite.Testbed.model_validate(bed)


@pytest.mark.parametrize(
    ("device", "seed"),
    [
        pytest.param("motors", 1, marks=pytest.mark.slow),
        ("wheel", 1),
        pytest.param("wheel", 9, marks=pytest.mark.slow),
    ],
)
def test_motors_of_a_device_are_fitted_without_the_branches_that_other_devices_drive(device: str, seed: int):
    done = repeat(find_procedure("motors", arm_and_wheel(), device), seed)
    assert done.level < 0.999


@pytest.mark.slow
def test_dead_and_swapped_valves_are_named():
    bed = granite.load("free-flyer")
    thrusters = find_procedure("thrusters", bed)
    r1, r3 = (bed.thrusters[i] for i in (0, 2))
    key = "devices.thrusters.units"
    wrong = {
        f"{key}.r2.failed": True,
        f"{key}.r1.position_m": list(r3.position_m),
        f"{key}.r1.direction": list(r3.direction),
        f"{key}.r3.position_m": list(r1.position_m),
        f"{key}.r3.direction": list(r1.direction),
    }
    operator = SimulatedOperator(thrusters, 3, wrong)
    fit = carry_out(thrusters, operator.bench, operator)
    assert [note.split(";")[0] for note in fit.notes] == [
        "swapped: the command of r1 opens r3",
        fit.notes[1].split(";")[0],
        "swapped: the command of r3 opens r1",
    ]
    assert fit.notes[1].startswith("dead: r2 gave")
    numbers = {number.key: value for number, value in zip(fit.numbers, fit.values, strict=True)}
    assert f"{key}.r2.thrust_n" not in numbers
    # Thrusts are those of the nozzles: the drawn thrust of the unit `r1` of the plant is that of the nozzle r3.
    assert numbers[f"{key}.r3.thrust_n"] == pytest.approx(operator.truth[f"{key}.r1.thrust_n"], abs=0.003)


@pytest.mark.slow
def test_a_motor_whose_joint_is_blocked_is_refused():
    motors = find_procedure("motors", granite.load("free-flyer"))
    blocked = {"modules.vehicle.joints.shoulder.friction_n_m": 0.5}
    operator = SimulatedOperator(motors, 1, blocked)
    with pytest.raises(InputError, match=r"joint shoulder turned by .* expected a joint that is free"):
        carry_out(motors, operator.bench, operator)


@pytest.mark.slow
def test_the_inertia_of_a_part_on_the_pendulum_is_recovered():
    pendulum = find_procedure("inertia", granite.load("free-flyer"), "upper_arm")
    results = [repeat(pendulum, seed) for seed in range(1, 9)]
    assert max(each.level for each in results) < 0.999
    assert all(each.fit.deviation[0] < 3e-4 * each.truth[0] for each in results)


def test_an_expanded_uncertainty_is_that_of_student_for_one_number():
    """Of one number with 4 degrees of freedom: the 0.995 quantile of Student's t is 4.604."""
    fit = CalibrationFit((FittedKey("a", "1"),), np.array([3.0]), np.array([[0.25]]), 4, 5, ())
    assert fit.expanded[0] == pytest.approx(0.5 * 4.604, rel=1e-3)
    assert fit.level(fit.values + fit.expanded) == pytest.approx(COVERAGE)


def test_a_tip_load_bends_a_beam_as_the_closed_form_says():
    """Tip deflection F L^3 / (3 EI); two assumed modes have a little less of it."""
    module = granite.load("flexible-arm").modules[0]
    modes = modes_per_newton(module, "strip", "y")
    link = module.bodies[1].flexible
    tip = sum(
        float(shape(np.array(link.length_m), 0)) * a for shape, a in zip(bending_shapes(link), modes, strict=False)
    )
    assert tip == pytest.approx(link.length_m**3 / (3 * link.ei_n_m2), rel=0.03)


def test_a_pendulum_that_does_not_swing_is_refused():
    pendulum = find_procedure("inertia", granite.load("free-flyer"), "upper_arm")
    t = np.arange(0.0, 20.0, 1e-3)
    with pytest.raises(InputError, match="the pendulum was not swinging, 0 passes of its flag, expected a swing"):
        timed_swing(t, np.ones(len(t)))
    known = {"plate": [1.2], "known": [0.0, 0.01], "part": [0.0]}
    same = [BenchMeasurement(s, np.array(known[s.subject]), np.array([1.5, 1e-5]), "") for s in pendulum.steps]
    with pytest.raises(InputError, match="the known bodies swing alike"):
        pendulum.fit(same)


def test_the_period_of_a_swing_is_found_although_the_flag_is_off_its_middle():
    t, period = np.arange(0.0, 20.0, 1e-3), 1.4567
    light = np.where(np.abs(0.03 * np.cos(2 * np.pi * t / period) - 0.001) < 0.004, 0.0, 1.0)
    swing = timed_swing(t, light)
    assert abs(swing.period - period) < 4 * swing.deviation
    assert swing.deviation < 5e-5


def test_pulses_open_valves_as_the_response_of_the_plant_says():
    valve = Valve(delay_s=0.0043, rise_s=0.0027, minimum_on_s=0.0101)
    t = np.arange(0.0, 0.2, 1e-3)
    commanded = (((t > 0.0095) & (t < 0.0125)) | ((t > 0.0995) & (t < 0.1205))).astype(float)
    bank, means = ValveBank(valve, 1, remembered_changes(valve, 1e-3, throttled=True)), [0.0]
    for at, opening in zip(t, commanded, strict=True):
        bank.command(at, np.array([opening]))
        means.append(bank.mean_opening(at, at + 1e-3)[0])
    openings = mean_openings(t, 1e-3, *pulses_of(t, commanded), np.array([0.0043, 0.0027, 0.0101]))
    np.testing.assert_allclose(openings, means[:-1], atol=1e-9)
