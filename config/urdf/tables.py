"""From bodies to the tables of a module."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from granite.config.errors import InputError, shown
from granite.config.urdf.parts import NOMINAL, Body, Joint, angles


class Robot(TypedDict):
    """What a URDF gives to a module's table, and the limits of its joints where it has any.

    A limit is `lower_rad`, `upper_rad`, `rate_rad_s` and `torque_n_m` of a revolute joint, `lower_m`, `upper_m`,
    `rate_m_s` and `force_n` of a prismatic one.
    """

    bodies: list[dict[str, Any]]
    joints: list[dict[str, Any]]
    points: list[dict[str, Any]]
    limits: dict[str, dict[str, float]]


def tables_of(bodies: list[Body], dimension: str, base: str) -> Robot:
    """The bodies as a testbed's file would have them."""
    robot = Robot(bodies=[], joints=[], points=[], limits={})
    planar = dimension == "planar"
    size = 2 if planar else 3
    for body in bodies:
        mass, com, _ = body.mass
        inertia = _inertia(body, planar, stands=base == "fixed" and body.joint is None)
        robot["bodies"].append(
            {"name": body.link, "mass_kg": mass, "com_m": com[:size].tolist(), "inertia_kg_m2": inertia}
        )
        robot["points"] += [
            {"name": link, "body": body.link, "position_m": p[:size].tolist(), "rotation_rad": list(angles(R))}
            for link, R, p in body.frames
        ]
        if body.joint:
            robot["joints"].append(_table_of_joint(body.joint, planar))
            if body.joint.limits:
                robot["limits"][body.joint.name] = body.joint.limits
    return robot


def _inertia(body: Body, planar: bool, stands: bool) -> float | list[float]:
    tensor = body.mass.inertia
    moments = tensor[2:, 2] if planar else np.linalg.eigvalsh(tensor)
    if moments[0] <= 1e-12 * abs(moments[-1]):
        if not stands:
            raise InputError(
                f"link '{body.link}': with all that is fixed to it the moments of inertia are "
                f"{shown(moments.tolist())}, expected none of zero in a body that moves"
            )
        tensor = NOMINAL.inertia
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor.tolist()
    return zz if planar else [xx, yy, zz, xy, xz, yz]


def _table_of_joint(joint: Joint, planar: bool) -> dict[str, Any]:
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
    }
