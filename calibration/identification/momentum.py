"""Motion of a planar vehicle by its momentum, in symbols, with its derivatives by the numbers that are fitted.

    P' = R f + M s - drag,    H' = moment of the same - v x P

with the linear momentum P in world axes, the angular momentum H about the origin of the base, the thrust f and the
slope s of the table. Motor torques act inside of the vehicle and do not appear: the measured motion of the carried
bodies takes their place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca

from granite.calibration.identification.flight import FreeFlight
from granite.kernels.compilation import compile_once
from granite.kernels.kernel import Kernel
from granite.mrds.height_map import GRAVITY


class Numbers(NamedTuple):
    """The numbers that a motion follows from, each fitted or given."""

    base: ca.SX  #: (4) mass, mass times its centre (x, y), inertia about the origin
    drag: ca.SX  #: as a part of the weight
    slope: ca.SX  #: (2) acceleration [m/s2]
    droop: ca.SX  #: loss of thrust by the impulse spent [1/(N s)]
    wrench: ca.SX  #: (3) of all thrusters with a full tank, in base axes
    start: ca.SX  #: (6) pose and velocity


#: the numbers of what is fitted (n), and of what is known of the firings in a tick
Meaning = Callable[[ca.SX, ca.SX], Numbers]


def compiled_motion(flight: FreeFlight, fitted: int, firings: int, meaning: Meaning, key: str) -> dict[str, Kernel]:
    """`start` and `step`, compiled: the state (pose; P; H) and its derivatives by the fitted numbers."""
    masses = flight.masses.tolist(), flight.inertias.tolist()
    constants = *masses, flight.period_s, flight.drag_speed_m_s, flight.is_viscous
    return compile_once("free_flight", f"{constants} {key}", lambda: _functions(flight, fitted, firings, meaning))


def _functions(flight: FreeFlight, fitted: int, firings: int, meaning: Meaning) -> list[ca.Function]:
    b, dt = len(flight.masses), flight.period_s
    theta = ca.SX.sym("theta", fitted)
    x = ca.SX.sym("x", 6)
    S = ca.SX.sym("S", 6, fitted)
    inputs, ends = ca.SX.sym("inputs", firings + 1 + 5 * b), [0]
    for size in (firings, 1, 2 * b, 2 * b, b):
        ends.append(ends[-1] + size)
    firing, spent, centres, speed, spin = ca.vertsplit(inputs, ends)
    numbers = meaning(theta, firing)
    vehicle = _Vehicle(flight, numbers, centres, speed, spin)

    def rate(at: ca.SX) -> ca.SX:
        R = _rotation(at[2])
        P = R.T @ at[3:5]
        v, w = vehicle.velocity(P, at[5])
        force, moment = vehicle.table(R.T @ numbers.slope, v, w)
        thrust = numbers.wrench * (1 - numbers.droop * spent)
        return ca.vertcat(R @ v, w, R @ (force + thrust[:2]), moment + thrust[2] - _cross(v, P))

    after = x + dt * rate(x + dt / 2 * rate(x))  # the midpoint rule
    S_after = ca.jacobian(after, x) @ S + ca.jacobian(after, theta)
    R = _rotation(numbers.start[2])
    P, H = vehicle.momentum(R.T @ numbers.start[3:5], numbers.start[5])
    start = ca.vertcat(numbers.start[:3], R @ P, H)
    return [
        ca.Function("start", [inputs, theta], [start, ca.jacobian(start, theta)]),
        ca.Function("step", [x, S, inputs, theta], [after, S_after]),
    ]


class _Vehicle:
    """Momentum and table forces of the base with the bodies that it carries, all in base axes."""

    def __init__(self, flight: FreeFlight, numbers: Numbers, centres: ca.SX, speed: ca.SX, spin: ca.SX) -> None:
        base = numbers.base
        self._flight = flight
        self._drag = numbers.drag
        self._m = base[0]
        self._s = base[1:3]
        self._centres = [centres[2 * i : 2 * i + 2] for i in range(len(flight.masses))]
        self._speed = [speed[2 * i : 2 * i + 2] for i in range(len(flight.masses))]
        masses = flight.masses.tolist()
        inertias = flight.inertias.tolist()
        carried = list(zip(masses, inertias, self._centres, self._speed, ca.vertsplit(spin), strict=True))
        self._mass = base[0] + sum(masses)
        self._first = base[1:3] + sum((m * r for m, _, r, _, _ in carried), ca.SX.zeros(2))
        self._second = base[3] + sum((inertia + m * ca.dot(r, r) for m, inertia, r, _, _ in carried), ca.SX(0))
        self._carried_momentum = sum((m * rate for m, _, _, rate, _ in carried), ca.SX.zeros(2))
        self._carried_spin = sum((m * _cross(r, rate) + inertia * w for m, inertia, r, rate, w in carried), ca.SX(0))

    def momentum(self, v: ca.SX, w: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Linear momentum, and angular momentum about the origin of the base."""
        P = self._mass * v + w * _turned(self._first) + self._carried_momentum
        return P, _cross(self._first, v) + self._second * w + self._carried_spin

    def velocity(self, P: ca.SX, H: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Velocity of the origin and rate of the base of its momentum."""
        P, H = P - self._carried_momentum, H - self._carried_spin
        w = (H - _cross(self._first, P) / self._mass) / (self._second - ca.sumsqr(self._first) / self._mass)
        return (P - w * _turned(self._first)) / self._mass, w

    def table(self, slope: ca.SX, v: ca.SX, w: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Force and moment about the origin by slope and drag, at each mass centre as in the simulated lab."""
        force, moment = self._mass * slope, _cross(self._first, slope)
        bodies = [(self._m, self._s / self._m, ca.SX.zeros(2))]
        bodies += list(zip(self._flight.masses.tolist(), self._centres, self._speed, strict=True))
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
