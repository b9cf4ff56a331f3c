"""`granite calibrate`: a guided procedure gives a dated file and a plot, which a testbed names; refusals."""

import io
import re
import sys
import tomllib
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import granite as package
from granite.calibration.force import ForceProcedure
from granite.calibration.joints import JointsProcedure
from granite.calibration.procedure import BenchMeasurement
from granite.calibration.session import carry_out, file_content
from granite.calibration.simulated import SimulatedOperator
from granite.config.calibration import refuse_old, refuse_simulated
from granite.config.devices.response import Response
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.loader import from_json, to_json
from granite.config.records import Command
from granite.rt.devices import build_devices
from granite.tuning.toml_text import toml_text
from tests.support.command_line import granite, left_in, sentence_of

__all__ = ["granite"]
DAY = "2026-11-17"
FILE = f"calibrations/joints-{DAY}.toml"
KEY = "devices.joint_sensors.calibration"


@pytest.fixture(scope="module")
def content():
    """A calibration of the simulated free-flyer, as its file has it."""
    bed = package.load("free-flyer")
    joints = JointsProcedure(bed)
    operator = SimulatedOperator(joints, 4)
    fit = carry_out(joints, operator.bench, operator)
    return toml_text(file_content("joints", joints, bed, fit, date.fromisoformat(DAY), "", True))


@pytest.fixture
def calibrated(content, tmp_path, monkeypatch):
    """Its file in the current directory."""
    monkeypatch.chdir(tmp_path)
    Path("calibrations").mkdir()
    Path(FILE).write_text(content)


def test_a_simulated_calibration_says_each_step_and_writes_file_and_plot(granite, tmp_path):
    calibrated = granite("calibrate", "free-flyer", "joints", "--simulate", "--date", DAY, "--seed", 4)
    assert "step 22 of 22: turn joint elbow to 2.34 rad" in calibrated.err
    assert "mean of 100 frames" in calibrated.err
    assert f'calibration = "{FILE}" in [devices.joint_sensors]' in calibrated.out
    assert left_in(tmp_path) == ["calibrations", f"calibrations/joints-{DAY}.png", FILE]
    content = tomllib.loads(Path(FILE).read_text())
    assert (content["kind"], content["of"]) == ("joints", "devices.joint_sensors")
    assert (content["date"], content["samples"], content["simulated"]) == (DAY, 22, True)
    assert all(value["deviation"] > 0 and value["unit"] for value in content["values"])


def test_a_testbed_takes_the_values_and_its_log_contains_the_file(calibrated):
    bed = package.load("free-flyer", [f"{KEY}={FILE}", "loop.duration_s=0.05"])
    numbers = {value["key"]: value["value"] for value in tomllib.loads(Path(FILE).read_text())["values"]}
    response = bed.devices["joint_sensors"].response["elbow"]
    assert response.scale == numbers["devices.joint_sensors.response.elbow.scale"]
    stored = from_json(to_json(bed)).devices["joint_sensors"].calibration[0]  # as in a log
    assert (stored.date, stored.samples, len(stored.values)) == (DAY, 22, 6)
    # A value that is typed replaces the calibrated one.
    typed = package.load("free-flyer", [f"{KEY}={FILE}", "devices.joint_sensors.response.elbow.scale=1.5"])
    assert typed.devices["joint_sensors"].response["elbow"].scale == 1.5


def test_a_calibrated_sensor_measures_the_true_angle(calibrated):
    """The plant has the response that was drawn; without its calibration the estimate is wrong by its offset."""
    truth = SimulatedOperator(JointsProcedure(package.load("free-flyer")), 4).truth
    plant = {f"simulation.plant.{key}": value for key, value in truth.items()}
    errors = []
    for changes in ([], [f"{KEY}={FILE}"]):
        bed = package.load("free-flyer", changes).with_changes({**plant, "devices.joint_sensors.simulated": {}})
        devices, lab = build_devices(bed)
        [angles] = [frame.values[:2] for frame in devices.read(0.0).frames if len(frame.values) == 4]
        errors.append(np.abs(angles - lab.plant.q[3:5]).max())
    assert errors[0] > 0.01
    assert errors[1] < 1.5e-3  # noise and steps of the converter


def test_calibrations_that_do_not_fit_are_refused_by_name(calibrated, granite, tmp_path):
    run = ("sim", "free-flyer", "--duration", 0.01)
    assert "no such file" in sentence_of(granite(*run, "--set", f"{KEY}=other.toml"))
    other = sentence_of(granite(*run, "--set", f"devices.motors.calibration={FILE}"))
    assert "devices.motors.calibration" in other
    assert "another device, devices.joint_sensors" in other
    model = sentence_of(granite(*run, "--set", f"{KEY}={FILE}", "--set", "devices.joint_sensors.converter_bits=12"))
    assert "fitted on another model, devices.joint_sensors has changed" in model
    variant = ("sim", "free-flyer/ideal", "--duration", 0.01)
    model = sentence_of(granite(*variant, "--set", f"{KEY}={FILE}", "--set", "devices.joint_sensors.converter_bits=12"))
    assert "a new one: granite calibrate free-flyer/ideal joints without this key" in model  # as it was typed
    old = Path(FILE).read_text().replace(DAY, "2024-02-29")
    Path("old.toml").write_text(old)
    for command in (run, ("rehearse", "free-flyer"), ("run", "free-flyer")):
        assert "days old (2024-02-29), expected at most 365 days" in sentence_of(
            granite(*command, "--set", f"{KEY}=old.toml")
        )
    Path("old.toml").write_text(old.replace("samples = 22", "samples = 0"))
    assert "not a calibration (samples" in sentence_of(granite(*run, "--set", f"{KEY}=old.toml"))
    own = Path(FILE).read_text()
    Path("old.toml").write_text(own.replace('key = "devices.joint_sensors.', 'key = "loop.', 1))
    assert "not a calibration (values.0.key" in sentence_of(granite(*run, "--set", f"{KEY}=old.toml"))
    Path("old.toml").write_text(re.sub(r"(\[fitted_on\]\n)[^\[]*", r"\1", own))
    assert "not a calibration (fitted_on" in sentence_of(granite(*run, "--set", f"{KEY}=old.toml"))
    Path("old.toml").write_text("samples =")
    assert "not valid TOML" in sentence_of(granite(*run, "--set", f"{KEY}=old.toml"))
    assert not (tmp_path / "runs").exists()


def test_real_devices_refuse_a_calibration_of_the_simulated_plant(calibrated):
    bed = package.load("free-flyer", [f"{KEY}={FILE}"])
    refuse_simulated(bed, ["thrusters"])
    with pytest.raises(InputError, match="measured on the simulated plant"):
        refuse_simulated(bed, ["joint_sensors"])


def test_age_counts_from_the_day_of_the_file(calibrated):
    bed = package.load("free-flyer", [f'{KEY}={{ file = "{FILE}", max_age_days = 30 }}'])
    refuse_old(bed, date(2026, 12, 17))
    with pytest.raises(InputError, match="31 days old"):
        refuse_old(bed, date(2026, 12, 18))
    with pytest.raises(InputError, match="a day before 2026-11-01"):
        refuse_old(bed, date(2026, 11, 1))


def test_bad_input_is_refused_in_one_sentence_and_nothing_is_written(granite, tmp_path, monkeypatch):
    simulated = ("--simulate", "--date", DAY)
    assert "no force gauges" in sentence_of(granite("calibrate", "free-flyer", "force", *simulated))
    assert "no such calibration" in sentence_of(granite("calibrate", "free-flyer", "forces", *simulated))
    assert "no such device" in sentence_of(granite("calibrate", "free-flyer", "joints", "--device", "x", *simulated))
    assert "a day such as" in sentence_of(granite("calibrate", "free-flyer", "joints", "--date", "monday"))
    missing = sentence_of(granite("calibrate", "free-flyer", "joints", "--date", DAY))
    assert "driver is missing, expected the driver of the real device, or --simulate\n" in missing
    assert left_in(tmp_path) == []
    Path("here.toml").write_text("mine")
    assert "'here.toml' exists" in sentence_of(
        granite("calibrate", "free-flyer", "joints", *simulated, "--out", "here.toml")
    )
    assert Path("here.toml").read_text() == "mine"
    assert left_in(tmp_path) == ["here.toml"]


def test_an_answer_that_is_no_number_is_refused(granite, tmp_path, monkeypatch):
    """On a device of its own whose driver needs no hardware."""
    bed = Path(package.__file__).parents[1] / "config/testbeds/free-flyer.toml"
    Path("own.py").write_text(_DRIVER)
    driver = '[devices.joint_sensors]\ndriver = "own.py:Constant"'
    Path("my.toml").write_text(bed.read_text().replace("[devices.joint_sensors]", driver, 1))
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n\nhalf\n"))
    said = granite("calibrate", "my.toml", "joints", "--date", DAY)
    assert said.code == 2
    assert 'angle of shoulder = "half": expected a number [rad]' in said.err
    assert left_in(tmp_path) == ["my.toml", "own.py"]


def test_measurements_that_do_not_determine_the_numbers_are_refused():
    gauges = ForceProcedure(package.load("fixed-dual-arm/carry-gauges"))
    along_x = [step for step in gauges.steps if step.known_values[1].planned == 0]
    values = [BenchMeasurement(s, np.array([k.planned for k in s.known_values]), np.zeros(2), "") for s in along_x]
    with pytest.raises(InputError, match="the loads do not determine the matrix, expected loads along every axis"):
        gauges.fit(values)
    joints = JointsProcedure(package.load("free-flyer"))
    same = [BenchMeasurement(s, np.array([0.1]), np.array([0.1]), "") for s in joints.steps]
    with pytest.raises(InputError, match="1 different angles of joint shoulder, expected 4 or more"):
        joints.fit(same)


@pytest.mark.slow
def test_a_flight_calibrates_mass_and_inertia_of_the_base(granite):
    heavy = "simulation.plant.modules.vehicle.bodies.base.mass_kg=53"
    granite("sim", "free-flyer", "--duration", 30, "--set", heavy, "--out", "flight.mcap")
    other = ("calibrate", "free-flyer", "joints", "--log", "flight.mcap", "--date", DAY)
    assert "not used here" in sentence_of(granite(*other))
    changed = ("--set", "devices.thrusters.units.r1.thrust_n=2", "--date", DAY)
    said = granite("calibrate", "free-flyer", "inertia", "--log", "flight.mcap", *changed)
    assert "it flew with another devices.thrusters" in sentence_of(said)
    said = granite("calibrate", "free-flyer", "inertia", "--log", "flight.mcap", "--date", DAY)
    assert "in the module vehicle" in said.out
    file = f"modules.vehicle.calibration=calibrations/inertia-{DAY}.toml"
    base = package.load("free-flyer", [file]).modules[0].bodies[0]
    assert base.mass_kg == pytest.approx(53, abs=0.6)
    assert base.com_m == pytest.approx((0.025, 0.051), abs=1e-3)
    refused = granite("sim", "free-flyer", "--set", file, "--set", "modules.vehicle.bodies.forearm.mass_kg=2")
    assert "fitted on another model, modules.vehicle.bodies has changed" in sentence_of(refused)


def test_calibrated_thrusts_take_the_place_of_a_common_one():
    units = [{"name": "a", "position_m": [0, 1], "direction": [1, 0], "thrust_n": 1.1}]
    table = {"kind": "thrusters", "thrust_n": 1.0, "units": units}
    with pytest.raises(ValueError, match="every unit has its own"):
        Thrusters.model_validate(table)
    value = {"key": "devices.thrusters.units.a.thrust_n", "value": 1.1, "deviation": 0.01, "unit": "N"}
    head = {"file": "f", "kind": "thrusters", "of": "devices.thrusters", "date": DAY, "testbed": "b", "samples": 6}
    calibration = {**head, "fitted_on": {"devices.thrusters": "0"}, "values": [value]}
    assert Thrusters.model_validate({**table, "calibration": [calibration]}).units[0].thrust_n == 1.1


def test_a_calibrated_motor_gives_the_torque_that_is_asked_for():
    bed = package.load("free-flyer", {"devices.motors.torque_gain": {"elbow": 0.8}})
    devices, lab = build_devices(bed)
    command = [np.array(device.initial(bed), dtype=float) for device in bed.actuators.values()]
    motors = list(bed.actuators).index("motors")
    command[motors][:] = 0.1, 0.2
    frame = devices.write(0.0, Command(0.0, tuple(command), np.zeros(8)))[motors]
    assert frame.values == pytest.approx([0.1, 0.2])
    [source] = lab.plant.torque_sources
    assert source.torque == pytest.approx([0.1, 0.2])


def test_an_uncalibrated_testbed_has_its_devices_themselves():
    devices = build_devices(package.load("free-flyer"))[0].all()
    assert type(devices["joint_sensors"]).__name__ == "SimulatedJointSensors"
    assert type(devices["motors"]).__name__ == "SimulatedMotors"


@pytest.mark.parametrize("gain", [0.98, 1.05])
def test_a_response_is_inverted(gain):
    talk = np.array([[gain, 0.04], [-0.03, 1.02]])
    response = Response(np.array([0.2, -0.1]), talk, np.array([0.01, -0.02]), np.array([20.0, 20.0]))
    x = np.array([13.0, -17.0])
    assert response.value(response.reading(x)) == pytest.approx(x, abs=1e-5)
    step = 1e-6 * np.array([1.0, 0.0])
    slope = (response.reading(x + step) - response.reading(x - step))[0] / 2e-6
    assert response.slope(x)[0] == pytest.approx(slope, rel=1e-6)


_DRIVER = """
import numpy as np
from granite.config.records import Frame, Status


class Constant:
    def __init__(self, options, name, bed):
        self.number = 0

    def open(self):
        pass

    def close(self):
        pass

    def read(self, t):
        self.number += 1
        return Frame(t, self.number, int(Status.OK), np.zeros(4))
"""
