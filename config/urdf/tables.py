"""From bodies to the tables of a module."""

from __future__ import annotations

from typing import Any, TypedDict

from granite.config.rotations import angles
from granite.config.urdf.parts import UrdfBody, UrdfJoint
from granite.config.urdf.shapes import outline


class Robot(TypedDict):
    """The part of a module's table from a URDF, the limits of its joints where it has any, and notes on the reading.

    A limit is `lower_rad`, `upper_rad`, `rate_rad_s` and `torque_n_m` of a revolute joint, `lower_m`, `upper_m`,
    `rate_m_s` and `force_n` of a prismatic one.
    """

    bodies: list[dict[str, Any]]
    joints: list[dict[str, Any]]
    points: list[dict[str, Any]]
    limits: dict[str, dict[str, float]]
    notes: list[str]


def tables_of(bodies: list[UrdfBody], dimension: str, notes: list[str]) -> Robot:
    """The bodies as a testbed's file would have them."""
    robot = Robot(bodies=[], joints=[], points=[], limits={}, notes=notes)
    planar = dimension == "planar"
    size = 2 if planar else 3
    for body in bodies:
        robot["bodies"].append(_table_of_body(body, planar))
        robot["points"] += [
            {"name": link, "body": body.link, "position_m": p[:size].tolist(), "rotation_rad": list(angles(R))}
            for link, R, p in body.frames
        ]
        if body.joint:
            robot["joints"].append(_table_of_joint(body.joint, planar))
            if body.joint.limits:
                robot["limits"][body.joint.name] = body.joint.limits
    return robot


def _table_of_body(body: UrdfBody, planar: bool) -> dict[str, Any]:
    mass, com, inertia = body.mass
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    table = {
        "name": body.link,
        "mass_kg": mass,
        "com_m": com[: 2 if planar else 3].tolist(),
        "inertia_kg_m2": max(zz, 0.0) if planar else [xx, yy, zz, xy, xz, yz],
    }
    corners = outline(body.shapes)
    return table | ({"outline_m": corners} if corners else {})


def _table_of_joint(joint: UrdfJoint, planar: bool) -> dict[str, Any]:
    axis = joint.axis.tolist()
    if planar:
        axis = axis[:2] if joint.kind == "prismatic" else [0.0, 0.0, 1.0]
    return {
        "name": joint.name,
        "kind": joint.kind,
        "parent": joint.parent,
        "child": joint.child,
        "origin_m": list(joint.origin[: 2 if planar else 3]),
        "rotation_rad": list(joint.rpy),
        "axis": axis,
        **joint.resistance,
    }
