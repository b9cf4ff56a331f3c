"""Bodies, joints and thrusters of a new robot, in the tables that a testbed has them in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from granite.cli.new_testbed.answers import RobotData
from granite.config.errors import InputError
from granite.config.urdf import Robot, read_urdf

_JOINTS = ("shoulder", "elbow", "wrist")


def built(answers: RobotData) -> Robot:
    """A square plate as base, and rods as links in a row from the middle of its front."""
    mass, size = answers.mass_kg, answers.size_m
    half = size / 2
    base: dict[str, Any] = {"name": "base", "mass_kg": mass, "inertia_kg_m2": mass * size**2 / 6 or 1.0}
    if size:
        base["outline_m"] = [[half, half], [-half, half], [-half, -half], [half, -half]]
    robot = Robot(bodies=[base], joints=[], points=[], limits={}, notes=[])
    parent, at, n = "base", half, len(answers.links)
    for i, link in enumerate(answers.links, start=1):
        name = _JOINTS[i - 1] if n <= len(_JOINTS) else f"joint{i}"
        com, inertia = [link.length_m / 2, 0.0], link.mass_kg * link.length_m**2 / 12
        robot["bodies"].append({"name": f"link{i}", "mass_kg": link.mass_kg, "com_m": com, "inertia_kg_m2": inertia})
        robot["joints"].append({"name": name, "parent": parent, "child": f"link{i}", "origin_m": [at, 0.0]})
        robot["limits"][name] = {"torque_n_m": link.torque_n_m}
        parent, at = f"link{i}", link.length_m
    if answers.links:
        robot["points"].append({"name": "tip", "body": parent, "position_m": [at, 0.0]})
    return robot


def from_urdf(path: Path, answers: RobotData, dimension: Literal["planar", "spatial"] = "planar") -> Robot:
    """The robot of a URDF; every joint gets a motor, and joints that mimic others are locked."""
    try:
        robot = read_urdf(path, dimension, answers.base, "lock")
    except InputError as error:
        if dimension == "spatial" or answers.base == "floating" or "axis" not in error.problem:
            raise
        raise InputError(
            error.problem, file=error.file, key=error.key, expected=f"{error.expected}; or --spatial"
        ) from None
    for joint in robot["joints"]:
        if joint["kind"] != "revolute":
            raise InputError(f"joint '{joint['name']}' is {joint['kind']}", file=str(path), expected="revolute joints")
        robot["limits"].setdefault(joint["name"], {}).setdefault("torque_n_m", answers.torque_n_m)
    if answers.base == "fixed" and not robot["joints"]:
        raise InputError("nothing can move", file=str(path), expected="a joint, or --base floating")
    return robot


def thruster_units(n: int, size_m: float) -> list[dict[str, Any]]:
    """Two at each corner of the base, along its sides; of twelve, one more amid each side that pushes inwards."""
    half = size_m / 2
    corners = [(half, half), (-half, half), (-half, -half), (half, -half)]
    units = [
        (corner, direction)
        for corner in corners
        for direction in ([-1 if corner[0] > 0 else 1, 0], [0, -1 if corner[1] > 0 else 1])
    ]
    if n > len(units):
        units += [((half, 0.0), [-1, 0]), ((0.0, half), [0, -1]), ((-half, 0.0), [1, 0]), ((0.0, -half), [0, 1])]
    return [
        {"name": f"t{i}", "position_m": list(position), "direction": direction}
        for i, (position, direction) in enumerate(units, start=1)
    ]
