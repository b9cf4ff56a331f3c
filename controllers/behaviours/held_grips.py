"""Grips on a planar object from the estimate, in symbols: where they are, how they move, and whether one slips.

The estimator must believe a camera more than the model while arms with unknown friction hold the object. For hands that
follow it that is too noisy, so that its motion is filtered once more, without a lag at constant velocity:

    q <- q + T u + T / t_f (q_est - q)          u <- u + T / t_f (u_est - u)
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.controllers.behaviours.hands import arm_of
from granite.controllers.laws.carrying import arm_grips, carried_object, inward_axes, vehicles
from granite.controllers.laws.grip_forces import friction_excess, local, measured_grips, measured_wrenches
from granite.controllers.laws.reach_and_carry import ReachAndCarry
from granite.controllers.model import ControlModel

#: t_f: longer than the correlation of the estimate's noise, shorter than a reach
_FILTER_S = 1.0
#: gauges show no contact below this [N]: above their noise, below any squeeze
_LEAST_N = 0.1


class GripMotions(NamedTuple):
    """Each of all grips and of the hands for them, x and y in world axes one after the other."""

    x: ca.SX  #: [m]
    v: ca.SX  #: [m/s]
    drift: ca.SX  #: acceleration while the object floats freely [m/s^2]
    outward: ca.SX  #: unit vectors away from the object
    hands: ca.SX  #: [m]
    hand_rates: ca.SX  #: [m/s]


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
        self._model, self._grips = model, arm_grips(bed, self.carried, may_float=True)
        names = [grip.contact.name for grip in self._grips]
        if sorted(names) != sorted(contacts):
            expected = f"the grips of all arms on '{self.carried.name}': {', '.join(names)}"
            raise InputError(key="behaviour.contacts", value=list(contacts), expected=expected)
        for grip in self._grips:
            if grip.has_moment or grip.arm.dimension != "planar":
                problem = f"grip '{grip.contact.name}' is of kind {grip.contact.kind}"
                raise InputError(problem, key="behaviour.contacts", expected="a pin in the plane")
        own = model.layout.q[self.carried.name]
        #: of the object in q and in u
        self.own = [*range(own.start, own.stop)]
        #: what the filter remembers: whether it has begun, pose and rates of the object
        self.n_memory = 1 + 2 * len(self.own)
        #: indices of the bases of vehicles in q and in u, which are the same in a plane, in the order of their names
        self.bases = {
            vehicle.name: [*range(model.layout.root_q(vehicle).start, model.layout.root_q(vehicle).stop)]
            for vehicle in vehicles(bed, self._grips)
        }
        arms = [arm_of(grip.arm, grip.tip)[1:] for grip in self._grips]
        #: first joint of each arm, and the length of the straight arm [m]
        self._shoulders = [
            model.trees[grip.arm.name].point(grip.arm.root.name, tuple(root)).position[:2]
            for grip, (root, _) in zip(self._grips, arms, strict=True)
        ]
        self._longest: Array = np.array([longest for _, longest in arms])
        #: length of the shortest of the straight arms [m]
        self.shortest_arm = float(self._longest.min())
        #: names of the points of the arms among the targets of the tasks
        self.hands = tuple(f"{grip.arm.name}_{grip.tip}" for grip in self._grips)
        self._friction = law.friction

    def filtered(self, q: ca.SX, u: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """The estimate with the filtered motion of the object, and the memory after the tick."""
        seen, rate, n = ca.SX(q), ca.SX(u), len(self.own)
        has_begun, x, v = ca.vertsplit(memory, [0, 1, 1 + n, 1 + 2 * n])
        period = self._model.bed.loop.period_s
        part = period / _FILTER_S
        seen[self.own] = ca.if_else(has_begun, x + period * v + part * (q[self.own] - x), q[self.own])
        # At the start an object at rest, as the estimator assumes.
        rate[self.own] = ca.if_else(has_begun, v + part * (u[self.own] - v), ca.SX.zeros(n))
        return seen, rate, ca.vertcat(1, seen[self.own], rate[self.own])

    def motions(self, q: ca.SX, u: ca.SX) -> GripMotions:
        """The motions of grips and hands."""
        model = self._model
        grips = [model.point(self.carried.name, grip.held) for grip in self._grips]
        hands = [model.point(grip.arm.name, grip.tip) for grip in self._grips]
        parts = [
            *([getattr(point, name)[:2] for point in grips] for name in ("position", "velocity", "drift")),
            [-axes[:, 0] for axes in self._axes()],
            *([getattr(point, name)[:2] for point in hands] for name in ("position", "velocity")),
        ]
        columns = [ca.densify(ca.vertcat(*part)) for part in parts]
        return GripMotions(*ca.Function("grip_motions", [model.q, model.u], columns)(q, u))

    def pushes(self, q: ca.SX, gauges: ca.SX) -> ca.SX:
        """Whether every hand pushes its grip, by force gauges; always without them."""
        pushes = ca.SX(1)
        for force in self._forces(q, gauges):
            pushes = ca.logic_and(pushes, force[0] > max(self._friction.least_n if self._friction else 0.0, _LEAST_N))
        return pushes

    def slips(self, q: ca.SX, gauges: ca.SX) -> ca.SX:
        """Whether the measured force of a grip is outside its friction cone; never without force gauges."""
        slips = ca.SX(0)
        for force in self._forces(q, gauges):
            slips = ca.logic_or(
                slips, friction_excess(force, self._friction.coefficient if self._friction else 0.0) > 0
            )
        return slips

    def distances(self, q: ca.SX, grips: ca.SX) -> list[ca.SX]:
        """From the first joint of each arm to its grip [m]."""
        shoulders = ca.Function("shoulders", [self._model.q], [ca.vertcat(*self._shoulders)])(q)
        return [ca.norm_2(off) for off in ca.vertsplit(grips - shoulders, 2)]

    def is_out_of_reach(self, q: ca.SX, grips: ca.SX) -> ca.SX:
        """Whether an arm can't reach its grip where it is."""
        far = ca.SX(0)
        for distance, longest in zip(self.distances(q, grips), self._longest.tolist(), strict=True):
            far = ca.logic_or(far, distance >= longest)
        return far

    def out_of_reach(self, coordinates: list[int], pose: Array) -> UnreachableGrip | None:
        """The first grip that its arm could not reach with object and bases at this pose."""
        model, q = self._model, np.zeros(self._model.q.numel())
        q[coordinates] = pose
        held = ca.vertcat(*(model.point(self.carried.name, grip.held).position[:2] for grip in self._grips))
        found = ca.Function("distances", [model.q], [ca.vertcat(*self.distances(model.q, held))])(q)
        for grip, distance, longest in zip(self._grips, np.ravel(found).tolist(), self._longest.tolist(), strict=True):
            if distance >= longest:
                return UnreachableGrip(grip.contact.name, distance, longest)
        return None

    def _axes(self) -> list[ca.SX]:
        """Of each grip, the first of them inward."""
        points = (self._model.point(self.carried.name, grip.held).rotation[:2, :2] for grip in self._grips)
        inward = (ca.DM(inward_axes(self.carried, grip.held, 2)) for grip in self._grips)
        return [rotation @ axes for rotation, axes in zip(points, inward, strict=True)]

    def _forces(self, q: ca.SX, gauges: ca.SX) -> list[ca.SX]:
        """The measured force of each grip in its axes; none where it is not measured."""
        if self._friction is None:
            return []
        model, symbols = self._model, ca.SX.sym("gauges", gauges.numel())
        measured = measured_grips(model.bed, self._grips, "controller.law.friction")
        forces = local(self._grips, ca.horzcat(*self._axes()), measured_wrenches(model, measured, symbols))
        results = ca.Function("grip_forces", [model.q, symbols], forces).call([q, gauges])
        return list(results)
