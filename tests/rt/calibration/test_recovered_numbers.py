"""Calibrations of simulated devices recover their true numbers, with uncertainties of the right size."""

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.rt.calibration.session import carry_out, find_procedure
from granite.rt.calibration.simulated import SimulatedOperator, repeat


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "bed"), [("joints", "free-flyer"), ("force", "fixed-dual-arm/carry-gauges")])
def test_true_numbers_are_in_the_95_percent_ellipsoid_about_95_times_of_100(kind, bed):
    procedure = find_procedure(kind, granite.load(bed))
    levels = np.array([repeat(procedure, seed).level for seed in range(1, 101)])
    # Binomial: 95 with a deviation of 2.2; the mean level is 0.5 with one of 0.029.
    assert (levels < 0.95).sum() >= 89
    assert np.mean(levels) == pytest.approx(0.5, abs=0.09)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["motors", "thrusters"])
def test_true_numbers_of_actuators_are_in_the_ellipsoid(kind):
    procedure = find_procedure(kind, granite.load("free-flyer"))
    levels = np.array([repeat(procedure, seed).level for seed in range(1, 6)])
    assert (levels < 0.999).all()
    assert levels.max() > 0.2


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
    found = {number.key: value for number, value in zip(fit.numbers, fit.values, strict=True)}
    assert f"{key}.r2.thrust_n" not in found
    # Thrusts are those of the nozzles: the drawn thrust of the unit `r1` of the plant is that of the nozzle r3.
    assert found[f"{key}.r3.thrust_n"] == pytest.approx(operator.truth[f"{key}.r1.thrust_n"], abs=0.003)


@pytest.mark.slow
def test_a_motor_whose_joint_is_blocked_is_refused():
    motors = find_procedure("motors", granite.load("free-flyer"))
    blocked = {"modules.vehicle.joints.shoulder.friction_n_m": 0.5}
    operator = SimulatedOperator(motors, 1, blocked)
    with pytest.raises(InputError, match=r"joint shoulder turned by .* expected a joint that is free"):
        carry_out(motors, operator.bench, operator)
