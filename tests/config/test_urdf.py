"""A module read from URDF: what becomes of links and joints, and what is refused in one sentence."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.rotations import about_axis, rotation
from granite.config.urdf import read_urdf
from tests.support.urdf_arm import ARM, complaint, keeps_the_rules, module, read, refusal


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
        "<mimic> is not supported, expected none, because it changes the motion; or urdf_mimic = ",
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
    "a loop": Slip(
        '<material name="grey"/>',
        "<loop_joint/>",
        "robot: <loop_joint> is not supported, expected none, because it changes the motion",
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
        '<mass value="2"/>', '<mass value="-2"/>', "link 'upper': mass value = -2.0: expected a number of at least 0"
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
        'xyz="0 0 2"',
        'xyz="0 0 0"',
        "joint 'Shoulder-Pan': axis xyz = [0.0, 0.0, 0.0]: a vector of zero length, expected a direction",
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
    "a negative effort": Slip('effort="20"', 'effort="-20"', "joint 'Shoulder-Pan': limit effort = -20.0: expected"),
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
        '<child link="stand"/>', '<child link="tip"/>', "joint 'glue': child link = \"tip\": joint loop"
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
        '<link name="world"/>', '<link name="world"/><link name="world"/>', "link 'world' occurs twice"
    ),
    "a joint twice": Slip('name="glue"', 'name="bolt"', "joint 'bolt' occurs twice, expected it once"),
    "two names that become one": Slip(
        '<link name="world"/>',
        '<link name="World"/><link name="world"/>',
        "link 'world': becomes 'world' as 'World' does",
    ),
    "a link without a name": Slip('<link name="world"/>', "<link/>", "<link> number 1: name is missing, expected one"),
    "two places for one joint": Slip(
        '<axis xyz="0 0 2"/>',
        "<origin/>",
        "joint 'Shoulder-Pan': <origin> occurs 2 times, expected it once in <joint>",
    ),
    "another kind of file": Slip("robot", "model", "<model>: expected <robot> as the outermost element"),
    "an element left open": Slip('<link name="world"/>', '<link name="world">', "not valid XML, line "),
}


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
def test_errors_and_unsupported_elements_are_reported_in_one_sentence(slip: Slip, tmp_path: Path) -> None:
    assert slip.right in ARM
    count = -1 if slip.right == "robot" else 1
    assert slip.said in refusal(tmp_path, ARM.replace(slip.right, slip.wrong, count))


def test_what_cannot_move_the_robot_is_skipped_with_a_note(tmp_path: Path) -> None:
    text = ARM.replace('<link name="upper">', '<link name="upper"><self_filter/><contact/><contact/>')
    text = text.replace("</robot>", '<gazebo/><sensor name="eye"/><anything/></robot>')
    robot = read(
        tmp_path, text.replace('<axis xyz="0 0 2"/>', '<axis xyz="0 0 2"/><safety_controller k_velocity="9"/>')
    )
    assert robot["notes"] == [
        "skipped, without effect on the motion: <anything> (1), <contact> (2), <gazebo> (1), <material> (1), "
        "<safety_controller> (1), <self_filter> (1), <sensor> (1), <transmission> (1)"
    ]
    assert {k: v for k, v in robot.items() if k != "notes"} == {k: v for k, v in read(tmp_path).items() if k != "notes"}


def test_a_fixed_joint_mimics_nothing(tmp_path: Path) -> None:
    robot = read(tmp_path, ARM.replace('<child link="tip"/>', '<child link="tip"/><mimic joint="extension"/>'))
    assert "<mimic> (1)" in robot["notes"][0]


def test_attributes_of_other_programs_are_noted(tmp_path: Path) -> None:
    robot = read(tmp_path, ARM.replace('friction="0.0"', 'friction="0.0" K="7000" mu_viscous="16"'))
    assert robot["notes"][-1] == "no part of URDF and not read: dynamics K, dynamics mu_viscous"
    assert {**robot, "notes": []} == {**read(tmp_path), "notes": []}


def test_a_joint_that_only_leads_locked_ones_without_mass_is_locked(tmp_path: Path) -> None:
    text = re.sub(r'<link name="(fore|tip)">.*?</link>', r'<link name="\1"/>', ARM, flags=re.DOTALL)
    text = text.replace('name="glue" type="fixed"', 'name="glue" type="revolute"')
    text = text.replace('<child link="tip"/>', '<child link="tip"/><mimic joint="extension"/>')
    robot = read(tmp_path, text, mimic="lock")
    assert [joint["name"] for joint in robot["joints"]] == ["shoulder_pan"]
    assert robot["notes"][-1].endswith(": glue, extension")


def test_joints_that_mimic_others_are_locked_where_that_is_asked_for(tmp_path: Path) -> None:
    mimic = '<axis xyz="0 0 2"/><mimic joint="extension" multiplier="-1" offset="{}"/>'
    fixed = read(tmp_path, re.sub(r'(name="Shoulder-Pan" type=)"revolute"', r'\1"fixed"', ARM), "spatial")
    locked = read(tmp_path, ARM.replace('<axis xyz="0 0 2"/>', mimic.format("0.0")), "spatial", mimic="lock")
    assert locked["notes"].pop() == "locked, because they mimic others or only lead such ones: shoulder_pan"
    assert {**locked, "notes": []} == {**fixed, "notes": []}
    assert "mimic" not in " ".join(locked["notes"])
    turned = read(tmp_path, ARM.replace('<axis xyz="0 0 2"/>', mimic.format("0.5")), "spatial", mimic="lock")
    (before,), (after,) = ([j for j in robot["joints"] if j["name"] == "extension"] for robot in (locked, turned))
    shoulder = next(j for j in read(tmp_path)["joints"] if j["name"] == "shoulder_pan")
    R, R_joint = about_axis(np.array([0.0, 0.0, 1.0]), 0.5), rotation(shoulder["rotation_rad"])
    moved = R_joint @ R @ R_joint.T @ (np.array(before["origin_m"]) - shoulder["origin_m"]) + shoulder["origin_m"]
    assert after["origin_m"] == pytest.approx(moved)
    slide = ARM.replace('<origin xyz="0.3 0 0.02"/>', '<origin xyz="0.3 0 0.02"/><mimic joint="x" offset="0.25"/>')
    tips = [{p["name"]: p for p in read(tmp_path, text, mimic="lock")["points"]} for text in (slide, ARM)]
    assert tips[0]["fore"]["body"] == "upper"
    assert "fore" not in tips[1]


def test_damping_and_friction_have_the_units_of_their_joint(tmp_path: Path) -> None:
    text = ARM.replace('damping="0" friction="0.0"', 'damping="0.1" friction="0.2"')
    text = text.replace('<origin xyz="0.3 0 0.02"/>', '<origin xyz="0.3 0 0.02"/><dynamics damping="3" friction="4"/>')
    shoulder, extension = module(read(tmp_path, text), "spatial", "fixed").joints
    assert (shoulder.damping_n_m_s, shoulder.friction_n_m) == (0.1, 0.2)
    assert (extension.damping_n_s_m, extension.friction_n) == (3.0, 4.0)


def test_an_infinite_limit_is_none(tmp_path: Path) -> None:
    limit = '<limit lower="-inf" upper="inf" velocity="Infinity" effort="inf"/>'
    assert "shoulder_pan" not in read(tmp_path, re.sub(r'<limit lower="-1.5".*/>', limit, ARM))["limits"]


def test_broken_xml_is_reported_with_its_line(tmp_path: Path) -> None:
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
        "expected [0, 0, 1] in a planar module: reverse it in the file",
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
@pytest.mark.parametrize(
    ("dimension", "base"), [pytest.param("planar", "fixed", marks=pytest.mark.slow), ("spatial", "floating")]
)
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
        assert not said or "can move without moving a mass, expected" in said or "greater than 0 for the root" in said
        made += not said
    assert made > 50
