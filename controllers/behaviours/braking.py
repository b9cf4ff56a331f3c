"""Braking to rest with bounded deceleration, then holding the pose; no part that a testbed names.

From the estimate when it begins, velocities that act together come to rest along their direction, with a constant
deceleration:

    q = q0 + u0 s - a s^2 / 2,   u = u0 - a s,   s = min(t - t0, |u0|/a)

Velocities that no actuator acts on have the estimate of the beginning as their reference; an object that grips have
not taken hold of has that of now.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import casadi as ca
import numpy as np

from granite.config.records import NOTHING, Array, State
from granite.controllers.behaviours.tasks import interrupted
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import SHORTEST_BRAKE_S, braked, decelerations
from granite.controllers.symbolic import SymbolicBehaviour
from granite.kernels.function_part import named_function
from granite.kernels.kernel import Kernel

#: speeds below which a coordinate is at rest, by its unit
_AT_REST = {"m/s": 0.005, "rad/s": 0.02}


class Braking(SymbolicBehaviour):
    """The reference of a robot that stops where it is; it begins again with every `begin`."""

    def __init__(self, model: ControlModel, kernels: Mapping[str, Kernel]) -> None:
        self._groups, self._slow, self._carried = braked(model), _slow(model), _carried(model)
        #: indices of the velocities that come to rest together
        self.groups = [group.indices for group in self._groups]
        moved = (i for group in self._groups for i in group.indices)
        sizes = [len(device.signals(model.bed)) for device in model.bed.direct_actuators.values()]
        zeros = {name: np.zeros(model.n) for name in ("q", "u", "a", "ends")}
        super().__init__(
            model.bed,
            kernels["braking"],
            {"direct": np.zeros(sum(sizes))},
            {"begun": np.zeros(1), "t0": np.zeros(1), **zeros},
            {"task": interrupted(model.bed, moved)},
        )
        self._inertia = kernels["inertia"].run

    def begin(self, direct: tuple[Array, ...]) -> None:
        """Brake from the next state on; set points of grips stay as they are."""
        self.memory["begun"][0] = 0.0
        self.parameters["direct"][:] = np.concatenate([NOTHING, *direct])

    def is_at_rest(self, state: State) -> bool:
        """Whether the brake is over, and the estimate is slow enough."""
        since = state.t - self.memory["t0"][0]
        if not self.memory["begun"][0] or since < self.memory["ends"].max(initial=0.0):
            return False
        return self.is_slow(state)

    def is_slow(self, state: State) -> bool:
        """Whether the estimate is slow enough to count as rest."""
        is_slow = np.abs(state.u) <= self._slow
        if not state.holding.all():
            is_slow[self._carried] = True
        return bool(is_slow.all())

    def most(self, q: Array) -> Array:
        """Deceleration of each velocity at a pose [m/s^2 or rad/s^2]; zero: it is left alone."""
        return decelerations(self._groups, self._inertia((q,)))


def braking_function(model: ControlModel) -> ca.Function:
    """The reference as a function of named numbers."""
    n, groups, moving = model.n, braked(model), np.isfinite(_slow(model))
    t, ready, begun, t0 = (ca.SX.sym(name) for name in ("t", "ready", "begun", "t0"))
    q0, u0, a0, ends0 = (ca.SX.sym(name, n) for name in ("q0", "u0", "a0", "ends0"))
    direct = ca.SX.sym("direct", sum(len(device.signals(model.bed)) for device in model.bed.direct_actuators.values()))
    starts = ca.logic_and(ca.logic_not(begun), ready)
    inertia, u = ca.diag(model.mass_matrix), ca.if_else(ca.DM(moving.astype(float)), model.u, 0.0)
    ends = ca.SX.zeros(n)
    for group in groups:
        indices = list(group.indices)
        most = group.deceleration or group.effort / inertia[indices[0]]
        ends[indices] = ca.fmax(ca.norm_2(u[indices]) / most, SHORTEST_BRAKE_S)
    a = ca.if_else(ends > 0, u / ca.if_else(ends > 0, ends, 1.0), 0.0)
    after = [ca.if_else(starts, new, old) for new, old in ((t, t0), (model.q, q0), (u, u0), (a, a0), (ends, ends0))]
    began, q_began, u_began, a_began, ends_began = after
    is_begun = ca.logic_or(begun, ready)
    s, brakes = ca.fmin(t - began, ends_began), t - began < ends_began
    brakes = ca.logic_and(is_begun, brakes)
    q = ca.if_else(is_begun, q_began + (u_began - 0.5 * a_began * s) * s, finite(model.q))
    rate, change = ca.if_else(brakes, u_began - a_began * s, 0.0), ca.if_else(brakes, -a_began, 0.0)
    holding, carried = ca.SX.sym("holding", len(model.bed.grips)), _carried(model)
    is_held = ca.sum1(ca.fabs(holding - 1.0)) == 0
    for i in carried:
        q[i], rate[i] = (ca.if_else(is_held, led, finite(seen)) for led, seen in ((q[i], model.q[i]), (rate[i], u[i])))
        change[i] = ca.if_else(is_held, change[i], 0.0)
    outputs = {
        "reference_q": q,
        "reference_u": rate,
        "reference_a": change,
        "reference_direct": direct,
        "next_begun": is_begun,
        **dict(zip(("next_t0", "next_q", "next_u", "next_a", "next_ends"), after, strict=True)),
    }
    inputs = {
        "state_t": t,
        "state_ready": ready,
        "state_q": model.q,
        "state_u": model.u,
        "parameter_direct": direct,
        "memory_begun": begun,
        "memory_t0": t0,
        "memory_q": q0,
        "memory_u": u0,
        "memory_a": a0,
        "memory_ends": ends0,
    }
    if carried:
        inputs["state_holding"] = holding
    return named_function("braking", inputs, outputs)


def finite(values: ca.SX) -> ca.SX:
    """The numbers with zero for what is not finite."""
    return ca.if_else(ca.fabs(values) < math.inf, values, 0.0)


def inertia_function(model: ControlModel) -> ca.Function:
    """(q) -> diagonal of the mass matrix."""
    return ca.Function("inertia", [model.q], [ca.diag(model.mass_matrix)])


def _slow(model: ControlModel) -> Array:
    """Speed of each velocity below which it rests; infinite where nothing brakes it."""
    slow: Array = np.full(model.n, np.inf)
    for group in braked(model):
        for i in group.indices:
            slow[i] = _AT_REST.get(model.layout.velocities[i].unit, np.inf)
    return slow


def _carried(model: ControlModel) -> list[int]:
    """Velocities of objects that grips take hold of."""
    if not model.bed.grips:
        return []
    return [i for group in braked(model) if group.is_carried for i in group.indices]
