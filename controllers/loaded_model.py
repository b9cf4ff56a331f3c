"""The model with a load in the hand: mass matrix, bias and inverse dynamics with the payload as symbols.

With the point P of the hand, its acceleration a, the rate w and the angular acceleration w' of its body, and of the
payload the mass m, the first moments s = m c about P and the moment of inertia I about P, all in the plane, the load is

    f = m a + w' x s - w^2 s        n = s x a + I w'        Y p = J_v^T f + J_w^T n,        p = [m; s; I]

It is linear in p and in the acceleration: M and h get the parts of Y p.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca

from granite.controllers.model import ControlModel
from granite.mrds.dynamics import solve

#: mass m, first moments s in the axes of the body, moment of inertia I
N_PARAMETERS = 4
#: below this mass there is no mass centre [kg]
_LEAST_MASS = 1e-6


class LoadedModel(ControlModel):
    """A control model of a testbed with `controller.payload`; `payload` is the symbol of `State.payload`."""

    @cached_property
    def payload(self) -> ca.SX:
        """Mass, mass centre and moment of inertia, and what the laws do not need."""
        table = self.bed.control.payload
        return ca.SX.sym("payload", len(table.recorded(self.bed)) if table else 0)

    def acceleration_under(self, gripped: frozenset[str]) -> ca.Function:
        """(q, u, torque of each motor, thrust of each thruster, disturbance, payload) -> u'; there are no contacts."""
        torque, thrust = ca.SX.sym("tau", len(self.driven)), ca.SX.sym("thrust", len(self.bed.thrusters))
        disturbance = ca.SX.sym("d", self.n)
        force = self.torque_force(torque) + self.thrust_force(thrust) + self.resistance(self.u) + disturbance
        given = [self.q, self.u, torque, thrust, disturbance, self.payload]
        return ca.Function("acceleration", given, [self.forward(force)])

    def regressor(self, acceleration: ca.SX) -> ca.SX:
        """Y (n_u x 4)."""
        table = self.bed.control.payload
        assert table is not None
        module, point = table.held(self.bed)
        frame = self.point(module.name, point.name)
        own = self.layout.u[module.name]
        J_v, J_w = frame.jacobian[:2, :], frame.jacobian[5, :]
        a = J_v @ acceleration[own] + frame.drift[:2]
        alpha, w = J_w @ acceleration[own] + frame.drift[5], frame.angular_velocity[2]
        R = frame.rotation[:2, :2]
        across = ca.vertcat(-R[1, :], R[0, :])  # z x R
        # Columns of m, s_x, s_y, I.
        force = ca.horzcat(a, alpha * across - w**2 * R, ca.SX.zeros(2))
        moment = ca.horzcat(0, a.T @ across, alpha)
        Y = ca.SX.zeros(self.n, N_PARAMETERS)
        Y[own, :] = J_v.T @ force + J_w.T @ moment
        return Y

    @cached_property
    def parameters(self) -> ca.SX:
        """p by `payload`."""
        mass, centre, inertia = self.payload[0], self.payload[1:3], self.payload[3]
        return ca.vertcat(mass, mass * centre, inertia)

    def load(self, acceleration: ca.SX) -> ca.SX:
        """Y p."""
        return self.regressor(acceleration) @ self.parameters

    @cached_property
    def mass_matrix(self) -> ca.SX:
        """M (n_u x n_u) with the payload."""
        a = ca.SX.sym("a", self.n)
        return super().mass_matrix + ca.jacobian(self.load(a), a)

    @cached_property
    def bias(self) -> ca.SX:
        """h (n_u) with the payload."""
        return super().bias + self.load(ca.SX.zeros(self.n))

    def inverse(self, acceleration: ca.SX) -> ca.SX:
        """M a + h with the payload."""
        return super().inverse(acceleration) + self.load(acceleration)

    def forward(self, force: ca.SX) -> ca.SX:
        """M^-1 (F - h) with the payload."""
        return solve(self.mass_matrix, force - self.bias)


def reported(p: ca.SX) -> ca.SX:
    """Mass, mass centre and moment of inertia by p."""
    return ca.vertcat(p[0], p[1:3] / ca.fmax(p[0], _LEAST_MASS), p[3])


def loaded(model: ControlModel) -> ControlModel:
    """The model with the payload, where the testbed asks for one."""
    return LoadedModel(model.bed) if model.bed.controller and model.bed.control.payload else model
