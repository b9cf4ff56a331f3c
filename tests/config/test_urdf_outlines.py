"""Outlines of bodies from the visuals of a URDF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from granite.config.urdf.shapes import VisualShape, outline
from tests.support.urdf_arm import ARM, read


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
    ahead = visual(cube, '<origin xyz="3 0 0"/>')
    robot = read(tmp_path, ARM.replace('<link name="tip">', f'<link name="tip">{ahead}'))
    outline, middle = np.array(robot["bodies"][2]["outline_m"]), (0.2 + 3 * np.cos(0.5), 0.1 + 3 * np.sin(0.5))
    np.testing.assert_allclose(outline.mean(axis=0), middle, atol=1e-15)
    reach = 2**0.5 * np.cos(0.5 - np.pi / 4)
    np.testing.assert_allclose(outline.max(axis=0) - middle, (reach, reach))


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


def test_a_small_corner_is_kept_also_far_from_the_origin() -> None:
    """What lies on a side within rounding is measured against the sides, not against where they are."""
    far = np.array([[0.0, 0.0, 0.0], [0.5, -1e-7, 0.0], [1.0, 0.0, 0.0], [0.5, 1.0, 0.0]])
    far[:, 0] += 1e6
    assert len(outline([VisualShape(far, 0.0)])) == 4
    far[1, 1] = -1e-13
    assert len(outline([VisualShape(far, 0.0)])) == 3
