"""Motion of a planar vehicle by its momentum, in symbols, with its derivatives by the numbers that are fitted.

    P' = R f + M s - drag,    H' = moment of the same - v x P

with the linear momentum P in world axes, the angular momentum H about the origin of the base, the thrust f and the
slope s of the table. Motor torques act inside of the vehicle and do not appear: the measured motion of the carried
bodies takes their place.
"""

from __future__ import annotations

import casadi as ca

from granite.mrds.compilation import compile_once
from granite.mrds.kernel import Kernel
from granite.rt.identification.flight import FreeFlight
from granite.sim.forces import GRAVITY

#: numbers of base and table: mass, mass times its centre (x, y), inertia about the origin, drag ratio, slope (x, y)
#: [m/s2], loss of thrust by the impulse spent [1/(N s)]
N_OWN = 8
#: and the pose and velocity at the start
N_FITTED = N_OWN + 6


def compiled_motion(flight: FreeFlight) -> dict[str, Kernel]:
    """`start` and `step` of `_functions`, compiled."""
    key = repr((flight.masses.tolist(), flight.inertias.tolist(), flight.period_s, flight.drag_speed_m_s))
    return compile_once("free_flight", f"{key} {flight.is_viscous}", lambda: _functions(flight))


def _functions(flight: FreeFlight) -> list[ca.Function]:
    """The state (pose; P; H) at the start and after one tick, each with its derivatives S by the fitted numbers."""
    b, dt = len(flight.masses), flight.period_s
    theta, x, S = ca.SX.sym("theta", N_FITTED), ca.SX.sym("x", 6), ca.SX.sym("S", 6, N_FITTED)
    given = ca.SX.sym("given", 4 + 5 * b)
    wrench, spent, place, speed, spin = ca.vertsplit(given, [0, 3, 4, 4 + 2 * b, 4 + 4 * b, 4 + 5 * b])
    vehicle = _Vehicle(flight, theta, place, speed, spin)

    def rate(at: ca.SX) -> ca.SX:
        R = _rotation(at[2])
        P = R.T @ at[3:5]
        v, w = vehicle.velocity(P, at[5])
        force, moment = vehicle.table(R.T @ theta[5:7], v, w)
        thrust = wrench * (1 - theta[7] * spent)
        return ca.vertcat(R @ v, w, R @ (force + thrust[:2]), moment + thrust[2] - _cross(v, P))

    after = x + dt * rate(x + dt / 2 * rate(x))  # the midpoint rule
    S_after = ca.jacobian(after, x) @ S + ca.jacobian(after, theta)
    R = _rotation(theta[N_OWN + 2])
    P, H = vehicle.momentum(R.T @ theta[N_OWN + 3 : N_OWN + 5], theta[N_OWN + 5])
    start = ca.vertcat(theta[N_OWN : N_OWN + 3], R @ P, H)
    return [
        ca.Function("start", [given, theta], [start, ca.jacobian(start, theta)]),
        ca.Function("step", [x, S, given, theta], [after, S_after]),
    ]


class _Vehicle:
    """Momentum and table forces of the base with the bodies that it carries, all in base axes."""

    def __init__(self, flight: FreeFlight, theta: ca.SX, place: ca.SX, speed: ca.SX, spin: ca.SX) -> None:
        self._flight, self._m, self._s, self._drag = flight, theta[0], theta[1:3], theta[4]
        self._place = [place[2 * i : 2 * i + 2] for i in range(len(flight.masses))]
        self._speed = [speed[2 * i : 2 * i + 2] for i in range(len(flight.masses))]
        masses, inertias = flight.masses.tolist(), flight.inertias.tolist()
        carried = list(zip(masses, inertias, self._place, self._speed, ca.vertsplit(spin), strict=True))
        self._mass = theta[0] + sum(masses)
        self._first = theta[1:3] + sum((m * r for m, _, r, _, _ in carried), ca.SX.zeros(2))
        self._second = theta[3] + sum((inertia + m * ca.dot(r, r) for m, inertia, r, _, _ in carried), ca.SX(0))
        self._own = sum((m * rate for m, _, _, rate, _ in carried), ca.SX.zeros(2))
        self._own_spin = sum((m * _cross(r, rate) + inertia * w for m, inertia, r, rate, w in carried), ca.SX(0))

    def momentum(self, v: ca.SX, w: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Linear momentum, and angular momentum about the origin of the base."""
        P = self._mass * v + w * _turned(self._first) + self._own
        return P, _cross(self._first, v) + self._second * w + self._own_spin

    def velocity(self, P: ca.SX, H: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Velocity of the origin and rate of the base of its momentum."""
        P, H = P - self._own, H - self._own_spin
        w = (H - _cross(self._first, P) / self._mass) / (self._second - ca.sumsqr(self._first) / self._mass)
        return (P - w * _turned(self._first)) / self._mass, w

    def table(self, slope: ca.SX, v: ca.SX, w: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Force and moment about the origin by slope and drag, at each mass centre as in the simulated lab."""
        force, moment = self._mass * slope, _cross(self._first, slope)
        bodies = [(self._m, self._s / self._m, ca.SX.zeros(2))]
        bodies += list(zip(self._flight.masses.tolist(), self._place, self._speed, strict=True))
        for m, r, rate in bodies:
            at, v0 = v + w * _turned(r) + rate, self._flight.drag_speed_m_s
            drag = -self._drag * m * GRAVITY * at / (v0 if self._flight.is_viscous else ca.sqrt(ca.dot(at, at) + v0**2))
            force, moment = force + drag, moment + _cross(r, drag)
        return force, moment


def _cross(a: ca.SX, b: ca.SX) -> ca.SX:
    return a[0] * b[1] - a[1] * b[0]


def _turned(a: ca.SX) -> ca.SX:
    """z x a."""
    return ca.vertcat(-a[1], a[0])


def _rotation(angle: ca.SX) -> ca.SX:
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
