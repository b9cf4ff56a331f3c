"""A URDF in a testbed: what the module, the variants, the guard and the motors take from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from granite.config.errors import InputError
from granite.config.loader import from_json, load, to_json

DOCUMENT = (Path(__file__).parents[2] / "docs" / "testbeds.md").read_text()
WRITTEN = re.findall(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)
DISC, DISC_MODULE = WRITTEN[0], next(block for block in WRITTEN if "urdf =" in block)
[DISC_URDF] = re.findall(r"```xml\n(.*?)```", DOCUMENT, re.DOTALL)


@pytest.fixture
def disc(tmp_path: Path) -> str:
    """The example of the document, with its robot in a URDF."""
    before, after = DISC.split("[[modules]]")[0], DISC[DISC.index("[devices.joint_sensors]") :]
    (tmp_path / "disc.toml").write_text(f"{before}{DISC_MODULE}\n{after}")
    (tmp_path / "disc.urdf").write_text(DISC_URDF)
    return str(tmp_path / "disc.toml")


def edit(bed: str, right: str, wrong: str) -> None:
    """Change the testbed, or the URDF beside it."""
    for file in (Path(bed), Path(bed).with_suffix(".urdf")):
        file.write_text(file.read_text().replace(right, wrong))


def test_the_robot_of_a_urdf_is_the_one_that_the_document_writes_out(disc: str, tmp_path: Path) -> None:
    (tmp_path / "written.toml").write_text(DISC)
    assert load(disc) == load(str(tmp_path / "written.toml"))


def test_what_is_stored_needs_no_urdf(disc: str) -> None:
    bed = load(disc)
    Path(disc).with_suffix(".urdf").unlink()
    assert "urdf" not in to_json(bed)
    assert from_json(to_json(bed)) == bed


def test_a_module_adds_to_what_its_urdf_gives(disc: str) -> None:
    more = """gravity_m_s2 = [0.1, 0]
    bodies = [{ name = "hook", mass_kg = 0.1, inertia_kg_m2 = 1e-4 }]
    joints = [{ name = "wrist", parent = "link", child = "hook", origin_m = [0.3, 0] }]
    points = [{ name = "rim", body = "base", position_m = [0, 0.2] }]"""
    edit(disc, 'urdf = "disc.urdf"', f'urdf = "disc.urdf"\n{more}')
    robot = load(disc).modules[0]
    assert robot.gravity_m_s2 == (0.1, 0.0)
    assert [b.name for b in robot.bodies] == ["base", "link", "hook"]
    assert [j.name for j in robot.joints] == ["hip", "wrist"]
    assert [p.name for p in robot.points] == ["tip", "rim"]


def test_variants_and_overrides_reach_into_the_robot_of_a_urdf(disc: str) -> None:
    assert load(f"{disc}/heavy").modules[0].root.mass_kg == 22.0
    assert load(f"{disc}/heavy").name == "disc/heavy"
    overrides = ["modules.vehicle.bodies.link.mass_kg=1", "modules.vehicle.joints.hip.origin_m=[0.2, 0]"]
    robot = load(disc, overrides).modules[0]
    assert robot.bodies[1].mass_kg == 1.0
    assert robot.joints[0].origin_m == (0.2, 0.0)


def test_an_override_chooses_another_urdf_whatever_stands_before_it(disc: str) -> None:
    other = DISC_URDF.replace('value="12.0"', 'value="13"').replace('value="0.8"', 'value="0.7"')
    (Path(disc).parent / "other.urdf").write_text(other)
    overrides = ["modules.vehicle.bodies.link.mass_kg=1", "modules.vehicle.urdf=other.urdf"]
    assert [b.mass_kg for b in load(disc, overrides).modules[0].bodies] == [13.0, 1.0]


def test_an_override_of_the_base_is_heeded_when_the_urdf_is_read(disc: str) -> None:
    edit(disc, '<mass value="12.0"/>', '<mass value="0"/>')
    edit(
        disc,
        'ixx="0.15" ixy="0" ixz="0" iyy="0.15" iyz="0" izz="0.2"',
        'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"',
    )
    with pytest.raises(InputError, match=r"link 'base': no mass, expected .* because a floating base moves it"):
        load(disc)
    standing = ["modules.vehicle.base=fixed", "devices.vision=none", "devices.thrusters=none", "behaviour.waypoints=[]"]
    standing.append("safety.age_s={}")
    assert load(disc, standing).modules[0].root.mass_kg == 1.0


LIMITED = '<axis xyz="0 0 1"/><limit lower="-1" upper="2" velocity="3" effort="4"/>'


def test_the_guard_watches_the_limits_of_the_urdf_where_the_testbed_has_none(disc: str) -> None:
    assert load(disc).safety.joints == ()
    edit(disc, '<axis xyz="0 0 1"/>', LIMITED)
    assert load(disc).safety.joints == ()
    edit(disc, "continuous", "revolute")
    [limit] = load(disc, ["safety.joints.hip.rate_rad_s=2.5"]).safety.joints
    assert (limit.joint, limit.lower_rad, limit.upper_rad, limit.rate_rad_s) == ("hip", -1.0, 2.0, 2.5)
    own = 'joints = [{ joint = "hip", lower_rad = -0.5, upper_rad = 0.5, rate_rad_s = 1.0 }]'
    edit(disc, "[safety]", f"[safety]\n{own}")
    [limit] = load(disc).safety.joints
    assert limit.upper_rad == 0.5


NO_MOTOR = ('[devices.motors]\nunits = [{ joint = "hip", torque_limit_n_m = 1.0 }]\n', "")


def test_an_effort_is_a_motor_where_the_testbed_has_none(disc: str) -> None:
    edit(disc, '<axis xyz="0 0 1"/>', LIMITED)
    assert [m.torque_limit_n_m for m in load(disc).motors] == [1.0]
    edit(disc, *NO_MOTOR)
    [motor] = load(disc).motors
    assert (motor.joint, motor.torque_limit_n_m) == ("hip", 4.0)
    [motor] = load(disc, ["devices.motors.units.hip.torque_limit_n_m=3"]).motors
    assert motor.torque_limit_n_m == 3.0
    assert load(disc, ["modules.vehicle.urdf_motors=false"]).motors == ()
    edit(disc, 'effort="4"', 'effort="0"')
    assert load(disc).motors == ()


def test_the_force_of_a_prismatic_joint_is_no_motor(disc: str) -> None:
    edit(disc, '<axis xyz="0 0 1"/>', LIMITED.replace('"0 0 1"', '"1 0 0"'))
    edit(disc, "continuous", "prismatic")
    edit(disc, *NO_MOTOR)
    bed = Path(disc).read_text()
    Path(disc).write_text(bed[: bed.index("[devices.joint_sensors]")] + "[simulation]\nphysics_step_s = 0.001\n")
    assert load(disc).modules[0].joints[0].kind == "prismatic"
    assert load(disc).motors == ()


PAIR = """
name = "pair"
title = "Two arms"
seed = 1
loop = { period_s = 0.01, duration_s = 1.0 }
simulation = { physics_step_s = 0.001 }

[[modules]]
name = "object"
dimension = "planar"
base = "floating"
bodies = [{ name = "box", mass_kg = 1.0, inertia_kg_m2 = 1.0 }]

[[modules]]
name = "left"
dimension = "planar"
base = "floating"
urdf = "disc.urdf"

[[modules]]
name = "right"
like = "left"
"""


def test_every_module_from_a_urdf_has_its_motors(disc: str) -> None:
    edit(disc, '<axis xyz="0 0 1"/>', LIMITED)
    Path(disc).write_text(PAIR)
    assert [m.joint for m in load(disc).motors] == ["left_hip", "right_hip"]
    edit(disc, 'like = "left"', 'like = "left"\nurdf_motors = false')
    assert [m.joint for m in load(disc).motors] == ["left_hip"]


def test_a_copy_with_other_joints_has_the_limits_of_none(disc: str) -> None:
    edit(disc, '<axis xyz="0 0 1"/>', LIMITED)
    joint = '{ name = "knee", parent = "base", child = "link" }'
    Path(disc).write_text(f"{PAIR}joints = [{joint}]\n")
    assert [m.joint for m in load(disc).motors] == ["left_hip"]


def test_limits_and_motors_of_a_controlled_module_have_its_name_where_there_are_several(disc: str) -> None:
    edit(disc, '<axis xyz="0 0 1"/>', LIMITED)
    edit(disc, "continuous", "revolute")
    edit(disc, *NO_MOTOR)
    edit(disc, 'joints = ["hip"]', 'joints = ["vehicle_hip"]')
    edit(disc, "target = { base_x_m = 0.5, hip_rad = 0.8 }", "target = { vehicle_hip_rad = 0.8 }")
    edit(disc, "[devices.joint_sensors]", f"[[modules]]{PAIR.split('[[modules]]')[2]}\n[devices.joint_sensors]")
    edit(disc, "[controller.estimator]", '[controller]\nmodules = ["vehicle"]\n\n[controller.estimator]')
    bed = load(disc, ["devices.vision.module=vehicle", "devices.thrusters.module=vehicle"])
    assert [m.name for m in bed.modules] == ["vehicle", "left"]
    assert [limit.joint for limit in bed.safety.joints] == ["vehicle_hip"]
    # The joints of a module that the controller does not know have neither.
    assert [m.joint for m in bed.motors] == ["vehicle_hip"]


def test_what_was_skipped_stands_in_the_note_of_the_testbed(disc: str) -> None:
    edit(disc, "</robot>", "<gazebo/></robot>")
    assert load(disc).note == "disc.urdf: skipped, without effect on the motion: <gazebo> (1)."
    edit(disc, 'name = "disc"\n', 'name = "disc"\nnote = "Ours."\n')
    assert load(disc).note == "Ours.\ndisc.urdf: skipped, without effect on the motion: <gazebo> (1)."


IN_TESTBED = {
    "a number for a file": (
        '"disc.urdf"',
        "3",
        "modules.vehicle.urdf = 3: expected text in quotes, the path to a URDF",
    ),
    "a file that is not there": ('"disc.urdf"', '"disk.urdf"', "disk.urdf: no such file, expected a URDF"),
    "a name that no file has": ('"disc.urdf"', '"\\u0000"', "not readable (embedded null byte), expected a URDF"),
    "no dimension": ('dimension = "planar"', "", "modules.vehicle.dimension = none: expected 'planar' or 'spatial'"),
    "an unknown base": ('base = "floating"', 'base = "loose"', "modules.vehicle.base = \"loose\": expected 'fixed' or"),
    "a mistake in the file": ('<mass value="0.8"/>', "", "disc.urdf: link 'link': <mass> is missing, expected"),
    "bodies that are no list": ('urdf = "', 'bodies = 3\nurdf = "', "modules.vehicle.bodies = 3: expected a list"),
    "a point of the same name": (
        'urdf = "',
        'points = [{ name = "tip", body = "base", position_m = [0, 0] }]\nurdf = "',
        "modules.vehicle.points: point 'tip' occurs twice, expected it once",
    ),
    "motors that are neither": (
        'urdf = "',
        'urdf_motors = 1\nurdf = "',
        "modules.vehicle.urdf_motors = 1: expected true or false",
    ),
    "motors of no file": (
        'urdf = "disc.urdf"',
        "urdf_motors = true\nbodies = [{ name = 'base', mass_kg = 1.0, inertia_kg_m2 = 1.0 }]",
        "modules.vehicle.urdf_motors = true: unknown key",
    ),
    "a note that is none": ('title = "', 'note = 3\ntitle = "', "note = 3: expected text"),
    "limits for nothing": ("[safety]", "[safety]\njoints = 3", "safety.joints = 3: expected a list"),
}


@pytest.mark.parametrize(("right", "wrong", "said"), IN_TESTBED.values(), ids=IN_TESTBED)
def test_a_mistake_about_the_urdf_is_reported_with_its_testbed(disc: str, right: str, wrong: str, said: str) -> None:
    edit(disc, right, wrong)
    with pytest.raises(InputError) as raised:
        load(disc)
    assert str(raised.value).startswith(f"{disc}: ")
    assert said in str(raised.value)


def test_a_mistake_in_an_override_of_the_urdf_is_reported_with_the_override(disc: str) -> None:
    with pytest.raises(
        InputError, match=r"with --set modules\.vehicle\.urdf=a\.urdf: modules\.vehicle\.urdf: .*no such"
    ):
        load(disc, ["modules.vehicle.urdf=a.urdf"])
    with pytest.raises(InputError, match=r"with --set modules\.arm\.urdf=a\.urdf: modules: no 'arm', expected vehicle"):
        load(disc, ["modules.arm.urdf=a.urdf"])
