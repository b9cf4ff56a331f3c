"""Masses of a URDF: how links are lumped into bodies, and which of them a body can have."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.support.urdf_arm import ARM, complaint, module, read, refusal


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
    assert "link 'world': no mass, expected an <inertial> with one, because a floating base" in refusal(
        tmp_path, ARM, base="floating"
    )


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


@pytest.mark.parametrize("noise", [2e-35, 1e-13])
def test_an_inertia_of_rounding_noise_is_zero(tmp_path: Path, noise: float) -> None:
    robot = read(tmp_path, ARM.replace(OF_UPPER, inertia(-noise, 0, 0, noise)))
    assert robot["bodies"][1]["inertia_kg_m2"] == [0.0] * 6
    module(robot, "spatial", "fixed")


def test_digits_that_were_rounded_may_break_the_triangle_inequality_by_a_percent(tmp_path: Path) -> None:
    robot = read(tmp_path, ARM.replace(OF_UPPER, inertia(0.04, 0.03, 0.0706)))
    assert robot["bodies"][1]["inertia_kg_m2"][2] == 0.0706
    module(robot, "spatial", "fixed")
    assert "no body has" in refusal(tmp_path, ARM.replace(OF_UPPER, inertia(0.04, 0.03, 0.0709)))


def test_a_moment_slightly_below_zero_is_refused(tmp_path: Path) -> None:
    said = "no body has the principal moments -0.0001, 0.03 and 0.03, expected none below 0"
    assert said in refusal(tmp_path, ARM.replace(OF_UPPER, inertia(0.03, 0.03, -1e-4)))


def test_an_inertia_that_no_body_has_is_a_part_of_one_that_a_body_can_have(tmp_path: Path) -> None:
    robot = read(tmp_path, ARM.replace(OF_TIP, inertia(1e-6, 1e-6, 1e-6, 1e-6)))
    np.testing.assert_allclose(sum(robot["bodies"][2]["inertia_kg_m2"][:3]), 0.03 + 0.04 / 3 + 3e-6, atol=1e-15)


@pytest.mark.parametrize("moments", [(-1, 1, 1), (1, 1, 3)])
def test_the_inertia_of_a_fixed_base_is_not_used_where_no_body_has_it(tmp_path: Path, moments: tuple[int, ...]) -> None:
    text = ARM.replace("</visual>", f'</visual><inertial><mass value="3"/>{inertia(*moments)}</inertial>')
    robot = read(tmp_path, text)
    assert (robot["bodies"][0]["mass_kg"], robot["bodies"][0]["inertia_kg_m2"][:3]) == (1.0, [1.0, 1.0, 1.0])
    assert any("link 'world': the inertia of the fixed base is not used" in note for note in robot["notes"])
    assert "link 'world' with all that is fixed to it: no body" in refusal(tmp_path, text, base="floating")
