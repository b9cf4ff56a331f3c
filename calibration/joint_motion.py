"""Motion of clamped modules under motor torques, in symbols, with its derivatives by gains and friction.

    M(q) u' + h(q, u) = g tau - d u - f (z + damping z')

of every joint with a motor: g the torque gain, d the viscous and f the Coulomb friction of bristles with the deflection
z, which hold a joint at rest (`sim/plant/bristles.py`). Static friction by Coulomb friction, which fades out above v0,
and the angle from rest until a joint slides are numbers of the motion, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from granite.config.coordinates import velocities
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.kernels.compilation import compile_once
from granite.mrds.dynamics import Dynamics
from granite.mrds.integrators import rk4
from granite.mrds.tree import Tree
from granite.sim.plant.bristles import bristles


class JointMotion:
    """Angles over time of torques, and their derivatives.

    Parameters
    ----------
    bed, modules
        The testbed, and its modules on fixed bases that are meant, or parts of them.
    driven
        Indices in their u of the joints with motors.
    fades
        Rates v0 of their friction (n) [rad/s].
    """

    def __init__(self, bed: Testbed, modules: Sequence[Module], driven: list[int], fades: Array) -> None:
        self.n_u = sum(len(velocities(module)) for module in modules)
        joints = [joint.name for module in modules for joint in module.joints]
        key = bed.plant_fingerprint and f"{bed.plant_fingerprint} {joints} {driven} {fades.tolist()}"
        kernels = compile_once("joint_motion", key, lambda: [_tick(bed, modules, driven, fades)])
        self._run = kernels["tick"].run

    def angles(self, numbers: Array, start: Array, torques: Array) -> tuple[Array, Array]:
        """Angles of all joints at each tick, and their derivatives.

        Parameters
        ----------
        numbers
            Of each motor gain, viscous and Coulomb friction, static by Coulomb friction, logarithm of the angle from
            rest until it slides (5 n).
        start
            q and u at the first tick, and deflections of the bristles (2 n_u + n).
        torques
            Commanded from each tick to the next (ticks, n) [N m].

        Returns
        -------
        tuple
            (ticks, n_u), and by numbers and start (ticks, n_u, 6 n + 2 n_u).
        """
        k, size = len(numbers) + len(start), len(start)
        state = np.concatenate((start, np.zeros(size * k)))
        sensitivity = state[size:].reshape(k, size)  # column after column
        sensitivity[len(numbers) :] = np.eye(size)
        states = np.empty((len(torques), len(state)))
        for i, torque in enumerate(torques):
            states[i] = state
            state = self._run((state, numbers, torque))
        by = states[:, size:].reshape(len(torques), k, size).transpose(0, 2, 1)
        return states[:, : self.n_u], by[:, : self.n_u]


def _tick(bed: Testbed, modules: Sequence[Module], driven: list[int], fades: Array) -> ca.Function:
    """(state and its derivatives, numbers, torque) -> the same one tick later."""
    trees, step = [Tree(module) for module in modules], bed.simulation.physics_step_s
    n, n_u = len(driven), sum(tree.u.numel() for tree in trees)
    n_x, n_start = 2 * n_u + n, 2 * n_u
    numbers = ca.SX.sym("numbers", 5 * n)
    torque, z = ca.SX.sym("torque", n), ca.SX.sym("z", n)
    x = ca.SX.sym("x", n_x)
    gain, viscous, coulomb, static, presliding = ca.vertsplit(numbers, n)
    q = ca.vertcat(*(tree.q for tree in trees))
    u = ca.vertcat(*(tree.u for tree in trees))
    force, bending = ca.SX.zeros(n_u), []
    for i, row in enumerate(driven):
        part, rate = bristles(
            u[row],
            z[i],
            presliding=ca.exp(presliding[i]),
            damping_s=bed.simulation.joint_friction.presliding_damping_s,
            static_ratio=static[i],
            v0=float(fades[i]),
            step=step,
        )
        force[row] = gain[i] * torque[i] - viscous[i] * u[row] - coulomb[i] * part
        bending.append(rate)
    parts = ca.vertsplit(force, np.cumsum([0, *(tree.u.numel() for tree in trees)]).tolist())
    forward = [Dynamics(tree).forward(part) for tree, part in zip(trees, parts, strict=True)]
    rates = ca.Function("rate", [q, u, z, numbers, torque], [ca.vertcat(u, *forward, *bending)])
    after = rk4(lambda y, _: rates(y[:n_u], y[n_u:n_start], y[n_start:], numbers, torque), x, step)
    one = ca.Function("one", [x, numbers, torque], [after, ca.jacobian(after, x), ca.jacobian(after, numbers)])

    whole = ca.MX.sym("whole", n_x * (1 + 5 * n + n_x))
    parameters = ca.MX.sym("numbers", 5 * n)
    commanded = ca.MX.sym("torque", n)
    at = whole[:n_x]
    S = ca.reshape(whole[n_x:], n_x, 5 * n + n_x)
    for _ in range(round(bed.loop.period_s / step)):
        at, A, B = one(at, parameters, commanded)
        S = A @ S + ca.horzcat(B, ca.MX.zeros(n_x, n_x))
    return ca.Function("tick", [whole, parameters, commanded], [ca.vertcat(at, ca.vec(S))])
