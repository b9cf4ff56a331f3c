"""Whatever is wrong with a configuration is said in one sentence: file, key, value and what was expected."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from granite.config import loader
from granite.config.errors import InputError
from granite.config.loader import from_json, load, presets, to_json

PRESET = Path(loader.__file__).parent / "testbeds" / "free-flyer.toml"
JARGON = re.compile(r"pydantic|validation error|input should|http|type=|testbed\.|\btuple|\bdict\b|\n")


def complaint_about(bed: str, *overrides: str) -> str:
    """The sentence with which a bed is refused; every such sentence keeps the house rules."""
    with pytest.raises(InputError) as refusal:
        load(bed, overrides)
    sentence = str(refusal.value)
    assert sentence.startswith(f"{bed}: ") or (overrides and sentence.startswith(f"{bed} with --set "))
    said = sentence.removeprefix(bed).lower()
    assert not JARGON.search(said)
    return sentence


class Slip(NamedTuple):
    """A mistake in a file: `right` was meant, `wrong` stands there; then what the sentence must say."""

    right: str
    wrong: str
    key: str
    value: str
    expected: str


IN_FILE = {
    "a misspelt key": Slip(
        "period_s = 0.005", "perod_s = 0.005", "loop.perod_s", "= 0.005", "did you mean 'period_s'?"
    ),
    "a misspelt table": Slip("[safety]", "[safty]", "safty", "=", "did you mean 'safety'?"),
    "a key in grams": Slip(
        "mass_kg = 50.0",
        "mass_g = 50e3",
        "modules.vehicle.bodies.base.mass_g",
        "= 50000.0",
        "expected mass_kg,",
    ),
    "a key without its unit": Slip(
        "duration_s = 30.0", "duration = 30.0", "loop.duration", "= 30.0", "expected duration_s,"
    ),
    "a key in degrees where there are two of its kind": Slip(
        "tracking_error_rad = 0.6",
        "tracking_error_deg = 30",
        "safety.tracking_error_deg",
        "= 30",
        "expected tracking_error_m or tracking_error_rad,",
    ),
    "a missing key": Slip(
        "mass_kg = 50.0\n", "", "modules.vehicle.bodies.base.mass_kg", "is missing", "expected a number"
    ),
    "a missing name": Slip('name = "elbow"\n', "", "modules.vehicle.joints.1.name", "is missing", "expected text"),
    "a missing choice": Slip('dimension = "planar"\n', "", "modules.vehicle.dimension", "is missing", "'spatial'"),
    "a number in quotes with its unit": Slip(
        "mass_kg = 50.0",
        'mass_kg = "50 kg"',
        "modules.vehicle.bodies.base.mass_kg",
        '= "50 kg"',
        "expected a number",
    ),
    "a truth for a number": Slip(
        "mass_kg = 50.0",
        "mass_kg = true",
        "modules.vehicle.bodies.base.mass_kg",
        "= true",
        "expected a number",
    ),
    "a number for a truth": Slip(
        "resolve_delivered = true",
        "resolve_delivered = 1",
        "controller.resolve_delivered",
        "= 1",
        "expected true or false",
    ),
    "a date for a title": Slip(
        'title = "Single-arm free-flyer on',
        'title = 1987-05-01 # "',
        "title",
        "= 1987-05-01",
        "expected text",
    ),
    "a fraction for a whole number": Slip("seed = 1", "seed = 1.5", "seed", "= 1.5", "expected a whole number"),
    "a negative mass": Slip(
        "mass_kg = 50.0",
        "mass_kg = -50.0",
        "modules.vehicle.bodies.base.mass_kg",
        "= -50.0",
        "expected a number of at least 0",
    ),
    "an infinite mass": Slip(
        "mass_kg = 50.0",
        "mass_kg = inf",
        "modules.vehicle.bodies.base.mass_kg",
        "= inf",
        "expected a finite number",
    ),
    "inertia without mass": Slip(
        "mass_kg = 50.0",
        "mass_kg = 0.0",
        "modules.vehicle.bodies.base.inertia_kg_m2",
        "= 1.44",
        "expected 0, because the body has no mass",
    ),
    "no inertia": Slip(
        "inertia_kg_m2 = 1.44",
        "inertia_kg_m2 = 0",
        "modules.vehicle.bodies.base.inertia_kg_m2",
        "= 0",
        "expected moments greater than 0 for the root",
    ),
    "a negative inertia": Slip(
        "inertia_kg_m2 = 1.44",
        "inertia_kg_m2 = -1.44",
        "modules.vehicle.bodies.base.inertia_kg_m2",
        "= -1.44",
        "expected a number of at least 0",
    ),
    "an inertia in words": Slip(
        "inertia_kg_m2 = 1.44",
        'inertia_kg_m2 = "small"',
        "modules.vehicle.bodies.base.inertia_kg_m2",
        '= "small"',
        "expected a number",
    ),
    "an indefinite inertia": Slip(
        "inertia_kg_m2 = 1.44",
        "inertia_kg_m2 = [1, 1, 1, 1.1, 0, 0]",
        "modules.vehicle.bodies.base.inertia_kg_m2",
        "= [1, 1, 1, 1.1, 0, 0]",
        "no body has the principal moments -0.1, 1 and 2.1, expected none below 0",
    ),
    "an inertia that breaks the triangle inequality": Slip(
        "inertia_kg_m2 = 1.44",
        "inertia_kg_m2 = [1, 1, 2.1, 0, 0, 0]",
        "modules.vehicle.bodies.base.inertia_kg_m2",
        "= [1, 1, 2.1, 0, 0, 0]",
        "expected none greater than the sum of the other two",
    ),
    "a spatial inertia in a planar module": Slip(
        "inertia_kg_m2 = 1.44",
        "inertia_kg_m2 = [1, 1, 1, 0, 0, 0]",
        "modules.vehicle.bodies.base.inertia_kg_m2",
        "= [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]",
        "expected one number in a planar module",
    ),
    "a planar inertia in a spatial module": Slip(
        'dimension = "planar"',
        'dimension = "spatial"',
        "modules.vehicle.bodies.base.inertia_kg_m2",
        "= 1.44",
        "expected six numbers",
    ),
    "two joints that carry one body": Slip(
        'child = "forearm"',
        'child = "upper_arm"',
        "modules.vehicle.joints.elbow.child",
        '= "upper_arm": joint loop',
        "'shoulder' carries it too",
    ),
    "a body that carries itself": Slip(
        'parent = "upper_arm"',
        'parent = "forearm"',
        "modules.vehicle.joints",
        "joint loop through forearm",
        "expected a tree that starts at 'base'",
    ),
    "a loop without a root": Slip(
        "[[modules.points]]",
        '[[modules.joints]]\nname = "back"\nparent = "forearm"\nchild = "base"\n[[modules.points]]',
        "modules.vehicle.joints",
        "joint loop",
        "expected one that is not",
    ),
    "a joint on a body that is not there": Slip(
        'child = "forearm"',
        'child = "fourarm"',
        "modules.vehicle.joints.elbow.child",
        '= "fourarm"',
        "'forearm'?",
    ),
    "a body with the name of another": Slip(
        'name = "forearm"',
        'name = "upper_arm"',
        "modules.vehicle.bodies",
        "'upper_arm' occurs twice",
        "expected it once",
    ),
    "a name with capitals": Slip(
        'name = "forearm"',
        'name = "Forearm"',
        "modules.vehicle.bodies.Forearm.name",
        '= "Forearm"',
        "small letters",
    ),
    "a mass centre above the plane": Slip(
        "com_m = [0.025, 0.051]",
        "com_m = [0.025, 0.051, 0.2]",
        "modules.vehicle.bodies.base.com_m",
        "= [0.025, 0.051, 0.2]",
        "expected z = 0",
    ),
    "a joint above the plane": Slip(
        "origin_m = [0.24, 0.0]",
        "origin_m = [0.24, 0.0, 0.1]",
        "modules.vehicle.joints.shoulder.origin_m",
        "= [0.24, 0.0, 0.1]",
        "expected z = 0",
    ),
    "a point above the plane": Slip(
        'body = "forearm"\nposition_m = [0.30, 0.0]',
        'body = "forearm"\nposition_m = [0.30, 0.0, 0.1]',
        "modules.vehicle.points.tip.position_m",
        "= [0.3, 0.0, 0.1]",
        "expected z = 0",
    ),
    "gravity that presses on the table": Slip(
        'base = "floating"',
        'base = "floating"\ngravity_m_s2 = [0, 0, -9.81]',
        "modules.vehicle.gravity_m_s2",
        "= [0.0, 0.0, -9.81]",
        "expected z = 0",
    ),
    "a planar joint that turns about x": Slip(
        'child = "forearm"',
        'child = "forearm"\naxis = [1, 0, 0]',
        "modules.vehicle.joints.elbow.axis",
        "= [1.0, 0.0, 0.0]",
        "expected [0, 0, 1]",
    ),
    "a vector of four": Slip(
        "com_m = [0.025, 0.051]",
        "com_m = [1, 2, 3, 4]",
        "modules.vehicle.bodies.base.com_m",
        "= [1, 2, 3, 4]",
        "expected 2 (planar) or 3 (spatial)",
    ),
    "a word in a vector": Slip(
        "com_m = [0.025, 0.051]",
        'com_m = [0, "up"]',
        "modules.vehicle.bodies.base.com_m.1",
        '= "up"',
        "a number",
    ),
    "a thruster without a direction": Slip(
        'direction = [-1, 0], thrust_n = 1.0 },\n    { name = "r2"',
        'thrust_n = 1.0 },\n    { name = "r2"',
        "devices.thrusters.units.r1.direction",
        "is missing",
        "expected a list",
    ),
    "a thruster with a direction of zero length": Slip(
        'direction = [-1, 0], thrust_n = 1.0 },\n    { name = "r2"',
        'direction = [0, 0], thrust_n = 1.0 },\n    { name = "r2"',
        "devices.thrusters.units.r1.direction",
        "= [0, 0]",
        "expected a direction",
    ),
    "a thruster that pushes out of the plane": Slip(
        'direction = [-1, 0], thrust_n = 1.0 },\n    { name = "r2"',
        'direction = [-1, 0, 1], thrust_n = 1.0 },\n    { name = "r2"',
        "devices.thrusters.units.r1.direction",
        "= [-1.0, 0.0, 1.0]",
        "expected z = 0",
    ),
    "a thruster with the name of another": Slip(
        'name = "r2"', 'name = "r1"', "devices.thrusters.units", "'r1' occurs twice", "expected it once"
    ),
    "two motors on one joint": Slip(
        'joint = "elbow", torque',
        'joint = "shoulder", torque',
        "devices.motors.units",
        "'shoulder' occurs twice",
        "once",
    ),
    "a motor on no joint": Slip(
        'joint = "elbow", torque',
        'joint = "wrist", torque',
        "devices.motors.units.1.joint",
        '= "wrist"',
        "shoulder, elbow",
    ),
    "a joint that is sensed twice": Slip(
        'joints = ["shoulder", "elbow"]',
        'joints = ["elbow", "elbow"]',
        "devices.joint_sensors.joints",
        "'elbow' occurs twice",
        "expected it once",
    ),
    "no sensed joints": Slip(
        'joints = ["shoulder", "elbow"]', "joints = []", "devices.joint_sensors.joints", "= []", "at least 1"
    ),
    "a gain for nothing": Slip(
        "joints = { stiffness",
        "jionts = { stiffness",
        "controller.law.gains.jionts",
        "no such coordinate",
        "did you mean 'joints'?",
    ),
    "a gain in words": Slip(
        "stiffness_1_s2 = 100.0",
        'stiffness_1_s2 = "stiff"',
        "controller.law.gains.joints.stiffness_1_s2",
        '= "stiff"',
        "expected a number",
    ),
    "an unknown part": Slip(
        'modulation = "delta_sigma"',
        'modulation = "pwm"',
        "controller.allocation.modulation.kind",
        '= "pwm"',
        "pulse_width",
    ),
    "an unknown option of a part": Slip(
        'modulation = "delta_sigma"',
        'modulation = { kind = "threshold", treshold = 0.5 }',
        "controller.allocation.modulation.treshold",
        "= 0.5",
        "did you mean 'threshold'?",
    ),
    "an option of another part": Slip(
        'modulation = "delta_sigma"',
        'modulation = { kind = "threshold", pulse_period_s = 0.5 }',
        "controller.allocation.modulation.pulse_period_s",
        "= 0.5",
        "expected one of kind, threshold",
    ),
    "an option of a part out of its range": Slip(
        'modulation = "delta_sigma"',
        'modulation = { kind = "threshold", threshold = 1.5 }',
        "controller.allocation.modulation.threshold",
        "= 1.5",
        "less than 1",
    ),
    "an unknown kind of device": Slip(
        "[devices.vision]",
        "[devices.sonar]",
        "devices.sonar.kind",
        '= "sonar"',
        "vision",
    ),
    "an unknown option of a device": Slip(
        "latency_s = 0.035",
        "latency_ms = 35",
        "devices.vision.latency_ms",
        "= 35",
        "expected latency_s,",
    ),
    "an unknown fault of a device": Slip(
        "dropout_probability = 0.05",
        "drop_out = 0.05",
        "devices.vision.simulated.drop_out",
        "= 0.05",
        "dropout_probability",
    ),
    "an age of no sensor": Slip(
        "vision = 0.5 }",
        "camera = 0.5 }",
        "safety.age_s.camera",
        "no such sensor",
        "joint_sensors, vision",
    ),
    "an age beyond all runs": Slip(
        "vision = 0.5 }",
        "vision = 100.0 }",
        "safety.age_s.vision",
        "100",
        "60",
    ),
    "an offset of a joint that is not sensed": Slip(
        "[devices.vision.simulated]",
        "[devices.joint_sensors.simulated]\noffset_rad = { wrist = 0.001 }\n\n[devices.vision.simulated]",
        "devices.joint_sensors.simulated.offset_rad.wrist",
        "= 0.001",
        "shoulder, elbow",
    ),
    "a module that is not there": Slip(
        "[controller]",
        '[controller]\nmodules = ["vehicel"]',
        "controller.modules.0",
        '= "vehicel"',
        "'vehicle'?",
    ),
    "an object that is controlled": Slip(
        "[controller]",
        '[controller]\nmodules = ["vehicle"]\nobjects = ["vehicle"]',
        "controller.objects",
        "'vehicle' occurs twice",
        "expected it once",
    ),
    "thrusters on a fixed base": Slip(
        'base = "floating"', 'base = "fixed"', "devices.vision.module", "no module floats", "base = 'floating'"
    ),
    "an unknown kind of event": Slip(
        "[simulation]\n",
        "[simulation]\nevents = [{ kind = 'blow', at_s = 1 }]\n",
        "simulation.events.0.kind",
        '= "blow"',
        "push, payload, fault, drop_out",
    ),
    "an event without its time": Slip(
        "[simulation]\n",
        "[simulation]\nevents = [{ kind = 'drop_out', device = 'vision', duration_s = 1 }]\n",
        "simulation.events.0.at_s",
        "is missing",
        "expected a number",
    ),
    "an unknown key of an event": Slip(
        "[simulation]\n",
        "[simulation]\nevents = [{ kind = 'push', at_s = 1, body = 'base', duration = 1 }]\n",
        "simulation.events.0.duration",
        "= 1",
        "expected duration_s,",
    ),
    "a fault without its unit": Slip(
        "[simulation]\n",
        "[simulation]\nevents = [{ kind = 'fault', at_s = 1, device = 'thrusters', what = 'dead' }]\n",
        "simulation.events.0.unit",
        "is missing",
        "the name of a unit",
    ),
    "a waypoint in degrees": Slip(
        "elbow_rad = 1.4",
        "elbow_deg = 80",
        "behaviour.waypoints.0.target.elbow_deg",
        "= 80",
        "did you mean 'elbow_rad'?",
    ),
    "a start in an unknown coordinate": Slip(
        "base_y_m = 0.8", "base_z_m = 0.8", "simulation.initial.base_z_m", "= 0.8", "base_y_m"
    ),
    "a physics step above the period": Slip(
        "physics_step_s = 0.001",
        "physics_step_s = 0.01",
        "simulation.physics_step_s",
        "= 0.01",
        "expected at most loop.period_s = 0.005",
    ),
    "a physics step that does not divide the period": Slip(
        "physics_step_s = 0.001",
        "physics_step_s = 0.003",
        "simulation.physics_step_s",
        "= 0.003",
        "expected a whole number of steps in loop.period_s = 0.005",
    ),
    "a run shorter than a tick": Slip(
        "duration_s = 30.0",
        "duration_s = 0.001",
        "loop.duration_s",
        "= 0.001",
        "expected at least period_s = 0.005",
    ),
    "joint limits the wrong way round": Slip(
        "lower_rad = -2.6",
        "lower_rad = 2.7",
        "safety.joints.elbow.lower_rad",
        "= 2.7",
        "less than upper_rad = 2.6",
    ),
    "a residual of no coordinate": Slip(
        "monitor = { gate_sigma = 8.0, mean_innovation_sigma = 15.0, "
        "residual_torque_ratio = 0.01, torque_step_ratio = 0.5 }",
        "monitor = { residual_n = { base_heading = 0.1 } }",
        "safety.monitor.residual_n.base_heading",
        "no such coordinate",
        "base_x, base_y",
    ),
    "a joint with two limits": Slip(
        'joint = "elbow"\nlower',
        'joint = "shoulder"\nlower',
        "safety.joints",
        "'shoulder' occurs twice",
        "once",
    ),
    "a table inside out": Slip(
        "table_m = [0.3, 0.3, 3.36, 2.44]",
        "table_m = [4, 4, 0, 0]",
        "safety.table_m",
        "= [4.0, 4.0, 0.0, 0.0]",
        "below",
    ),
    "a table with three sides": Slip(
        "table_m = [0.3, 0.3, 3.36, 2.44]",
        "table_m = [0, 0, 1]",
        "safety.table_m.3",
        "is missing",
        "a number",
    ),
    "a probability of two": Slip(
        "dropout_probability = 0.05",
        "dropout_probability = 2",
        "devices.vision.simulated.dropout_probability",
        "= 2",
        "expected a number of at most 1",
    ),
    "a value where a table belongs": Slip(
        "valve = { delay_s = 0.004, rise_s = 0.003, minimum_on_s = 0.01 }",
        "valve = 4",
        "devices.thrusters.valve",
        "= 4",
        "expected a table",
    ),
    "variants that are no tables": Slip(
        "[variants.ideal]",
        "[variants]\nlazy = 3\n[variants.ideal]",
        "variants.lazy",
        "= 3",
        "expected a table of changes",
    ),
}


@pytest.mark.parametrize("slip", IN_FILE.values(), ids=IN_FILE)
def test_a_mistake_in_a_file_is_reported_in_one_sentence(slip: Slip, tmp_path: Path) -> None:
    text = PRESET.read_text()
    assert slip.right in text
    file = tmp_path / "bed.toml"
    file.write_text(text.replace(slip.right, slip.wrong, 1))
    sentence = complaint_about(str(file))
    assert f" {slip.key}" in sentence
    assert slip.value in sentence
    assert slip.expected in sentence


def test_one_mistake_counts_as_one(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    for right, wrong in (("mass_kg", "mass_g"), ("mass_kg", "mas_kg"), ("mass_kg = 50.0", "mass_kg = -1")):
        file.write_text(PRESET.read_text().replace(right, wrong, 1))
        assert "more)" not in complaint_about(str(file))


def test_several_mistakes_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_text(PRESET.read_text().replace("mass_kg = 1.0", "mass_kg = -1.0"))
    assert complaint_about(str(file)).endswith("(and 1 more)")


def test_a_syntax_error_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_text('name = "mine"\nseed 1\n')
    assert "not valid TOML" in complaint_about(str(file))
    assert "line 2" in complaint_about(str(file))


def test_a_bracket_left_open_is_reported_with_the_last_line(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_text('name = "mine"\nmodules = [\n1,\n')
    assert "line 3" in complaint_about(str(file))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_bytes(b"\xff\xfe\x00")
    assert "expected a TOML file" in complaint_about(str(file))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bed.toml"
    assert f"no such file '{path}', expected a TOML file, or a preset" in complaint_about(str(path))


def test_a_folder_is_not_readable_as_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "bed.toml"
    folder.mkdir()
    assert "not readable" in complaint_about(str(folder))


def test_the_refusal_of_an_empty_file_names_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_text("")
    assert "name is missing, expected text" in complaint_about(str(file))


def test_a_key_with_a_line_break_does_not_break_the_sentence(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_text('"two\\nlines" = 1\n' + PRESET.read_text())
    assert "two lines = 1: unknown key" in complaint_about(str(file))


def test_the_refusal_of_an_unknown_preset_names_the_nearest_one_and_where_the_others_are() -> None:
    assert f"expected 'free-flyer' (or one of {len(presets())}: granite list --all)" in complaint_about("free-flier")
    assert f"expected a preset (one of {len(presets())}: granite list --all)" in complaint_about("something-else")


def test_the_refusal_of_an_unknown_variant_names_the_known_ones() -> None:
    sentence = complaint_about("free-flyer/idle")
    assert "no variant 'idle', expected one of clean, harsh, payload, printed-inertias, ideal" in sentence


def test_a_variant_of_a_file_without_variants_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_text(PRESET.read_text().split("[variants.")[0])
    assert "no variant 'ideal', expected none" in complaint_about(f"{file}/ideal")


def test_a_variant_that_names_a_body_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_text(PRESET.read_text() + "[variants.heavy]\nmodules.vehicle.bodies.bse.mass_kg = 60\n")
    sentence = complaint_about(f"{file}/heavy")
    assert "variants.heavy.modules.vehicle.bodies: no 'bse'" in sentence
    assert "did you mean 'base'?" in sentence


OVERRIDES = {
    "without an equals sign": ("loop.period_s", "expected key=value"),
    "without a key": ("=0.005", "expected key=value"),
    "with an empty step in its key": ("loop..period_s=1", "expected key=value"),
    "of an unknown key": ("loop.periods=1", "loop.periods = 1: unknown key, expected one of period_s"),
    "in the wrong unit": ("loop.period_ms=5", "loop.period_ms = 5: unknown key, expected period_s,"),
    "of an unknown table": ("simulaton.table.ideal=true", "did you mean 'simulation'?"),
    "through a number": (
        "loop.period_s.x=1",
        "loop.period_s = 0.005: not a table, expected one that can hold 'x'",
    ),
    "through a number that the file leaves out": (
        "loop.spin_s.x=1",
        'loop.spin_s = {"x": 1}: expected a number',
    ),
    "of an unknown element": (
        "modules.vehicle.bodies.bse.mass_kg=1",
        "expected one of base, upper_arm, forearm",
    ),
    "of an element beyond the end": (
        "devices.motors.units.2.torque_limit_n_m=1",
        "no '2', expected one of shoulder, elbow",
    ),
    "of an element by a negative index": ("devices.motors.units.-1.torque_limit_n_m=1", "no '-1'"),
    "with a word for a number": ("loop.period_s=fast", 'loop.period_s = "fast": expected a number'),
    "with a truth for a number": ("loop.period_s=true", "loop.period_s = true: expected a number"),
    "with none where a value must be": ("loop.period_s=none", "loop.period_s = none: expected a number"),
    "of the variants": ("variants.ideal.seed=2", "variants = "),
    "with half of an optional table": (
        "devices.gripper={kind='thrusters', valve={delay_s=0.01}}",
        "devices.gripper.units is missing",
    ),
    "with a number beyond all bounds": ("loop.period_s=1" + "0" * 400, "loop.period_s = 1000"),
    "with a step beyond all smallness": (
        "simulation.physics_step_s=1e-320",
        "expected at least 0.0001 of loop.period_s",
    ),
}


@pytest.mark.parametrize(("override", "said"), OVERRIDES.values(), ids=OVERRIDES)
def test_a_bad_override_is_reported_in_one_sentence(override: str, said: str) -> None:
    sentence = complaint_about("free-flyer", override)
    assert f"--set {override}: " in sentence
    assert said in sentence


def test_a_mistake_in_a_stored_testbed_is_reported_with_its_key() -> None:
    stored = to_json(load("free-flyer")).replace('"period_s":0.005', '"period_s":-1')
    with pytest.raises(InputError, match=r"^run\.mcap: loop\.period_s = -1: expected a number of at least 1e-05$"):
        from_json(stored, source="run.mcap")


ODD_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1e308,
    float("nan"),
    float("inf"),
    10**400,
    "",
    "50 kg",
    [],
    [[]],
    {},
    {"x": {}},
]


def places_in(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of nested tables and lists."""
    keys = list(content) if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else []
    for key in keys:
        yield content, key
        yield from places_in(content[key])


@pytest.mark.parametrize(
    "odd",
    [pytest.param(odd, marks=pytest.mark.slow if i % 5 else (), id=str(odd)[:10]) for i, odd in enumerate(ODD_VALUES)],
)
def test_an_odd_value_anywhere_is_accepted_or_refused_in_one_sentence(odd: Any) -> None:
    content = json.loads(to_json(load("free-flyer")))
    sentences = []
    for container, key in list(places_in(content)):
        meant, container[key] = container[key], copy.deepcopy(odd)
        try:
            from_json(json.dumps(content))
        except InputError as refusal:
            sentences.append(str(refusal).lower())
        container[key] = meant
    assert sentences
    assert not [said for said in sentences if JARGON.search(said) or "another value" in said]
