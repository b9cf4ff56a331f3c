"""Fixed-step integrators as symbolic maps: from x' = f(x, p) to x(t+h), compiled together with the dynamics.

Inputs p are held over the step; what depends on time inside a step belongs into x or f.
"""

from __future__ import annotations

import casadi as ca


def rk4_step(name: str, rhs: ca.Function, project: ca.Function | None = None) -> ca.Function:
    """Classical Runge-Kutta, fourth order: (x, p, h) -> x after h. `project` puts x back where it belongs."""
    x, p, h = _arguments(rhs)
    k1 = rhs(x, p)
    k2 = rhs(x + h / 2 * k1, p)
    k3 = rhs(x + h / 2 * k2, p)
    k4 = rhs(x + h * k3, p)
    return _step(name, x, p, h, x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), project)


def improved_euler_step(name: str, rhs: ca.Function, project: ca.Function | None = None) -> ca.Function:
    """Improved Euler (Heun), second order (Stanford report, 4.4.3): (x, p, h) -> x after h."""
    x, p, h = _arguments(rhs)
    k1 = rhs(x, p)
    k2 = rhs(x + h * k1, p)
    return _step(name, x, p, h, x + h / 2 * (k1 + k2), project)


def _arguments(rhs: ca.Function) -> tuple[ca.MX, ca.MX, ca.MX]:
    return ca.MX.sym("x", rhs.size1_in(0)), ca.MX.sym("p", rhs.size1_in(1)), ca.MX.sym("h")


def _step(name: str, x: ca.MX, p: ca.MX, h: ca.MX, after: ca.MX, project: ca.Function | None) -> ca.Function:
    return ca.Function(name, [x, p, h], [after if project is None else project(after)], ["x", "p", "h"], ["after"])
