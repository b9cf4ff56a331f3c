"""Path of an object in space: legs of displacement and turn, each with minimum jerk or with sine ramps.

    p = p_0 + s d          R = R_0 exp(s r)          s from 0 to 1

d is in world axes, the rotation vector r in the axes of the object at the start of the leg, so that the angular
velocity in body axes is s' r. It begins at the pose estimated when the state becomes ready.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Angle, Name, NotNegative, Positive, Table
from granite.config.behaviour import Behaviour
from granite.config.errors import InputError, one_of
from granite.config.records import Array
from granite.controllers.behaviours.timed_path import PathMotion, TimedPath
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.leg import refuse_long_ramp
from granite.controllers.trajectories.minimum_jerk import MinimumJerk
from granite.controllers.trajectories.sine_ramps import SineRamps
from granite.mrds.tolerances import SAME_TIME_S


class ObjectLeg(Table):
    """Move and turn in `duration_s`, then stay for `hold_s`."""

    duration_s: Positive  #: time of the motion
    hold_s: NotNegative = 0.0  #: time at rest after it
    #: accelerate by half a sine for that time, coast and decelerate; without it the leg has minimum jerk
    ramp_s: Positive | None = None
    #: displacement, world axes
    move_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    #: rotation vector, axes of the object at the start of the leg
    turn_rad: tuple[Angle, Angle, Angle] = (0.0, 0.0, 0.0)

    @model_validator(mode="after")
    def _ramps_fit(self) -> ObjectLeg:
        refuse_long_ramp(self.ramp_s, self.duration_s)
        return self


class ObjectPath(TimedPath):
    """Follows the legs in turn; other modules get the pose they start in."""

    class Options(Behaviour):
        """The object and the legs of its path."""

        #: may be left out where the controller knows one object
        object: Name | None = None
        legs: tuple[ObjectLeg, ...] = Field(min_length=1)  #: of the path, in turn

    def __init__(self, options: Options, model: ControlModel) -> None:
        objects = [m.name for m in model.floating if m.dimension == "spatial"]
        name = options.object or (objects[0] if len(objects) == 1 else None)
        if name not in objects:
            known = one_of(str(name), objects) if objects else "one that floats in space"
            raise InputError("no such object", key="behaviour.object", value=name, expected=known)
        own_q, own_u = model.layout.q[name], model.layout.u[name]

        def motion(since: ca.SX, start: ca.SX, row: ca.SX, n_u: int) -> PathMotion:
            pose, way, rate, acceleration, done = _motion(since, start[own_q], row)
            q, u, a = ca.SX(start), ca.SX.zeros(n_u), ca.SX.zeros(n_u)
            q[own_q], u[own_u], a[own_u] = pose, rate * way, acceleration * way
            return PathMotion(q, u, a, done)

        super().__init__(model, "object_path", f"{own_q} {own_u}", *_table(options.legs), motion)


def _table(legs: tuple[ObjectLeg, ...]) -> tuple[Array, Array]:
    """When each leg begins [s], and its numbers: that time, duration, ramp as a part of it, when the last hold is
    over, displacement, turn, and displacement and rotation (quaternion) by the legs before it."""
    t, moved, turned, rows = 0.0, np.zeros(3), ca.DM([1.0, 0.0, 0.0, 0.0]), []
    for leg in legs:
        ramp = (leg.ramp_s or 0.0) / leg.duration_s
        rows.append([t, leg.duration_s, ramp, 0.0, *leg.move_m, *leg.turn_rad, *moved, *turned.full().ravel()])
        t, moved = t + leg.duration_s + leg.hold_s, moved + np.array(leg.move_m)
        turned = _product(turned, _turn(ca.DM(leg.turn_rad), 1.0))
    table = np.array(rows)
    table[:, 3] = t - SAME_TIME_S
    return table[:, 0] - SAME_TIME_S, table


def _motion(since: ca.SX, start: ca.SX, row: ca.SX) -> tuple[ca.SX, ...]:
    """Pose of the object, way of the leg, rate and acceleration along it, and whether it is done."""
    begins, duration, ramp, end = ca.vertsplit(row[:4])
    way, moved, turned = row[4:10], row[10:13], row[13:]
    tau = (since - begins) / duration
    moves = ca.logic_and(tau > 0, tau < 1)
    curves = (kind.curve(tau, ramp) for kind in (SineRamps, MinimumJerk))
    s, rate, acceleration = (ca.if_else(ramp > 0, *both) for both in zip(*curves, strict=True))
    s = ca.if_else(moves, s, tau >= 1)
    rate, acceleration = (ca.if_else(moves, x, 0.0) for x in (rate / duration, acceleration / (duration * duration)))
    rotation = _product(_product(start[3:], turned), _turn(way[3:], s))
    return ca.vertcat(start[:3] + moved + s * way[:3], rotation), way, rate, acceleration, since >= end


def _turn(vector: Any, s: Any) -> Any:
    """The quaternion of the part s of a rotation vector."""
    angle = ca.norm_2(vector)
    axis = vector / ca.if_else(angle > 0, angle, 1.0)
    return ca.vertcat(ca.cos(s * angle / 2), ca.sin(s * angle / 2) * axis)


def _product(p: Any, q: Any) -> Any:
    """Hamilton's product of two quaternions, scalar first."""
    return ca.vertcat(p[0] * q[0] - ca.dot(p[1:], q[1:]), p[0] * q[1:] + q[0] * p[1:] + ca.cross(p[1:], q[1:]))
