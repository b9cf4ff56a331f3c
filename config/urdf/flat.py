"""A robot whose joints keep it in a plane, with all frames turned into that plane."""

from __future__ import annotations

import math

import numpy as np

from granite.config.errors import InputError, shown
from granite.config.rotations import Array, rotation
from granite.config.urdf.parts import UrdfBody, UrdfJoint, triple

#: tolerance of an axis out of its plane [rad]: files have 1.5708 for a quarter turn, and the errors add up
_LEAN = 1e-4


def laid_flat(bodies: list[UrdfBody]) -> list[UrdfBody]:
    """The bodies with axes that lie in the root's plane, so that z can be left out.

    With all turns about the root's z and all slides along its plane, every frame stays at its height. The x axis of a
    body becomes that of its link as seen from above, or, where that stands upright, its y axis the link's.
    """
    R_0: dict[str, Array] = {}  # axes of the links in the root's, all coordinates at zero
    yaw: dict[str, float] = {}
    flat = []
    for body in bodies:
        joint, link = body.joint, body.link
        R_0[link] = R_0[joint.parent] @ rotation(joint.rpy) if joint else np.eye(3)
        yaw[link] = _heading(R_0[link])
        A = rotation((0.0, 0.0, -yaw[link])) @ R_0[link]  # from the link's axes to the flat ones
        if joint:
            _refuse_out_of_plane(joint, R_0[link] @ joint.axis)
            A_parent = rotation((0.0, 0.0, -yaw[joint.parent])) @ R_0[joint.parent]
            rpy = (0.0, 0.0, yaw[link] - yaw[joint.parent])
            joint = joint._replace(origin=triple(A_parent @ joint.origin), rpy=rpy, axis=A @ joint.axis)
        frames = [(name, rotation((0.0, 0.0, _heading(A @ R))), A @ p) for name, R, p in body.frames]
        still = np.zeros(3)
        shapes = [shape.seen_from(A, still) for shape in body.shapes]
        flat.append(UrdfBody(link, joint, frames, body.mass.seen_from(A, still), shapes))
    return flat


def _refuse_out_of_plane(joint: UrdfJoint, axis: Array) -> None:
    key = f"joint '{joint.name}'"
    problem = f"its axis is {shown(np.round(axis, 6).tolist())} in the root's axes"
    along_z = float(axis[2])
    if joint.kind == "prismatic":
        if abs(along_z) > _LEAN:
            expected = "one in the plane of x and y for a prismatic joint of a planar module"
            raise InputError(problem, key=key, expected=expected)
    elif math.hypot(axis[0], axis[1]) > _LEAN:
        raise InputError(problem, key=key, expected="[0, 0, 1] for a joint that turns in a planar module")
    elif along_z < 0:
        # Turned round here, its coordinate and limits would change sign, and nobody would see it.
        raise InputError(problem, key=key, expected="[0, 0, 1] in a planar module: reverse it in the file")


def _heading(R: Array) -> float:
    if math.hypot(R[0, 0], R[1, 0]) > 1e-3:
        return math.atan2(R[1, 0], R[0, 0])
    return math.atan2(-R[0, 1], R[1, 1])
