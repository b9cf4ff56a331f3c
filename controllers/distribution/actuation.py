"""The allocate step: a demanded generalised force becomes motor torques and valve states.

Motors act on their joints, thrusters on the root body. On/off thrusters never deliver what was asked, and what they
miss would shake the arm. So the torques are solved again for the thrust f that the valves will really deliver, keeping
the demanded joint accelerations g (ours; the Stanford report of 1987 stops at the plain law): with b the coordinates
without a motor,

    M_bb a_b = (B f)_b - h_b - M_bj g          tau = M_jb a_b + M_jj g + h_j - (B f)_j
"""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from config.controller import Allocation
from config.devices import Thrusters
from config.records import Array, Command, Demand, State
from config.testbed import Testbed
from controllers.places import places
from controllers.thrusters.allocator import build_allocator
from controllers.thrusters.delivery import Delivery
from mrds.compilation import compile_functions
from mrds.dynamics import WRENCH, Dynamics, force_on_root, solve
from mrds.tree import Tree


class Actuation:
    """Motors and thrusters of a testbed."""

    def __init__(self, bed: Testbed) -> None:
        tree = Tree(bed.robot)
        names = [v.name for v in tree.velocities]
        driven = [names.index(m.joint) for m in bed.devices.motors]
        self._driven = places(driven)
        self._thrusters: _Thrusters | None = None
        if bed.devices.thrusters and bed.controller.allocation:
            self._thrusters = _Thrusters(bed, bed.devices.thrusters, bed.controller.allocation)
        self._resolve = None
        if self._thrusters and bed.controller.resolve_delivered and driven:
            function = _delivered_torques(tree, driven)
            self._resolve = compile_functions("delivered_torques", [function])["delivered_torques"]
        n = self._thrusters.n if self._thrusters else 0
        self._rest = Command(0.0, np.zeros(len(driven)), np.zeros(n), np.zeros(n))

    def rest(self, t: float) -> Command:
        """Motors at zero, valves closed."""
        return self._rest._replace(t=t)

    def allocate(self, state: State, demand: Demand) -> Command:
        """Torques and valves for the demand, and the thrust that will come of it."""
        if not state.ready:
            return self.rest(state.t)
        torque = demand.force[self._driven]
        if self._thrusters is None:
            return Command(state.t, torque, self._rest.opening, self._rest.thrust)
        opening, thrust, wrench = self._thrusters.open(state.t, float(state.q[2]), demand.force)
        if self._resolve is not None:
            torque = self._resolve(state.q, state.u, demand.acceleration, wrench)[0].copy()
        return Command(state.t, torque, opening, thrust)


class _Thrusters:
    """Which valves to open for a demanded force, and what the vehicle will feel of it until the next tick."""

    def __init__(self, bed: Testbed, thrusters: Thrusters, allocation: Allocation) -> None:
        self.n = len(thrusters.units)
        self._period = bed.loop.period_s
        self._allocator = build_allocator(thrusters, allocation, bed.robot.dimension, self._period)
        self._delivery = Delivery(thrusters, allocation, bed.robot.dimension)

    def open(self, t: float, heading: float, force: Array) -> tuple[Array, Array, Array]:
        """Openings, expected mean thrust of each, and the wrench of that on the root in its own axes."""
        c, s = math.cos(heading), math.sin(heading)
        fx, fy, mz = force[:3].tolist()
        wanted = self._allocator.allocate(t, np.array((c * fx + s * fy, c * fy - s * fx, mz)))
        opening = self._delivery.command(t, wanted)
        thrust = self._delivery.thrust(t, t + self._period)
        return opening, thrust, self._delivery.wrench(thrust)


def _delivered_torques(tree: Tree, driven: list[int]) -> ca.Function:
    """(q, u, demanded acceleration, wrench on the root) -> torques of the driven joints."""
    dynamics, n = Dynamics(tree), tree.u.numel()
    free = [i for i in range(n) if i not in driven]
    demanded, wrench = ca.SX.sym("a", n), ca.SX.sym("w", WRENCH[tree.module.dimension])
    force = force_on_root(tree, wrench)
    M, h, g = dynamics.mass_matrix, dynamics.bias, demanded[driven]
    a = ca.SX.zeros(n)
    a[driven] = g
    a[free] = solve(M[free, free], force[free] - h[free] - M[free, driven] @ g)
    torque = ca.substitute(dynamics.inverse, dynamics.acceleration, a) - force
    return ca.Function("delivered_torques", [tree.q, tree.u, demanded, wrench], [torque[driven]])
