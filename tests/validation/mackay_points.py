"""The chains of `mackay_flx` by brute force: a Lagrangian summed over mass points, differentiated by CasADi.

Two kinds of bending: FLX's own, and that of our model, which shortens the link and turns its sections by rotations.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from granite.kernels.kernel import Array
from tests.validation.mackay_flx import FlxLink, gauss, shape


class Points:
    """M z'' + h = force, energies; z as in `mackay_flx`."""

    def __init__(self, links: list[FlxLink], gravity: Array, shortened: bool) -> None:
        n = sum(1 + len(link.planes) for link in links)
        z, zd = ca.SX.sym("z", n), ca.SX.sym("zd", n)
        kinetic, potential, at = ca.SX(0), ca.SX(0), 0
        g = ca.DM(np.asarray(gravity, dtype=float))
        tip = ca.SX.eye(4)
        for link in links:
            W = tip @ _about_z(z[at])
            d = z[at + 1 : at + 1 + len(link.planes)]
            at += 1 + len(link.planes)
            Wd = _rate(W, z, zd)
            kinetic += ca.trace(Wd @ ca.DM(link.J) @ Wd.T)
            potential -= ca.dot(g, (W @ ca.DM(2 * link.J[:, 3]))[:3])
            base = W @ ca.DM(link.S)
            tip = base
            if not link.length:
                continue
            for x, w in zip(*gauss(link.length), strict=True):
                place = (base @ ca.vertcat(*_place(link, float(x), d, shortened), 1))[:3]
                speed = ca.jtimes(place, z, zd)
                kinetic += 0.5 * link.line_density * w * ca.dot(speed, speed)
                potential -= link.line_density * w * ca.dot(g, place)
                for plane in (1, 2):
                    potential += 0.5 * w * link.stiffness[plane - 1] * _sum(link, plane, float(x), d, 2) ** 2
            tip = base @ _tip(link, d, shortened)
        momentum = ca.gradient(kinetic, zd)
        h = ca.jtimes(momentum, z, zd) - ca.gradient(kinetic, z) + ca.gradient(potential, z)
        self._terms = ca.Function("terms", [z, zd], [ca.jacobian(momentum, zd), h])
        self._energy = ca.Function("energy", [z, zd], [kinetic + potential])
        x, h_step = ca.MX.sym("x", 2 * n), ca.MX.sym("h")
        self._step = ca.Function("step", [x, h_step], [_rk4(lambda x: self._rate(x, n), x, h_step)])

    def dynamics(self, z: Array, zd: Array) -> tuple[Array, Array]:
        """M and h."""
        M, h = self._terms(z, zd)
        return np.array(M), np.array(h).ravel()

    def energy(self, z: Array, zd: Array) -> float:
        return float(self._energy(z, zd))

    def run(self, z: Array, zd: Array, h: float, steps: int) -> tuple[Array, Array]:
        """State after steps of classical Runge and Kutta without forces."""
        x = np.array(self._step.fold(steps)(np.concatenate([z, zd]), h)).ravel()
        return x[: len(z)], x[len(z) :]

    def _rate(self, x: ca.MX, n: int) -> ca.MX:
        M, h = self._terms(x[:n], x[n:])
        return ca.vertcat(x[n:], ca.solve(M, -h, "ldl"))

    def inverse(self, z: Array, zd: Array, zdd: Array) -> Array:
        """The generalised force that goes with z''."""
        M, h = self.dynamics(z, zd)
        return M @ zdd + h


def _rk4(rate: Callable[[ca.MX], ca.MX], x: ca.MX, h: ca.MX) -> ca.MX:
    k1 = rate(x)
    k2 = rate(x + h / 2 * k1)
    k3 = rate(x + h / 2 * k2)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))


def _place(link: FlxLink, x: float, d: ca.SX, shortened: bool) -> list[ca.SX]:
    """The point x of the axis in the axes of the base."""
    along = ca.SX(x)
    if shortened:
        for ξ, w in zip(*gauss(x), strict=True):
            along -= 0.5 * w * sum(_sum(link, plane, float(ξ), d, 1) ** 2 for plane in (1, 2))
    return [along, _sum(link, 1, x, d), _sum(link, 2, x, d)]


def _tip(link: FlxLink, d: ca.SX, shortened: bool) -> ca.SX:
    """From the base of the beam to its tip."""
    a, b = (_sum(link, plane, link.length, d, 1) for plane in (1, 2))
    skew_z, skew_y = ca.DM([[0, -1, 0], [1, 0, 0], [0, 0, 0]]), ca.DM([[0, 0, 1], [0, 0, 0], [-1, 0, 0]])
    skew_x = ca.DM([[0, 0, 0], [0, 0, -1], [0, 1, 0]])
    if shortened:
        roll = ca.SX(0)
        for ξ, w in zip(*gauss(link.length), strict=True):
            roll -= w * _sum(link, 1, float(ξ), d, 2) * _sum(link, 2, float(ξ), d, 1)
        R = _rotation(skew_z, a) @ _rotation(skew_y, -b) @ _rotation(skew_x, roll)
    else:
        R = ca.DM.eye(3) + a * skew_z - b * skew_y
    bottom = ca.horzcat(ca.SX(1, 3), 1)
    return ca.vertcat(ca.horzcat(R, ca.vertcat(*_place(link, link.length, d, shortened))), bottom)


def _sum(link: FlxLink, plane: int, x: float, d: ca.SX, derivative: int = 0) -> ca.SX:
    total = ca.SX(0)
    for i, (of, k) in enumerate(link.planes):
        if of == plane:
            total += float(shape(k, link.length, np.array([x]), derivative)[0]) * d[i]
    return total


def _rotation(skew: ca.DM, angle: ca.SX) -> ca.SX:
    return ca.DM.eye(3) + ca.sin(angle) * skew + (1 - ca.cos(angle)) * skew @ skew


def _about_z(angle: ca.SX) -> ca.SX:
    turned = ca.SX.eye(4)
    turned[0, 0] = turned[1, 1] = ca.cos(angle)
    turned[1, 0] = ca.sin(angle)
    turned[0, 1] = -ca.sin(angle)
    return turned


def _rate(W: ca.SX, z: ca.SX, zd: ca.SX) -> ca.SX:
    flat = ca.densify(ca.reshape(W, 16, 1))
    return ca.reshape(ca.jtimes(flat, z, zd), 4, 4)
