"""Computed torque: the model turns demanded accelerations into generalised forces.

    a = a_ref + K_v (u_ref - u) + K_p (q_ref - q)          (Stanford report, 4.4.4, with erratum E9)
    F = M(q) a + h(q, u)                                   (there, with erratum E10)

The printed law misses the map Y from coordinate rates to the report's absolute rates; our u are the rates of q, so Y is
the identity here.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.records import Demand, Reference, State, new
from granite.config.testbed import Testbed
from granite.mrds.compilation import compile_functions
from granite.mrds.dynamics import Dynamics, wrench_on_root
from granite.mrds.tree import Tree


class ComputedTorque:
    """The law with the gains of a testbed."""

    def __init__(self, bed: Testbed) -> None:
        tree = Tree(bed.robot)
        gains = [bed.gain(v.name) for v in bed.estimated_velocities]
        self._run, self._n = compile_functions("computed_torque", [_function(tree)])["computed_torque"].run, len(gains)
        self.stiffness = np.array([g.stiffness_1_s2 for g in gains])
        self.damping = np.array([g.damping_1_s for g in gains])

    def control(self, state: State, reference: Reference) -> Demand:
        """The accelerations and forces that bring the robot to its reference."""
        found = self._run((state.q, state.u, reference.q, reference.u, reference.a, self.stiffness, self.damping))
        n = self._n
        return new(Demand, (state.t, found[:n], found[n : 2 * n], found[2 * n :]))


def _function(tree: Tree) -> ca.Function:
    dynamics, n = Dynamics(tree), tree.u.numel()
    q_ref, u_ref, a_ref, kp, kv = (ca.SX.sym(s, n) for s in ("q_ref", "u_ref", "a_ref", "kp", "kv"))
    a = a_ref + kv * (u_ref - tree.u) + kp * (q_ref - tree.q)
    force = ca.substitute(dynamics.inverse, dynamics.acceleration, a)
    inputs = [tree.q, tree.u, q_ref, u_ref, a_ref, kp, kv]
    return ca.Function("computed_torque", inputs, [a, force, wrench_on_root(tree, force)])
