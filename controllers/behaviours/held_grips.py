"""Grips on a planar object from the estimate: where they are, how they move, and whether one slips.

The estimator must believe a camera more than the model while arms with unknown friction hold the object. For hands that
follow it that is too noisy, so that its motion is filtered once more, without a lag at constant velocity:

    q <- q + T u + T / t_f (q_est - q)          u <- u + T / t_f (u_est - u)
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array, State
from granite.controllers.behaviours.hands import arm_of
from granite.controllers.laws.carrying import ArmGrip, arm_grips, carried_object, inward_axes
from granite.controllers.laws.grip_forces import (
    friction_excess,
    local,
    measured_grips,
    measured_wrenches,
    n_gauge_signals,
)
from granite.controllers.laws.reach_and_carry import ReachAndCarry
from granite.controllers.model import ControlModel
from granite.kernels.compilation import compile_once

#: t_f: longer than the correlation of the estimate's noise, shorter than a reach
_FILTER_S = 1.0
#: gauges show no contact below this [N]: above their noise, below any squeeze
_LEAST_N = 0.1


class GripMotions(NamedTuple):
    """Each of all grips, a row for each: x and y in world axes."""

    x: Array  #: [m]
    v: Array  #: [m/s]
    drift: Array  #: acceleration while the object floats freely [m/s^2]
    outward: Array  #: unit vector away from the object


class UnreachableGrip(NamedTuple):
    """A grip that its arm can't reach."""

    contact: str
    distance: float  #: from the first joint of the arm [m]
    longest: float  #: the straight arm [m]


class HeldGrips:
    """The grips of all arms on the object that the law carries."""

    def __init__(self, model: ControlModel, contacts: tuple[str, ...]) -> None:
        bed, law = model.bed, model.bed.control.law
        if not isinstance(law, ReachAndCarry.Options):
            kind = "reach_and_carry"
            raise InputError(key="controller.law.kind", value=law.kind, expected=f"'{kind}', which carries an object")
        self.carried = carried_object(bed, law.object)
        self._model, self._grips = model, arm_grips(bed, self.carried)
        names = [grip.contact.name for grip in self._grips]
        if sorted(names) != sorted(contacts):
            expected = f"the grips of all arms on '{self.carried.name}': {', '.join(names)}"
            raise InputError(key="behaviour.contacts", value=list(contacts), expected=expected)
        for grip in self._grips:
            if grip.has_moment or grip.arm.dimension != "planar":
                problem = f"grip '{grip.contact.name}' is of kind {grip.contact.kind}"
                raise InputError(problem, key="behaviour.contacts", expected="a pin in the plane")
        self._own = model.layout.q[self.carried.name]
        #: first joint of each arm, which is fixed, and the length of the straight arm [m]
        arms = [arm_of(grip.arm, grip.tip)[1:] for grip in self._grips]
        roots = [
            model.trees[grip.arm.name].point(grip.arm.root.name, tuple(root)).position[:2]
            for grip, (root, _) in zip(self._grips, arms, strict=True)
        ]
        shoulders = ca.Function("shoulders", [model.q], [ca.horzcat(*roots)])
        self._shoulders: Array = np.array(shoulders(np.zeros(model.q.numel()))).T
        self._longest: Array = np.array([longest for _, longest in arms])
        #: pose and rates of the object
        self._filtered: tuple[Array, Array] | None = None
        #: of the last tick
        self.motions: GripMotions
        #: names of the points of the arms among the targets of the tasks
        self.hands = tuple(f"{grip.arm.name}_{grip.tip}" for grip in self._grips)
        key = bed.fingerprint and f"{bed.fingerprint} {law.model_dump_json(include={'object', 'friction'})}"
        kernels = compile_once("held_grips", key, lambda: _functions(model, law, self._grips))
        self._motion = kernels["grip_motions"].run
        self._excess = kernels["grip_excess"].run if law.friction else None
        self._push = kernels["grip_push"].run if law.friction else None
        self._least_n = max(law.friction.least_n, _LEAST_N) if law.friction else 0.0

    def restart(self) -> None:
        """Before the first estimate."""
        self._filtered = None

    def observe(self, state: State) -> None:
        """Take the estimate of a tick; `motions` are then those of its time."""
        seen, rate, own = state.q.copy(), state.u.copy(), self._own
        if self._filtered is not None:
            q, u = self._filtered
            period = self._model.bed.loop.period_s
            part = period / _FILTER_S
            seen[own] = q + period * u + part * (state.q[own] - q)
            rate[own] = u + part * (state.u[own] - u)
        else:
            rate[own] = 0.0  # an object at rest, as the estimator assumes
        self._filtered = seen[own], rate[own]
        x, v, drift, outward = self._motion((seen, rate)).reshape(4, -1, 2)
        self.motions = GripMotions(x, v, drift, outward)

    def slips(self, state: State) -> bool:
        """Whether the measured force of a grip is outside its friction cone; never without force gauges."""
        return self._excess is not None and bool((self._excess((state.q, state.gauges)) > 0).any())

    def pushes(self, state: State) -> bool:
        """Whether every hand pushes its grip, by force gauges; always without them."""
        return self._push is None or bool((self._push((state.q, state.gauges)) > self._least_n).all())

    def grip_positions(self, state: State) -> Array:
        """Where the grips are, by the estimate without the filter [m]."""
        x: Array = self._motion((state.q, state.u)).reshape(4, -1, 2)[0]
        return x

    def out_of_reach(self, pose: Array) -> UnreachableGrip | None:
        """The first grip that its arm could not reach with the object at this pose."""
        model, q = self._model, np.zeros(self._model.q.numel())
        q[self._own] = pose
        held = ca.horzcat(*(model.point(self.carried.name, grip.held).position[:2] for grip in self._grips))
        return self._first_far(np.array(ca.Function("held", [model.q], [held])(q)).T)

    def is_out_of_reach(self) -> bool:
        """Whether an arm can't reach its grip where the object is now."""
        return self._first_far(self.motions.x) is not None

    def _first_far(self, grip_positions: Array) -> UnreachableGrip | None:
        distances = np.linalg.norm(grip_positions - self._shoulders, axis=1)
        for grip, distance, longest in zip(self._grips, distances.tolist(), self._longest.tolist(), strict=True):
            if distance >= longest:
                return UnreachableGrip(grip.contact.name, distance, longest)
        return None


def _functions(model: ControlModel, law: ReachAndCarry.Options, grips: tuple[ArmGrip, ...]) -> list[ca.Function]:
    carried = carried_object(model.bed, law.object)
    points = [model.point(carried.name, grip.held) for grip in grips]
    axes = [
        point.rotation[:2, :2] @ ca.DM(inward_axes(carried, grip.held, 2))
        for point, grip in zip(points, grips, strict=True)
    ]
    motions = [
        *(point.position[:2] for point in points),
        *(point.velocity[:2] for point in points),
        *(point.drift[:2] for point in points),
        *(-pair[:, 0] for pair in axes),
    ]
    functions = [ca.Function("grip_motions", [model.q, model.u], [ca.densify(ca.vertcat(*motions))])]
    if law.friction is not None:
        gauges = ca.SX.sym("gauges", n_gauge_signals(model.bed))
        wrenches = measured_wrenches(model, measured_grips(model.bed, grips, "controller.law.friction"), gauges)
        forces = local(grips, ca.horzcat(*axes), wrenches)
        excess = [friction_excess(force, law.friction.coefficient) for force in forces]
        functions.append(ca.Function("grip_excess", [model.q, gauges], [ca.densify(ca.vertcat(*excess))]))
        pushes = ca.vertcat(*(force[0] for force in forces))
        functions.append(ca.Function("grip_push", [model.q, gauges], [ca.densify(pushes)]))
    return functions
