"""How far a floating body is from its reference, along its velocities: in a plane the difference of the coordinates.

In space the error of position is in world axes and that of the orientation a rotation vector in body axes, as u is:

    e = 2 atan2(|v|, w) v / |v|          (w, v) = q^-1 q_ref, the rotation from the body to its reference, w >= 0
"""

from __future__ import annotations

import casadi as ca


def pose_error(q: ca.SX, q_ref: ca.SX, u: ca.SX, u_ref: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Errors of pose and velocity."""
    if q.numel() == u.numel():
        return q_ref - q, u_ref - u
    between = _product(_inverse(q[3:7]), q_ref[3:7])
    between = ca.if_else(between[0] < 0, -between, between)
    # |v| + a tiny number: the direction of no rotation does not matter.
    size = ca.sqrt(ca.dot(between[1:], between[1:]) + 1e-30)
    rotation = 2 * ca.atan2(size, between[0]) / size * between[1:]
    # The rate of the reference is in its own axes.
    rate = _turned(between, u_ref[3:6])
    return ca.vertcat(q_ref[:3] - q[:3], rotation), ca.vertcat(u_ref[:3] - u[:3], rate - u[3:6])


def _inverse(q: ca.SX) -> ca.SX:
    return ca.vertcat(q[0], -q[1:])


def _product(p: ca.SX, q: ca.SX) -> ca.SX:
    """Hamilton's product of two quaternions, scalar first."""
    return ca.vertcat(p[0] * q[0] - ca.dot(p[1:], q[1:]), p[0] * q[1:] + q[0] * p[1:] + ca.cross(p[1:], q[1:]))


def _turned(q: ca.SX, v: ca.SX) -> ca.SX:
    """A vector in the axes from which the rotation q starts."""
    return v + 2 * ca.cross(q[1:], ca.cross(q[1:], v) + q[0] * v)
