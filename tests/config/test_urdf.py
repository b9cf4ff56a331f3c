"""A module read from URDF: what becomes of links and joints, and what is refused in one sentence."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from pydantic import ValidationError

from granite.config.errors import InputError
from granite.config.loader import from_json, load, to_json
from granite.config.modules import Module
from granite.config.urdf import Robot, read_urdf

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="grey"/>
  <link name="world"/>
  <joint name="bolt" type="fixed">
    <parent link="world"/>
    <child link="stand"/>
  </joint>
  <link name="stand">
    <visual><geometry><sphere radius="0.1"/></geometry></visual>
  </link>
  <joint name="Shoulder-Pan" type="revolute">
    <parent link="stand"/>
    <child link="upper"/>
    <origin xyz="0 0 0.4" rpy="0 0 0.1"/>
    <axis xyz="0 0 2"/>
    <limit lower="-1.5" upper="2" velocity="3" effort="20"/>
    <dynamics damping="0" friction="0.0"/>
  </joint>
  <link name="upper">
    <inertial>
      <origin xyz="0.2 0 0" rpy="0 0 1.5707963267948966"/>
      <mass value="2"/>
      <inertia ixx="0.04" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.05"/>
    </inertial>
  </link>
  <joint name="extension" type="prismatic">
    <parent link="upper"/>
    <child link="fore"/>
    <origin xyz="0.3 0 0.02"/>
    <limit lower="0" upper="0.2" velocity="0.5" effort="30"/>
  </joint>
  <link name="fore">
    <inertial>
      <origin xyz="0.1 0 0"/>
      <mass value="1"/>
      <inertia ixx="0.01" ixy="0.001" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>
    </inertial>
  </link>
  <joint name="glue" type="fixed">
    <parent link="fore"/>
    <child link="tip"/>
    <origin xyz="0.2 0.1 0" rpy="0 0 0.5"/>
  </joint>
  <link name="tip">
    <inertial>
      <mass value="0.5"/>
      <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>
    </inertial>
  </link>
  <transmission name="belt"/>
</robot>
"""
JARGON = ("xml.etree", "element tree", "traceback", "http", "<class", "\n")


def read(tmp_path: Path, text: str | bytes = ARM, dimension: Any = "spatial", base: Any = "fixed") -> Robot:
    file = tmp_path / "arm.urdf"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_urdf(file, dimension, base)


def refusal(tmp_path: Path, text: str | bytes, dimension: str = "spatial", base: str = "fixed") -> str:
    """The sentence with which a file is refused; every one names the file and what was expected."""
    with pytest.raises(InputError) as raised:
        read(tmp_path, text, dimension, base)
    return keeps_the_rules(str(raised.value), tmp_path)


def keeps_the_rules(sentence: str, tmp_path: Path) -> str:
    assert sentence.startswith(f"{tmp_path / 'arm.urdf'}: ")
    assert "expected" in sentence
    said = sentence.removeprefix(str(tmp_path)).lower()
    assert not [word for word in JARGON if word in said]
    return sentence


def module(robot: Robot, dimension: str, base: str) -> Module:
    table = {key: robot[key] for key in ("bodies", "joints", "points")}  # type: ignore[literal-required]
    return Module.model_validate({"name": "arm", "dimension": dimension, "base": base, **table})


def complaint(robot: Robot, dimension: str = "spatial", base: str = "fixed") -> str:
    """Why the robot makes no module; nothing if it does."""
    try:
        module(robot, dimension, base)
    except ValidationError as refused:
        return str(refused.errors()[0]["ctx"]["error"])
    return ""


@pytest.mark.parametrize("dimension", ["planar", "spatial"])
def test_links_that_move_become_bodies_and_fixed_ones_points(tmp_path: Path, dimension: str) -> None:
    robot = read(tmp_path, dimension=dimension)
    assert [b["name"] for b in robot["bodies"]] == ["world", "upper", "fore"]
    assert [(j["name"], j["kind"], j["parent"], j["child"]) for j in robot["joints"]] == [
        ("shoulder_pan", "revolute", "world", "upper"),
        ("extension", "prismatic", "upper", "fore"),
    ]
    assert [(p["name"], p["body"]) for p in robot["points"]] == [("stand", "world"), ("tip", "fore")]
    module(robot, dimension, "fixed")


def test_numbers_pass_unchanged_and_axes_have_unit_length(tmp_path: Path) -> None:
    shoulder, extension = read(tmp_path)["joints"]
    assert shoulder["origin_m"] == [0.0, 0.0, 0.4]
    assert shoulder["rotation_rad"] == [0.0, 0.0, 0.1]
    assert shoulder["axis"] == [0.0, 0.0, 1.0]
    assert extension["axis"] == [1.0, 0.0, 0.0]


def test_the_inertia_tensor_is_turned_into_the_axes_of_the_link(tmp_path: Path) -> None:
    upper = read(tmp_path)["bodies"][1]
    assert upper["com_m"] == [0.2, 0.0, 0.0]
    np.testing.assert_allclose(upper["inertia_kg_m2"], [0.03, 0.04, 0.05, 0, 0, 0], atol=1e-17)


@pytest.mark.parametrize("dimension", ["planar", "spatial"])
def test_a_fixed_link_is_lumped_into_the_one_that_carries_it(tmp_path: Path, dimension: str) -> None:
    fore = read(tmp_path, dimension=dimension)["bodies"][2]
    # 1 kg at (0.1, 0, 0) and 0.5 kg at (0.2, 0.1, 0): reduced mass 1/3 kg, distance (0.1, 0.1, 0)
    assert fore["mass_kg"] == 1.5
    np.testing.assert_allclose(fore["com_m"][:2], [0.2 / 1.5, 0.05 / 1.5], atol=1e-15)
    lumped = [0.01 + 0.01 / 3, 0.01 + 0.01 / 3, 0.01 + 0.02 / 3, 0.001 - 0.01 / 3, 0, 0]
    np.testing.assert_allclose(fore["inertia_kg_m2"], lumped[2] if dimension == "planar" else lumped, atol=1e-15)


def test_a_base_without_mass_gets_a_nominal_one_where_it_stands(tmp_path: Path) -> None:
    world = read(tmp_path)["bodies"][0]
    assert (world["mass_kg"], world["com_m"]) == (1.0, [0.0, 0.0, 0.0])


def test_a_base_without_mass_is_refused_where_it_floats(tmp_path: Path) -> None:
    assert "link 'world': no mass, expected an <inertial> with one, for a floating base" in refusal(
        tmp_path, ARM, base="floating"
    )


def test_limits_are_given_with_their_units(tmp_path: Path) -> None:
    assert read(tmp_path)["limits"] == {
        "shoulder_pan": {"lower_rad": -1.5, "upper_rad": 2.0, "rate_rad_s": 3.0, "torque_n_m": 20.0},
        "extension": {"lower_m": 0.0, "upper_m": 0.2, "rate_m_s": 0.5, "force_n": 30.0},
    }


def test_a_continuous_joint_turns_without_bounds(tmp_path: Path) -> None:
    robot = read(tmp_path, ARM.replace('type="revolute"', 'type="continuous"'))
    assert robot["joints"][0]["kind"] == "revolute"
    assert robot["limits"]["shoulder_pan"] == {"rate_rad_s": 3.0, "torque_n_m": 20.0}


def test_limits_of_zero_as_exporters_write_them_are_none(tmp_path: Path) -> None:
    text = re.sub(r'<limit lower="-1.5".*/>', '<limit lower="0" upper="0" velocity="0" effort="0"/>', ARM)
    assert "shoulder_pan" not in read(tmp_path, text)["limits"]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("Fore", "fore"), ("FORE.arm-2", "fore_arm_2"), ("2f fore", "link_2f_fore"), ("_fore", "link__fore")],
)
def test_names_become_small_letters_digits_and_underscores(tmp_path: Path, theirs: str, ours: str) -> None:
    robot = read(tmp_path, ARM.replace('"fore"', f'"{theirs}"'))
    assert robot["bodies"][2]["name"] == ours
    module(robot, "spatial", "fixed")


def test_a_planar_robot_may_have_its_frames_on_their_sides_by_a_rounded_quarter_turn(tmp_path: Path) -> None:
    upright = read(tmp_path, dimension="planar")
    text = ARM.replace('rpy="0 0 0.1"', 'rpy="1.5708 0 0.1"').replace('xyz="0 0 2"', 'xyz="0 2 0"')
    lying = read(tmp_path, text.replace('"0.3 0 0.02"', '"0.3 0.02 0" rpy="-1.5708 0 0"'), "planar")
    for mine, theirs in zip(lying["joints"], upright["joints"], strict=True):
        for key in ("origin_m", "rotation_rad", "axis"):
            assert mine[key] == pytest.approx(theirs[key], abs=1e-5)
    module(lying, "planar", "fixed")


def test_the_heading_of_a_planar_body_is_that_of_its_y_axis_where_its_x_axis_stands_upright(tmp_path: Path) -> None:
    text = ARM.replace('rpy="0 0 0.1"', 'rpy="0 1.5707963267948966 0.1"').replace('xyz="0 0 2"', 'xyz="-2 0 0"')
    text = text.replace('<origin xyz="0.3 0 0.02"/>', '<origin xyz="0.02 0.3 0"/><axis xyz="0 1 0"/>')
    shoulder, extension = read(tmp_path, text, "planar")["joints"]
    np.testing.assert_allclose(shoulder["rotation_rad"], [0, 0, 0.1], atol=1e-15)
    np.testing.assert_allclose(extension["origin_m"], [0, 0.3], atol=1e-15)
    np.testing.assert_allclose(extension["axis"], [0, 1], atol=1e-15)


class Slip(NamedTuple):
    """A mistake in the file: `right` was meant, `wrong` stands there, and the sentence must say this."""

    right: str
    wrong: str
    said: str


SLIPS = {
    "a mimic joint": Slip(
        '<axis xyz="0 0 2"/>',
        '<axis xyz="0 0 2"/><mimic joint="glue"/>',
        "joint 'Shoulder-Pan': <mimic> is not supported",
    ),
    "a floating joint": Slip(
        'type="revolute"',
        'type="floating"',
        "joint 'Shoulder-Pan': type = \"floating\": expected base = 'floating' in the module's table and no such joint",
    ),
    "a planar joint": Slip(
        'type="revolute"',
        'type="planar"',
        "joint 'Shoulder-Pan': type = \"planar\": expected two prismatic joints and a revolute one",
    ),
    "a ball joint": Slip(
        'type="revolute"', 'type="ball"', "joint 'Shoulder-Pan': type = \"ball\": expected one of fixed, revolute"
    ),
    "a joint of no kind": Slip(' type="revolute"', "", "joint 'Shoulder-Pan': type = none: expected"),
    "negative damping": Slip(
        'damping="0"',
        'damping="-0.1"',
        "joint 'Shoulder-Pan': dynamics damping = -0.1: expected a number of at least 0",
    ),
    "friction in words": Slip(
        'friction="0.0"',
        'friction="low"',
        "joint 'Shoulder-Pan': dynamics friction = \"low\": expected a finite number",
    ),
    "a spring": Slip(
        'friction="0.0"',
        'spring_stiffness="9"',
        "joint 'Shoulder-Pan': dynamics spring_stiffness = 9: not supported, expected 0 or no such attribute",
    ),
    "a loop": Slip(
        '<material name="grey"/>',
        "<loop_joint/>",
        "robot: <loop_joint> is not supported, expected none, for it changes how the robot moves",
    ),
    "an element of xacro": Slip(
        '<material name="grey"/>',
        '<x:macro xmlns:x="http://www.ros.org/wiki/xacro"/>',
        "robot: <macro> is a part of xacro, expected a file that xacro has expanded",
    ),
    "a rotor that is nobody's": Slip(
        '<axis xyz="0 0 2"/>', "<rotor_inertia/>", "joint 'Shoulder-Pan': <rotor_inertia> is not supported"
    ),
    "an orientation in quaternions": Slip(
        'rpy="0 0 0.1"',
        'quat_xyzw="0 0 0 1"',
        "joint 'Shoulder-Pan': origin quat_xyzw = \"0 0 0 1\": not supported, expected xyz and rpy",
    ),
    "a negative mass": Slip(
        '<mass value="2"/>', '<mass value="-2"/>', "link 'upper': mass value = -2: expected a number of at least 0"
    ),
    "inertia without mass": Slip(
        '<mass value="2"/>',
        '<mass value="0"/>',
        "link 'upper' with all that is fixed to it: no mass, expected some where there is inertia",
    ),
    "no mass in an inertial": Slip(
        '<mass value="2"/>', "", "link 'upper': <mass> is missing, expected one in <inertial>"
    ),
    "half an inertia": Slip(
        ' iyz="0" izz="0.05"', ' izz="0.05"', "link 'upper': inertia iyz is missing, expected a finite"
    ),
    "an inertia that breaks the triangle inequality": Slip(
        'izz="0.05"',
        'izz="0.5"',
        "link 'upper' with all that is fixed to it: no body has the principal moments 0.03, 0.04 and 0.5, expected "
        "none greater than the sum of the other two",
    ),
    "an indefinite inertia": Slip(
        'ixy="0.001"', 'ixy="0.1"', "link 'fore' with all that is fixed to it: no body has the principal moments -0.08"
    ),
    "an axis of zero length": Slip(
        'xyz="0 0 2"', 'xyz="0 0 0"', "joint 'Shoulder-Pan': axis xyz = [0.0, 0.0, 0.0]: expected a direction"
    ),
    "an axis of two": Slip(
        'xyz="0 0 2"', 'xyz="0 2"', "joint 'Shoulder-Pan': axis xyz = \"0 2\": expected 3 finite numbers"
    ),
    "an infinite place": Slip(
        'xyz="0 0 0.4"', 'xyz="0 0 inf"', "joint 'Shoulder-Pan': origin xyz = \"0 0 inf\": expected 3 finite numbers"
    ),
    "a mass in words": Slip(
        '<mass value="2"/>', '<mass value="2 kg"/>', "link 'upper': mass value = \"2 kg\": expected a finite number"
    ),
    "limits the wrong way round": Slip(
        'lower="-1.5"', 'lower="2.5"', "joint 'Shoulder-Pan': limit lower = 2.5: expected at most upper = 2"
    ),
    "a negative effort": Slip('effort="20"', 'effort="-20"', "joint 'Shoulder-Pan': limit effort = -20: expected"),
    "a link that is not there": Slip(
        '<parent link="stand"/>',
        '<parent link="stant"/>',
        "joint 'Shoulder-Pan': parent link = \"stant\": no such link, expected one of world, stand, upper, fore, tip "
        "(did you mean 'stand'?)",
    ),
    "a joint without a child": Slip(
        '<child link="upper"/>', "", "joint 'Shoulder-Pan': <child> is missing, expected one in <joint>"
    ),
    "two joints that carry one link": Slip(
        '<child link="stand"/>', '<child link="tip"/>', "joint 'glue': child link = 'tip': joint loop"
    ),
    "two roots": Slip(
        '<link name="upper">',
        '<link name="upper"/><link name="spare">',
        "two roots or more, no joint carries world, spare",
    ),
    "a loop beside the root": Slip(
        '<parent link="stand"/>', '<parent link="fore"/>', "joint loop through fore, tip, upper, expected a tree that"
    ),
    "a loop without a root": Slip(
        '<link name="tip">',
        '<joint name="back" type="fixed"><parent link="tip"/><child link="world"/></joint><link name="tip">',
        "joint loop, a joint carries every link, expected one link without",
    ),
    "a link twice": Slip(
        '<link name="world"/>', '<link name="world"/><link name="world"/>', "link 'world' is there twice"
    ),
    "a joint twice": Slip('name="glue"', 'name="bolt"', "joint 'bolt' is there twice, expected it once"),
    "two names that become one": Slip(
        '<link name="world"/>',
        '<link name="World"/><link name="world"/>',
        "link 'world': becomes 'world' as 'World' does",
    ),
    "a link without a name": Slip('<link name="world"/>', "<link/>", "<link> number 1: name is missing, expected one"),
    "two places for one joint": Slip(
        '<axis xyz="0 0 2"/>',
        "<origin/>",
        "joint 'Shoulder-Pan': <origin> is there 2 times, expected it once in <joint>",
    ),
    "another kind of file": Slip("robot", "model", "<model>: expected <robot> as the outermost element"),
    "an element left open": Slip('<link name="world"/>', '<link name="world">', "not valid XML, line "),
}


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
def test_what_is_wrong_or_not_supported_is_told_in_one_sentence(slip: Slip, tmp_path: Path) -> None:
    assert slip.right in ARM
    count = -1 if slip.right == "robot" else 1
    assert slip.said in refusal(tmp_path, ARM.replace(slip.right, slip.wrong, count))


def without_inertial(link: str) -> str:
    robot = ElementTree.fromstring(ARM)
    for element in robot.iterfind(f"link[@name='{link}']"):
        element.clear()
        element.set("name", link)
    return ElementTree.tostring(robot, encoding="unicode")


def test_a_moving_link_without_mass_is_a_frame_between_joints(tmp_path: Path) -> None:
    robot = read(tmp_path, without_inertial("upper"))
    assert (robot["bodies"][1]["mass_kg"], robot["bodies"][1]["inertia_kg_m2"]) == (0.0, [0.0] * 6)
    module(robot, "spatial", "fixed")


def test_joints_that_move_no_mass_are_refused_by_name(tmp_path: Path) -> None:
    massless = without_inertial("fore").replace('<mass value="0.5" />', '<mass value="0" />')
    assert massless.count('<mass value="0" />') == 1
    assert complaint(read(tmp_path, massless)).startswith("joints: extension can move")


def test_two_joints_about_one_axis_with_no_mass_between_them_are_refused(tmp_path: Path) -> None:
    text = without_inertial("upper").replace('type="prismatic"', 'type="continuous"')
    text = text.replace('<origin xyz="0.3 0 0.02" />', '<axis xyz="0 0 1" />')
    assert complaint(read(tmp_path, text)).startswith("joints: shoulder_pan, extension can move")
    apart = text.replace('<axis xyz="0 0 1" />', '<axis xyz="0 0 1" /><origin xyz="0.3 0 0" />')
    module(read(tmp_path, apart), "spatial", "fixed")


def test_a_point_mass_may_move_where_it_is_off_the_axes(tmp_path: Path) -> None:
    robot = read(tmp_path, without_inertial("fore"))
    assert (robot["bodies"][2]["mass_kg"], robot["bodies"][2]["inertia_kg_m2"]) == (0.5, [0.0] * 6)
    module(robot, "spatial", "fixed")
    on_the_axis = without_inertial("fore").replace('type="prismatic"', 'type="continuous"')
    on_the_axis = on_the_axis.replace('xyz="0.2 0.1 0"', 'xyz="0.2 0 0"')
    assert complaint(read(tmp_path, on_the_axis)).startswith("joints: extension can move")


def inertia(xx: float, yy: float, zz: float, xy: float = 0.0) -> str:
    return f'<inertia ixx="{xx}" ixy="{xy}" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/>'


OF_UPPER = '<inertia ixx="0.04" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.05"/>'
OF_TIP = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'


def test_an_inertia_of_rounding_noise_is_zero(tmp_path: Path) -> None:
    robot = read(tmp_path, ARM.replace(OF_UPPER, inertia(-2e-35, 0, 0, 2e-35)))
    assert robot["bodies"][1]["inertia_kg_m2"] == [0.0] * 6
    module(robot, "spatial", "fixed")


def test_digits_that_were_rounded_may_break_the_triangle_inequality_by_a_percent(tmp_path: Path) -> None:
    robot = read(tmp_path, ARM.replace(OF_UPPER, inertia(0.04, 0.03, 0.0706)))
    assert robot["bodies"][1]["inertia_kg_m2"][2] == 0.0706
    module(robot, "spatial", "fixed")
    assert "no body has" in refusal(tmp_path, ARM.replace(OF_UPPER, inertia(0.04, 0.03, 0.0709)))


def test_an_inertia_that_no_body_has_is_a_part_of_one_that_a_body_can_have(tmp_path: Path) -> None:
    robot = read(tmp_path, ARM.replace(OF_TIP, inertia(1e-6, 1e-6, 1e-6, 1e-6)))
    np.testing.assert_allclose(sum(robot["bodies"][2]["inertia_kg_m2"][:3]), 0.03 + 0.04 / 3 + 3e-6, atol=1e-15)


IMPOSSIBLE_BASE = ARM.replace("</visual>", f'</visual><inertial><mass value="3"/>{inertia(-1, 1, 1)}</inertial>')


def test_the_inertia_of_a_fixed_base_is_not_used_where_no_body_has_it(tmp_path: Path) -> None:
    robot = read(tmp_path, IMPOSSIBLE_BASE)
    assert (robot["bodies"][0]["mass_kg"], robot["bodies"][0]["inertia_kg_m2"][:3]) == (1.0, [1.0, 1.0, 1.0])
    assert any("link 'world': the inertia of the fixed base is not used" in note for note in robot["notes"])
    assert "link 'world' with all that is fixed to it: no body" in refusal(tmp_path, IMPOSSIBLE_BASE, base="floating")


def test_what_cannot_move_the_robot_is_skipped_with_a_note(tmp_path: Path) -> None:
    text = ARM.replace('<link name="upper">', '<link name="upper"><self_filter/><contact/><contact/>')
    text = text.replace("</robot>", '<gazebo/><sensor name="eye"/><anything/></robot>')
    robot = read(
        tmp_path, text.replace('<axis xyz="0 0 2"/>', '<axis xyz="0 0 2"/><safety_controller k_velocity="9"/>')
    )
    assert robot["notes"] == [
        "skipped, for it does not move the robot: <anything> (1), <contact> (2), <gazebo> (1), <material> (1), "
        "<safety_controller> (1), <self_filter> (1), <sensor> (1), <transmission> (1)"
    ]
    assert {k: v for k, v in robot.items() if k != "notes"} == {k: v for k, v in read(tmp_path).items() if k != "notes"}


def test_a_fixed_joint_mimics_nothing(tmp_path: Path) -> None:
    robot = read(tmp_path, ARM.replace('<child link="tip"/>', '<child link="tip"/><mimic joint="extension"/>'))
    assert "<mimic> (1)" in robot["notes"][0]


def test_damping_and_friction_have_the_units_of_their_joint(tmp_path: Path) -> None:
    text = ARM.replace('damping="0" friction="0.0"', 'damping="0.1" friction="0.2"')
    text = text.replace('<origin xyz="0.3 0 0.02"/>', '<origin xyz="0.3 0 0.02"/><dynamics damping="3" friction="4"/>')
    shoulder, extension = module(read(tmp_path, text), "spatial", "fixed").joints
    assert (shoulder.damping_n_m_s, shoulder.friction_n_m) == (0.1, 0.2)
    assert (extension.damping_n_s_m, extension.friction_n) == (3.0, 4.0)


def test_an_infinite_limit_is_none(tmp_path: Path) -> None:
    limit = '<limit lower="-inf" upper="inf" velocity="Infinity" effort="inf"/>'
    assert "shoulder_pan" not in read(tmp_path, re.sub(r'<limit lower="-1.5".*/>', limit, ARM))["limits"]


def corners(tmp_path: Path, visuals: str, dimension: str = "spatial") -> Any:
    """The outline of the upper arm with these visuals, corner by corner from the least x and y."""
    robot = read(tmp_path, ARM.replace('<link name="upper">', f'<link name="upper">{visuals}'), dimension)
    return sorted(map(tuple, robot["bodies"][1].get("outline_m", [])))


def visual(geometry: str, origin: str = "") -> str:
    return f"<visual>{origin}<geometry>{geometry}</geometry></visual>"


def test_a_box_is_outlined_as_seen_along_z(tmp_path: Path) -> None:
    box = visual('<box size="0.4 0.2 0.6"/>', '<origin xyz="1 0 5"/>')
    np.testing.assert_allclose(corners(tmp_path, box), [(0.8, -0.1), (0.8, 0.1), (1.2, -0.1), (1.2, 0.1)])
    tipped = visual('<box size="0.4 0.2 0.6"/>', '<origin rpy="1.5707963267948966 0 0"/>')
    expected = [(-0.2, -0.3), (-0.2, 0.3), (0.2, -0.3), (0.2, 0.3)]
    np.testing.assert_allclose(corners(tmp_path, tipped), expected, atol=1e-15)


def test_a_sphere_and_an_upright_cylinder_are_circles_and_a_lying_cylinder_is_a_rectangle(tmp_path: Path) -> None:
    upright, sphere = (
        corners(tmp_path, visual(shape, '<origin xyz="1 0 0"/>'))
        for shape in ('<cylinder radius="0.5" length="2"/>', '<sphere radius="0.5"/>')
    )
    np.testing.assert_allclose(upright, sphere, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(np.array(sphere) - (1, 0), axis=1), 0.5)
    lying = corners(tmp_path, visual('<cylinder radius="0.5" length="2"/>', '<origin rpy="0 1.5707963267948966 0"/>'))
    np.testing.assert_allclose(lying, [(-1, -0.5), (-1, 0.5), (1, -0.5), (1, 0.5)], atol=1e-12)


def test_several_visuals_and_those_of_fixed_links_are_outlined_by_their_convex_hull(tmp_path: Path) -> None:
    cube, at = '<box size="2 2 2"/>', '<origin xyz="4 0 0"/>'
    hull = corners(tmp_path, visual(cube) + visual(cube, at) + visual('<box size="0.1 0.1 0.1"/>', at))
    assert hull == [(-1.0, -1.0), (-1.0, 1.0), (5.0, -1.0), (5.0, 1.0)]
    robot = read(tmp_path, ARM.replace('<link name="tip">', f'<link name="tip">{visual(cube)}'))
    outline = np.array(robot["bodies"][2]["outline_m"])
    np.testing.assert_allclose(outline.mean(axis=0), (0.2, 0.1), atol=1e-15)
    turned = 2**0.5 * np.cos(0.5 - np.pi / 4)
    np.testing.assert_allclose(outline.max(axis=0), (0.2 + turned, 0.1 + turned))


def test_an_outline_runs_counterclockwise(tmp_path: Path) -> None:
    box = visual('<box size="1 2 3"/>')
    robot = read(tmp_path, ARM.replace('<link name="upper">', f'<link name="upper">{box}'))
    x, y = np.array(robot["bodies"][1]["outline_m"]).T
    assert 0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) == pytest.approx(2.0)


def test_the_outline_of_a_planar_body_lies_in_its_plane(tmp_path: Path) -> None:
    box = visual('<box size="0.4 0.6 0.2"/>')
    upright = ARM.replace('rpy="0 0 0.1"', 'rpy="1.5707963267948966 0 0.1"').replace('xyz="0 0 2"', 'xyz="0 2 0"')
    text = upright.replace('"0.3 0 0.02"', '"0.3 0.02 0" rpy="-1.5707963267948966 0 0"')
    robot = read(tmp_path, text.replace('<link name="upper">', f'<link name="upper">{box}'), "planar")
    np.testing.assert_allclose(np.abs(robot["bodies"][1]["outline_m"]), [(0.2, 0.1)] * 4, atol=1e-12)


@pytest.mark.parametrize("shape", ['<mesh filename="a.stl"/>', '<box size="1 2"/>', '<sphere radius="big"/>'])
def test_what_cannot_be_drawn_is_skipped_with_a_note(tmp_path: Path, shape: str) -> None:
    robot = read(tmp_path, ARM.replace('<link name="upper">', f'<link name="upper">{visual(shape)}'))
    assert "outline_m" not in robot["bodies"][1]
    assert f"not drawn: {shape.split()[0]}> (1)" in robot["notes"]


def test_a_shape_without_an_area_is_no_outline(tmp_path: Path) -> None:
    assert corners(tmp_path, visual('<box size="1 0 1"/>')) == []


def test_broken_xml_is_told_with_its_line(tmp_path: Path) -> None:
    text = ARM.replace('<joint name="bolt"', "<joint name=bolt")
    assert "not valid XML, line 5, column 14: not well-formed (invalid token), expected a URDF" in refusal(
        tmp_path, text
    )


@pytest.mark.parametrize("text", ["", "no XML at all", "\x00", '<?xml version="1.0" encoding="martian"?><robot/>'])
def test_what_is_no_xml_is_refused(tmp_path: Path, text: str) -> None:
    assert "expected a URDF" in refusal(tmp_path, text)


def test_an_empty_robot_is_refused(tmp_path: Path) -> None:
    assert "<robot>: no link, expected at least one" in refusal(tmp_path, "<robot/>")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_before_they_grow(tmp_path: Path, encoding: str) -> None:
    grown = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    bomb = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE robot [<!ENTITY e0 "ha">{grown}]><robot>&e9;</robot>'
    assert "<!DOCTYPE robot>: document type and entities are not read" in refusal(tmp_path, bomb.encode(encoding))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"arm\.urdf: no such file, expected a URDF$"):
        read_urdf(tmp_path / "arm.urdf", "spatial", "fixed")
    with pytest.raises(InputError, match=r"not readable \(Is a directory\), expected a URDF$"):
        read_urdf(tmp_path, "spatial", "fixed")


OUT_OF_PLANE = {
    "turns about x": ('<axis xyz="0 0 2"/>', "", "joint 'shoulder_pan': its axis is ["),
    "turns about -z": (
        'xyz="0 0 2"',
        'xyz="0 0 -2"',
        "expected [0, 0, 1] in a planar module: turn it round in the file",
    ),
    "slides along z": (
        '<origin xyz="0.3 0 0.02"/>',
        '<origin rpy="0 0.3 0"/>',
        "joint 'extension': its axis is [0.950564, 0.095375, -0.29552] in the root's axes, expected one in the plane",
    ),
    "leans a little": (
        'rpy="0 0 0.1"',
        'rpy="0.001 0 0.1"',
        "joint 'shoulder_pan': its axis is [0.0001, -0.000995, 1.0]",
    ),
}


@pytest.mark.parametrize(("right", "wrong", "said"), OUT_OF_PLANE.values(), ids=OUT_OF_PLANE)
def test_a_joint_that_leaves_the_plane_is_refused_by_name(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    assert said in refusal(tmp_path, ARM.replace(right, wrong), "planar")


ODD_VALUES = (
    *("", " ", "x", "nan", "1e308", "-1e308", "1e200", "1e-320", "-1", "0", "9" * 400, "world", "fixed"),
    *("0 0 0", "1 2 3", "1e308 1e308 1", "1e200 0 1e200"),
)


def variations(text: str) -> list[str]:
    """The file with every attribute odd in turn, every element left out in turn, and every element there twice."""
    texts = []
    n = len(list(ElementTree.fromstring(text).iter()))
    for i in range(n):
        keys = list(ElementTree.fromstring(text).iter())[i].attrib
        for key, odd in itertools.product(keys, ODD_VALUES):
            robot = ElementTree.fromstring(text)
            list(robot.iter())[i].set(key, odd)
            texts.append(ElementTree.tostring(robot, encoding="unicode"))
        for change in ("leave out", "repeat", "empty"):
            robot = ElementTree.fromstring(text)
            element = list(robot.iter())[i]
            parent = next((p for p in robot.iter() if element in list(p)), None)
            if change == "empty":
                element.clear()
            elif parent is not None:
                (parent.remove if change == "leave out" else parent.append)(element)
            texts.append(ElementTree.tostring(robot, encoding="unicode"))
    return texts


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("dimension", "base"), [("planar", "fixed"), ("spatial", "floating")])
def test_an_odd_file_is_refused_in_one_sentence_or_makes_a_module(tmp_path: Path, dimension: str, base: str) -> None:
    mass = '<inertial><mass value="9"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    made = 0
    for text in variations(ARM.replace("</visual>", f"</visual>{mass}") if base == "floating" else ARM):
        try:
            robot = read(tmp_path, text, dimension, base)
        except InputError as refused:
            keeps_the_rules(str(refused), tmp_path)
            continue
        said = complaint(robot, dimension, base)
        assert not said or "can move without moving a mass, expected" in said
        made += not said
    assert made > 50


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
    robot = load(disc).robot
    assert robot.gravity_m_s2 == (0.1, 0.0)
    assert [b.name for b in robot.bodies] == ["base", "link", "hook"]
    assert [j.name for j in robot.joints] == ["hip", "wrist"]
    assert [p.name for p in robot.points] == ["tip", "rim"]


def test_variants_and_overrides_reach_into_the_robot_of_a_urdf(disc: str) -> None:
    assert load(f"{disc}/heavy").robot.root.mass_kg == 22.0
    assert load(f"{disc}/heavy").name == "disc/heavy"
    overrides = ["modules.vehicle.bodies.link.mass_kg=1", "modules.vehicle.joints.hip.origin_m=[0.2, 0]"]
    robot = load(disc, overrides).robot
    assert robot.bodies[1].mass_kg == 1.0
    assert robot.joints[0].origin_m == (0.2, 0.0)


def test_an_override_chooses_another_urdf_whatever_stands_before_it(disc: str) -> None:
    other = DISC_URDF.replace('value="12.0"', 'value="13"').replace('value="0.8"', 'value="0.7"')
    (Path(disc).parent / "other.urdf").write_text(other)
    overrides = ["modules.vehicle.bodies.link.mass_kg=1", "modules.vehicle.urdf=other.urdf"]
    assert [b.mass_kg for b in load(disc, overrides).robot.bodies] == [13.0, 1.0]


def test_an_override_of_the_base_is_heeded_when_the_urdf_is_read(disc: str) -> None:
    edit(disc, '<mass value="12.0"/>', '<mass value="0"/>')
    edit(
        disc,
        'ixx="0.15" ixy="0" ixz="0" iyy="0.15" iyz="0" izz="0.2"',
        'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"',
    )
    with pytest.raises(InputError, match=r"link 'base': no mass, expected .* for a floating base moves it"):
        load(disc)
    standing = ["modules.vehicle.base=fixed", "devices.vision=none", "devices.thrusters=none", "behaviour.waypoints=[]"]
    assert load(disc, standing).robot.root.mass_kg == 1.0


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


NO_MOTOR = ('[[devices.motors]]\njoint = "hip"\ntorque_limit_n_m = 1.0\n', "")


def test_an_effort_is_a_motor_where_the_testbed_has_none(disc: str) -> None:
    edit(disc, '<axis xyz="0 0 1"/>', LIMITED)
    assert [m.torque_limit_n_m for m in load(disc).devices.motors] == [1.0]
    edit(disc, *NO_MOTOR)
    [motor] = load(disc).devices.motors
    assert (motor.joint, motor.torque_limit_n_m) == ("hip", 4.0)
    [motor] = load(disc, ["devices.motors.hip.torque_limit_n_m=3"]).devices.motors
    assert motor.torque_limit_n_m == 3.0
    assert load(disc, ["modules.vehicle.urdf_motors=false"]).devices.motors == ()
    edit(disc, 'effort="4"', 'effort="0"')
    assert load(disc).devices.motors == ()


def test_the_force_of_a_prismatic_joint_is_no_motor(disc: str) -> None:
    edit(disc, '<axis xyz="0 0 1"/>', LIMITED.replace('"0 0 1"', '"1 0 0"'))
    edit(disc, "continuous", "prismatic")
    edit(disc, *NO_MOTOR)
    bed = Path(disc).read_text()
    Path(disc).write_text(bed[: bed.index("[devices.joint_sensors]")] + "[simulation]\nphysics_step_s = 0.001\n")
    assert load(disc).robot.joints[0].kind == "prismatic"
    assert load(disc).devices.motors == ()


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
    assert [m.joint for m in load(disc).devices.motors] == ["left_hip", "right_hip"]
    edit(disc, 'like = "left"', 'like = "left"\nurdf_motors = false')
    assert [m.joint for m in load(disc).devices.motors] == ["left_hip"]


def test_a_copy_with_other_joints_has_the_limits_of_none(disc: str) -> None:
    edit(disc, '<axis xyz="0 0 1"/>', LIMITED)
    joint = '{ name = "knee", parent = "base", child = "link" }'
    Path(disc).write_text(f"{PAIR}joints = [{joint}]\n")
    assert [m.joint for m in load(disc).devices.motors] == ["left_hip"]


def test_limits_and_motors_of_a_controlled_module_have_its_name_where_there_are_several(disc: str) -> None:
    edit(disc, '<axis xyz="0 0 1"/>', LIMITED)
    edit(disc, "continuous", "revolute")
    edit(disc, *NO_MOTOR)
    edit(disc, 'joints = ["hip"]', 'joints = ["vehicle_hip"]')
    edit(disc, "target = { base_x_m = 0.5, hip_rad = 0.8 }", "target = { vehicle_hip_rad = 0.8 }")
    edit(disc, "[devices.joint_sensors]", f"[[modules]]{PAIR.split('[[modules]]')[2]}\n[devices.joint_sensors]")
    bed = load(disc)
    assert [m.name for m in bed.modules] == ["vehicle", "left"]
    assert [limit.joint for limit in bed.safety.joints] == ["vehicle_hip"]
    # The joints of a module that the controller does not know have neither.
    assert [m.joint for m in bed.devices.motors] == ["vehicle_hip"]


def test_what_was_skipped_stands_in_the_note_of_the_testbed(disc: str) -> None:
    edit(disc, "</robot>", "<gazebo/></robot>")
    assert load(disc).note == "disc.urdf: skipped, for it does not move the robot: <gazebo> (1)."
    edit(disc, 'name = "disc"\n', 'name = "disc"\nnote = "Ours."\n')
    assert load(disc).note == "Ours.\ndisc.urdf: skipped, for it does not move the robot: <gazebo> (1)."


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
        "modules.vehicle.points: point 'tip' is there twice, expected it once",
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
def test_a_mistake_about_the_urdf_is_told_with_its_testbed(disc: str, right: str, wrong: str, said: str) -> None:
    edit(disc, right, wrong)
    with pytest.raises(InputError) as raised:
        load(disc)
    assert str(raised.value).startswith(f"{disc}: ")
    assert said in str(raised.value)


def test_a_mistake_in_an_override_of_the_urdf_is_told_with_the_override(disc: str) -> None:
    with pytest.raises(
        InputError, match=r"with --set modules\.vehicle\.urdf=a\.urdf: modules\.vehicle\.urdf: .*no such"
    ):
        load(disc, ["modules.vehicle.urdf=a.urdf"])
    with pytest.raises(
        InputError, match=r"with --set modules\.arm\.urdf=a\.urdf: modules has no 'arm', expected vehicle"
    ):
        load(disc, ["modules.arm.urdf=a.urdf"])
