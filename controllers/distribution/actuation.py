"""The allocate step: a demanded generalised force becomes motor torques and valve states.

Motors act on their joints, thrusters on the root body. On/off thrusters never deliver what was asked, and what they
miss would shake the arm. So the torques are solved again for the thrust f that the valves will really deliver, keeping
the demanded joint accelerations g (ours; the Stanford report of 1987 stops at the plain law): with b the coordinates
without a motor,

    M_bb a_b = (B f)_b - h_b - M_bj g          tau = M_jb a_b + M_jj g + h_j - (B f)_j
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.devices import Thrusters
from granite.config.records import Command, Demand, Reference, State, new
from granite.config.testbed import Testbed
from granite.controllers.places import places
from granite.controllers.thrusters.allocator import Allocator, CompiledAllocator, build_allocator
from granite.controllers.thrusters.delivery import build_delivery
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.mrds.compilation import compile_functions
from granite.mrds.dynamics import Dynamics, force_on_root, solve
from granite.mrds.tree import Tree


class Actuation:
    """Motors and thrusters of a testbed."""

    def __init__(self, bed: Testbed) -> None:
        names = [v.name for v in bed.estimated_velocities]
        driven = [names.index(m.joint) for m in bed.devices.motors]
        self._driven, self._n_driven = places(driven), len(driven)
        self._period = bed.loop.period_s
        thrusters, allocation = bed.devices.thrusters, bed.control.allocation
        n = len(thrusters.units) if thrusters else 0
        self._rest = Command(0.0, np.zeros(len(driven)), np.zeros(n), np.zeros(n))
        self._allocator: Allocator | CompiledAllocator | None = None
        if thrusters and allocation:
            self._allocator = build_allocator(thrusters, allocation, bed.robot.dimension, self._period)
            self._delivery = build_delivery(thrusters, allocation, self._period)
            function = _delivered(Tree(bed.robot), driven, thrusters, bed.control.resolve_delivered)
            self._deliver = compile_functions("delivered", [function])["delivered"].run

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        """Torques and valves for the demand, the thrust that will come of it, and the grips as they are to be."""
        if not state.ready:
            return self._rest._replace(t=state.t, grip=reference.grip)
        t = state.t
        if self._allocator is None:
            return Command(t, demand.force[self._driven], self._rest.opening, self._rest.thrust, reference.grip)
        opening = self._delivery.command(t, self._allocator.allocate(t, demand.wrench))
        mean = self._delivery.mean_opening(t, t + self._period)
        found = self._deliver((state.q, state.u, demand.acceleration, demand.force, mean))
        return new(Command, (t, found[: self._n_driven], opening, found[self._n_driven :], reference.grip))


def _delivered(tree: Tree, driven: list[int], thrusters: Thrusters, resolve: bool) -> ca.Function:
    """(q, u, demanded acceleration and force, mean opening of each valve) -> torques of the driven joints, thrust."""
    dynamics, n = Dynamics(tree), tree.u.numel()
    free = [i for i in range(n) if i not in driven]
    demanded, demanded_force = ca.SX.sym("a", n), ca.SX.sym("F", n)
    opening = ca.SX.sym("opening", len(thrusters.units))
    thrust = ca.DM(available_thrust(thrusters)) * opening
    torque = demanded_force[driven]
    if resolve and driven:
        force = force_on_root(tree, ca.DM(thruster_matrix(thrusters, tree.module.dimension)) @ thrust)
        M, h, g = dynamics.mass_matrix, dynamics.bias, demanded[driven]
        a = ca.SX.zeros(n)
        a[driven] = g
        a[free] = solve(M[free, free], force[free] - h[free] - M[free, driven] @ g)
        torque = (ca.substitute(dynamics.inverse, dynamics.acceleration, a) - force)[driven]
    return ca.Function("delivered", [tree.q, tree.u, demanded, demanded_force, opening], [torque, thrust])
