"""An arm in URDF on which the rules of reading are tested, and what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from granite.config.errors import InputError
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


def read(
    tmp_path: Path, text: str | bytes = ARM, dimension: Any = "spatial", base: Any = "fixed", mimic: Any = "refuse"
) -> Robot:
    file = tmp_path / "arm.urdf"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_urdf(file, dimension, base, mimic)


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
