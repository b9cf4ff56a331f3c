"""Path of an object in space: legs of displacement and turn, each with minimum jerk.

    p = p_0 + s d          R = R_0 exp(s r)          s from 0 to 1

d is in world axes, the rotation vector r in the axes of the object at the start of the leg, so that the angular
velocity in body axes is s' r. It begins at the pose estimated when the state becomes ready.
"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np
from pydantic import Field

from granite.config.base import Angle, Name, NotNegative, Positive, Table
from granite.config.behaviour import Behaviour
from granite.config.errors import InputError, one_of
from granite.config.records import Array, Reference, State
from granite.controllers.behaviours.holds import Holds
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.minimum_jerk import MinimumJerk
from granite.mrds.tolerances import SAME_TIME_S


class ObjectLeg(Table):
    """Move and turn in `duration_s`, then stay for `hold_s`."""

    duration_s: Positive
    hold_s: NotNegative = 0.0
    #: displacement, world axes
    move_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    #: rotation vector, axes of the object at the start of the leg
    turn_rad: tuple[Angle, Angle, Angle] = (0.0, 0.0, 0.0)


class ObjectPath:
    """Follows the legs in turn; other modules get the pose they start in."""

    class Options(Behaviour):
        """The object and the legs of its path."""

        #: may be left out where the controller knows one object
        object: Name | None = None
        legs: tuple[ObjectLeg, ...] = Field(min_length=1)

    def __init__(self, options: Options, model: ControlModel) -> None:
        objects = [m.name for m in model.floating if m.dimension == "spatial"]
        name = options.object or (objects[0] if len(objects) == 1 else None)
        if name not in objects:
            known = one_of(str(name), objects) if objects else "one that floats in space"
            raise InputError("no such object", key="behaviour.object", value=name, expected=known)
        self._q, self._u = model.layout.q[name], model.layout.u[name]
        self._n, self._legs, self._holds = model.n, options.legs, Holds(model.bed)
        self._begins = [0.0, *accumulate(leg.duration_s + leg.hold_s for leg in options.legs)]
        self._curves = [
            MinimumJerk(np.zeros(1), np.ones(1), t0, leg.duration_s)
            for t0, leg in zip(self._begins, options.legs, strict=False)
        ]
        #: coordinates at the start of the leg; when the path began
        self._start: Array | None = None
        self._began, self._leg = 0.0, 0

    def decide(self, state: State) -> Reference:
        """The reference at the time of the state. Until the state is ready, the reference is the estimate."""
        u, a = np.zeros(self._n), np.zeros(self._n)
        if self._start is None:
            if not state.ready:
                return Reference(state.t, np.nan_to_num(state.q), u, a, False, self._holds.at(state.t))
            self._start, self._began = state.q.copy(), state.t
        t = state.t - self._began
        while self._leg + 1 < len(self._legs) and t + SAME_TIME_S >= self._begins[self._leg + 1]:
            self._start = self._at(1.0)
            self._leg += 1
        leg = self._legs[self._leg]
        (s,), (rate,), (acceleration,) = (x.tolist() for x in self._curves[self._leg].at(t))
        way = np.array([*leg.move_m, *leg.turn_rad])
        u[self._u], a[self._u] = rate * way, acceleration * way
        done = t + SAME_TIME_S >= self._begins[-1]
        return Reference(state.t, self._at(s), u, a, done, self._holds.at(state.t))

    def _at(self, s: float) -> Array:
        """Coordinates after the part s of the leg."""
        assert self._start is not None
        leg, q = self._legs[self._leg], self._start.copy()
        own = q[self._q]
        own[:3] += s * np.array(leg.move_m)
        angle = s * math.hypot(*leg.turn_rad)
        if angle:
            axis = s * np.array(leg.turn_rad) / angle
            own[3:7] = _product(own[3:7], np.array([math.cos(angle / 2), *(math.sin(angle / 2) * axis)]))
        return q


def _product(p: Array, q: Array) -> Array:
    """Hamilton's product of two quaternions, scalar first."""
    return np.array(
        [p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))], dtype=np.float64
    )
