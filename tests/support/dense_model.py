"""One module in numbers, from compiled functions: what the tests and benchmarks compare with peers and formulas."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from granite.config.coordinates import positions, velocities
from granite.config.modules import Module
from granite.kernels.compilation import compile_functions
from granite.kernels.kernel import Array, Kernel
from granite.mrds.dynamics import Dynamics
from granite.mrds.integrators import rk4
from granite.mrds.tree import Tree


class PointMotion(NamedTuple):
    """A named point: world position [m], orientation of the body there, twist [m/s; rad/s], Jacobian and drift.

    Twists put the linear part first. The acceleration of the point is `jacobian @ u' + drift`.
    """

    position: Array
    rotation: Array
    twist: Array
    jacobian: Array
    drift: Array


class Model:
    """Numbers of a module: M(q) u' + h(q, u) = F, its energies, momenta and points."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.positions = positions(module)
        self.velocities = velocities(module)
        self.n_q, self.n_u = len(self.positions), len(self.velocities)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q) (n_u, n_u)."""
        return self._call("mass_matrix", q)[0].reshape(self.n_u, self.n_u)

    def bias(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Velocity and gravity terms h(q, u)."""
        return self._call("bias", q, u)[0]

    def gravity_force(self, q: ArrayLike) -> Array:
        """The part of h that gravity makes."""
        return self._call("gravity_force", q)[0]

    def forward_dynamics(self, q: ArrayLike, u: ArrayLike, force: ArrayLike) -> Array:
        """u' under a generalised force."""
        return self._call("forward_dynamics", q, u, force)[0]

    def inverse_dynamics(self, q: ArrayLike, u: ArrayLike, acceleration: ArrayLike) -> Array:
        """The generalised force that gives u'."""
        return self._call("inverse_dynamics", q, u, acceleration)[0]

    def position_rate(self, q: ArrayLike, u: ArrayLike) -> Array:
        """q' = N(q) u."""
        return self._call("position_rate", q, u)[0]

    def kinetic_energy(self, q: ArrayLike, u: ArrayLike) -> float:
        """Kinetic energy [J]."""
        return float(self._call("kinetic_energy", q, u)[0][0])

    def potential_energy(self, q: ArrayLike) -> float:
        """Potential energy of gravity, zero at the world origin, and of strain [J]."""
        return float(self._call("potential_energy", q)[0][0])

    def momentum(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Linear [N s] and angular momentum about the world origin [N m s]."""
        return self._call("momentum", q, u)[0]

    def centre_of_mass(self, q: ArrayLike, u: ArrayLike) -> tuple[Array, Array]:
        """Position [m] and velocity [m/s] of the mass centre."""
        position, velocity = self._call("centre_of_mass", q, u)
        return position, velocity

    def point(self, name: str, q: ArrayLike, u: ArrayLike) -> PointMotion:
        """Motion of a named point."""
        position, rotation, twist, jacobian, drift = self._call(f"point_{name}", q, u)
        return PointMotion(position, rotation, twist, jacobian.reshape(6, self.n_u), drift)

    def rk4(self, q: ArrayLike, u: ArrayLike, force: ArrayLike, h: float) -> tuple[Array, Array]:
        """q and u after one Runge-Kutta step under a constant generalised force."""
        return self._stepped("rk4", q, u, force, h)

    def improved_euler(self, q: ArrayLike, u: ArrayLike, force: ArrayLike, h: float) -> tuple[Array, Array]:
        """q and u after one improved Euler step under a constant generalised force."""
        return self._stepped("improved_euler", q, u, force, h)

    def _stepped(self, how: str, q: ArrayLike, u: ArrayLike, force: ArrayLike, h: float) -> tuple[Array, Array]:
        (after,) = self._call(how, np.concatenate([q, u]), force, h)
        return after[: self.n_q], after[self.n_q :]

    def kernel(self, name: str) -> Kernel:
        """One of the compiled functions, for callers that measure it."""
        return self._kernels[name]

    @cached_property
    def _kernels(self) -> dict[str, Kernel]:
        return compile_functions(self.module.name, functions(self.module))

    def _call(self, name: str, *arguments: ArrayLike) -> tuple[Array, ...]:
        return called(self._kernels[name], *arguments)


def called(kernel: Kernel, *arguments: ArrayLike) -> tuple[Array, ...]:
    """The results of a kernel for arguments of any kind, each spread to the size of its input."""
    shapes = [argument.shape for argument in kernel.inputs]
    given = (np.broadcast_to(np.asarray(x, dtype=float), shape) for x, shape in zip(arguments, shapes, strict=True))
    return kernel.split(kernel.run([x.tobytes(order="F") for x in given]))


def functions(module: Module) -> list[ca.Function]:
    """All functions of a module, symbolic."""
    tree = Tree(module)
    dynamics = Dynamics(tree)
    q, u, force = tree.q, tree.u, ca.SX.sym("F", tree.u.numel())
    centre = dynamics.centre_of_mass()
    made = [
        ca.Function("mass_matrix", [q], [dynamics.mass_matrix]),
        ca.Function("bias", [q, u], [dynamics.bias]),
        ca.Function("gravity_force", [q], [dynamics.gravity_force]),
        ca.Function("forward_dynamics", [q, u, force], [dynamics.forward(force)]),
        ca.Function("inverse_dynamics", [q, u, dynamics.acceleration], [dynamics.inverse]),
        ca.Function("position_rate", [q, u], [tree.q_dot]),
        ca.Function("kinetic_energy", [q, u], [dynamics.kinetic_energy()]),
        ca.Function("potential_energy", [q], [dynamics.potential_energy()]),
        ca.Function("momentum", [q, u], [dynamics.momentum()]),
        ca.Function("centre_of_mass", [q, u], [centre, ca.jtimes(centre, q, tree.q_dot)]),
    ]
    for point in module.points:
        position, rotation, velocity, angular_velocity, *rest = tree.point(point.body, point.position_m)
        outputs = [position, rotation, ca.vertcat(velocity, angular_velocity), *rest]
        made.append(ca.Function(f"point_{point.name}", [q, u], outputs))
    x = ca.vertcat(q, u)
    rhs = ca.Function("rhs", [x, force], [ca.vertcat(tree.q_dot, dynamics.forward(force))])
    project = ca.Function("project", [x], [ca.vertcat(tree.projected(), u)])
    return [*made, rk4_step("rk4", rhs, project), improved_euler_step("improved_euler", rhs, project)]


def rk4_step(name: str, rhs: ca.Function, project: ca.Function | None = None) -> ca.Function:
    """(x, p, h) -> x after h, p held over the step; `project` puts x back on its constraints."""
    x, p, h = _arguments(rhs)
    return _step(name, x, p, h, rk4(lambda at, _: rhs(at, p), x, h), project)


def improved_euler_step(name: str, rhs: ca.Function, project: ca.Function | None = None) -> ca.Function:
    """The same by improved Euler (Heun), second order (Stanford report, 4.4.3)."""
    x, p, h = _arguments(rhs)
    k1 = rhs(x, p)
    k2 = rhs(x + h * k1, p)
    return _step(name, x, p, h, x + h / 2 * (k1 + k2), project)


def _arguments(rhs: ca.Function) -> tuple[ca.MX, ca.MX, ca.MX]:
    return ca.MX.sym("x", rhs.size1_in(0)), ca.MX.sym("p", rhs.size1_in(1)), ca.MX.sym("h")


def _step(name: str, x: ca.MX, p: ca.MX, h: ca.MX, after: ca.MX, project: ca.Function | None) -> ca.Function:
    return ca.Function(name, [x, p, h], [after if project is None else project(after)], ["x", "p", "h"], ["after"])
