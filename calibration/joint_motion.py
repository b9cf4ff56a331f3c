"""Motion of clamped modules under motor torques, in symbols, with its derivatives by gains and friction.

    M(q) u' + h(q, u) = g tau - d u - f u / sqrt(u^2 + v0^2)

of every joint with a motor: g the torque gain, d the viscous and f the Coulomb friction, which fades out below v0.
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
            Gain, viscous and Coulomb friction of each motor (3 n).
        start
            q and u at the first tick (2 n_u).
        torques
            Commanded from each tick to the next (ticks, n) [N m].

        Returns
        -------
        tuple
            (ticks, n_u), and by numbers and start (ticks, n_u, 3 n + 2 n_u).
        """
        k = len(numbers) + len(start)
        state = np.concatenate((start, np.zeros((len(start), k)).ravel()))
        sensitivity = state[len(start) :].reshape(k, len(start))  # column after column
        sensitivity[len(numbers) :] = np.eye(len(start))
        states = np.empty((len(torques), len(state)))
        for i, torque in enumerate(torques):
            states[i] = state
            state = self._run((state, numbers, torque))
        by = states[:, len(start) :].reshape(len(torques), k, len(start)).transpose(0, 2, 1)
        return states[:, : self.n_u], by[:, : self.n_u]


def _tick(bed: Testbed, modules: Sequence[Module], driven: list[int], fades: Array) -> ca.Function:
    """(state and its derivatives, numbers, torque) -> the same one tick later."""
    trees = [Tree(module) for module in modules]
    n, n_u = len(driven), sum(tree.u.numel() for tree in trees)
    numbers = ca.SX.sym("numbers", 3 * n)
    torque = ca.SX.sym("torque", n)
    x = ca.SX.sym("x", 2 * n_u)
    gain, viscous, coulomb = ca.vertsplit(numbers, n)
    q = ca.vertcat(*(tree.q for tree in trees))
    u = ca.vertcat(*(tree.u for tree in trees))
    force = ca.SX.zeros(n_u)
    for i, row in enumerate(driven):
        v = u[row]
        resistance = viscous[i] * v + coulomb[i] * v / ca.sqrt(v**2 + fades[i] ** 2)
        force[row] = gain[i] * torque[i] - resistance
    parts = ca.vertsplit(force, np.cumsum([0, *(tree.u.numel() for tree in trees)]).tolist())
    forward = [Dynamics(tree).forward(part) for tree, part in zip(trees, parts, strict=True)]
    rate = ca.Function("rate", [q, u, numbers, torque], [ca.vertcat(u, *forward)])
    step = bed.simulation.physics_step_s
    after = rk4(lambda y, _: rate(y[:n_u], y[n_u:], numbers, torque), x, step)
    one = ca.Function("one", [x, numbers, torque], [after, ca.jacobian(after, x), ca.jacobian(after, numbers)])

    whole = ca.MX.sym("whole", 2 * n_u * (1 + 3 * n + 2 * n_u))
    parameters = ca.MX.sym("numbers", 3 * n)
    commanded = ca.MX.sym("torque", n)
    at = whole[: 2 * n_u]
    S = ca.reshape(whole[2 * n_u :], 2 * n_u, 3 * n + 2 * n_u)
    for _ in range(round(bed.loop.period_s / step)):
        at, A, B = one(at, parameters, commanded)
        S = A @ S + ca.horzcat(B, ca.MX.zeros(2 * n_u, 2 * n_u))
    return ca.Function("tick", [whole, parameters, commanded], [ca.vertcat(at, ca.vec(S))])
