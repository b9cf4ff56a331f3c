"""Inverse dynamics of the planar test bed of Sun 1996 over time: flexible arms turn a bar under a force distribution.

The arms are written here from positions alone, as finite elements (cubic bending, linear stretch if asked) with all
velocity terms by differentiation; they share nothing with the modules of `sun_testbed`, and a test compares both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.controllers.distribution.flexible_arm import FlexibleArm
from granite.controllers.distribution.grasp import Grasp
from granite.kernels.compilation import compile_functions
from granite.kernels.kernel import Kernel
from tests.validation.sun_distribution import grasp_matrix, positions
from tests.validation.sun_testbed import (
    BAR_INERTIA,
    BASES,
    EI,
    ELBOW,
    GRIPPER,
    HAND,
    HEIGHT,
    LEFT,
    LENGTH,
    LINE_DENSITY,
    REACH,
    RIGHT,
    RIGID,
    ROTARY,
    THICKNESS,
    WRIST,
    YOUNG,
)
from tests.validation.sun_trajectory import turn

#: degree seven: exact for squares of cubics
_X, _W = np.polynomial.legendre.leggauss(4)


class Element(NamedTuple):
    """The shape of one cubic element with nodes at 0 and 1: deflection and slope from (v0, v0', v1, v1')."""

    length: float

    def deflection(self, s: float) -> Array:
        a = self.length
        return np.array([1 - 3 * s**2 + 2 * s**3, a * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3, a * (s**3 - s**2)])

    def slope(self, s: float) -> Array:
        a = self.length
        return np.array([6 * (s**2 - s) / a, 1 - 4 * s + 3 * s**2, 6 * (s - s**2) / a, 3 * s**2 - 2 * s])

    @property
    def stiffness(self) -> Array:
        a = self.length
        rows = [[12, 6 * a, -12, 6 * a], [6 * a, 4 * a * a, -6 * a, 2 * a * a]]
        rows += [[-12, -6 * a, 12, -6 * a], [6 * a, 2 * a * a, -6 * a, 4 * a * a]]
        return EI / a**3 * np.array(rows)


class Chain:
    """One arm from its base outward, in symbols; links F or R, the third is the hand."""

    def __init__(self, links: str, base: tuple[float, float], elements: int, stretch: bool) -> None:
        per_node = 3 if stretch else 2
        self.n_e = per_node * elements * links[:2].count("F")
        self.q, self.u = ca.SX.sym("q", 3 + self.n_e), ca.SX.sym("u", 3 + self.n_e)
        self._at, self._angle = ca.DM(base), ca.SX(0.0)
        self.mass, self.K = ca.SX.zeros(3 + self.n_e, 3 + self.n_e), np.zeros((self.n_e, self.n_e))
        used = 3
        for k, (kind, motor) in enumerate(zip(links[:2], (ELBOW, WRIST), strict=True)):
            self._angle = self._angle + self.q[k]
            if kind == "R":
                self._add_rigid(RIGID)
                self._at = self._at + self._turned(LENGTH, 0.0)
            else:
                size = per_node * elements
                self._add_flexible(range(used, used + size), elements, stretch)
                used += size
            self._add_rigid(motor)
        self._angle = self._angle + self.q[2]
        self._add_rigid(GRIPPER)
        self._at = self._at + self._turned(HAND, 0.0)

    def function(self) -> ca.Function:
        """(q, u) -> M, h, J of the tip (x, y, turn), its velocity terms, and its pose."""
        momentum = self.mass @ self.u
        h = ca.jtimes(momentum, self.q, self.u) - ca.gradient(ca.dot(self.u, momentum), self.q) / 2
        pose = ca.vertcat(self._at, self._angle)
        J = ca.jacobian(pose, self.q)
        drift = ca.jtimes(J @ self.u, self.q, self.u)
        return ca.Function("arm", [self.q, self.u], [self.mass, h, J, drift, pose])

    def _turned(self, x: object, y: object) -> ca.SX:
        c, s = ca.cos(self._angle), ca.sin(self._angle)
        return ca.vertcat(c * x - s * y, s * x + c * y)

    def _add_point(self, mass: float, place: ca.SX) -> None:
        J = ca.jacobian(place, self.q)
        self.mass += mass * J.T @ J

    def _add_turning(self, inertia: float, angle: ca.SX) -> None:
        J = ca.jacobian(angle, self.q)
        self.mass += inertia * J.T @ J

    def _add_rigid(self, moments: tuple[float, ...]) -> None:
        mass, c_x, c_y, second = moments
        self._add_point(mass, self._at + self._turned(c_x / mass, c_y / mass))
        self._add_turning(second - (c_x**2 + c_y**2) / mass, self._angle)

    def _add_flexible(self, places: range, elements: int, stretch: bool) -> None:
        size, element = len(places) // elements, Element(LENGTH / elements)
        clamped = ca.SX.zeros(size)
        nodes = [clamped, *(self.q[places[k * size] : places[k * size] + size] for k in range(elements))]
        bend = [ca.vertcat(*(node[-2:] for node in nodes[k : k + 2])) for k in range(elements)]
        along = [(nodes[k][0], nodes[k + 1][0]) if stretch else (0.0, 0.0) for k in range(elements)]
        for k in range(elements):
            for x, weight in zip((_X + 1) / 2, _W / 2 * element.length, strict=True):
                u = along[k][0] * (1 - x) + along[k][1] * x
                v = ca.dot(ca.DM(element.deflection(x)), bend[k])
                slope = ca.dot(ca.DM(element.slope(x)), bend[k])
                self._add_point(LINE_DENSITY * weight, self._at + self._turned((k + x) * element.length + u, v))
                self._add_turning(ROTARY * weight, self._angle + slope)
            self._add_stiffness(places.start - 3, k, size, element, stretch)
        end = nodes[-1]
        self._at = self._at + self._turned(LENGTH + (end[0] if stretch else 0.0), end[-2])
        self._angle = self._angle + end[-1]

    def _add_stiffness(self, start: int, k: int, size: int, element: Element, stretch: bool) -> None:
        """Of the element from node k to k + 1; node 0 is clamped and has no coordinates."""
        full = np.zeros((2 * size, 2 * size))
        bend = [size - 2, size - 1, 2 * size - 2, 2 * size - 1]
        full[np.ix_(bend, bend)] = element.stiffness
        if stretch:
            ea = YOUNG * HEIGHT * THICKNESS / element.length
            full[np.ix_([0, size], [0, size])] = ea * np.array([[1, -1], [-1, 1]])
        first = size if k == 0 else 0
        kept = full[first:, first:]
        at = start + max(k - 1, 0) * size
        self.K[at : at + len(kept), at : at + len(kept)] += kept


class Arm(NamedTuple):
    """A compiled arm and the stiffness of its elastic coordinates."""

    kernel: Kernel
    K: Array

    def at(self, q: Array, u: Array) -> tuple[FlexibleArm, Array, Array, Array]:
        """Matrices, forces of velocity and strain on all coordinates, velocity terms and pose of the tip."""
        M, h, J, drift, pose = self.kernel.split(self.kernel.run((q, u)))
        force = -h
        force[3:] -= self.K @ q[3:]
        return FlexibleArm.of(M, J, self.K), force, drift, pose


@cache
def chain(links: str, side: str, elements: int = 2, stretch: bool = False) -> Arm:
    written = Chain(links, BASES[0] if side == "left" else BASES[1], elements, stretch)
    return Arm(compile_functions("sun_arm", [written.function()])["arm"], written.K)


#: the wrenches for a grasp
Rule = Callable[[Grasp], Array]


@dataclass
class Run:
    """What happened over time; `diverged_at` is the time at which an elastic coordinate left its range."""

    t: list[float] = field(default_factory=list)
    torque: list[Array] = field(default_factory=list)
    wrench: list[Array] = field(default_factory=list)
    strain: list[float] = field(default_factory=list)
    energy: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    balance: float = 0.0  #: largest error of the object's equation
    diverged_at: float | None = None

    @property
    def energy_error(self) -> float:
        """RMS of the energy that is not work, in percent of the peak (3.73)."""
        off = 100 * (np.array(self.energy) - np.array(self.work)) / np.max(self.energy)
        return float(np.sqrt(np.mean(off**2)))


class BarCell:
    """Two arms that turn the bar as (4.52) to (4.54) say."""

    def __init__(self, left: str, right: str) -> None:
        self.arms = [chain(left, "left"), chain(right, "right")]
        self.n = [3 + len(arm.K) for arm in self.arms]
        self.start = np.concatenate(
            [part for angles, n in zip((LEFT, RIGHT), self.n, strict=True) for part in (angles, np.zeros(2 * n - 3))]
        )

    def run(self, rule: Rule, duration: float = 2.0, step: float = 2e-4, bound: float = 0.05) -> Run:
        """Integrate (RK4) until the end, or until a deflection or slope is beyond its bound [m, rad]."""
        path, z = Run(), np.append(self.start, 0.0)
        for k in range(round(duration / step) + 1):
            t = k * step
            self._note(path, t, z, rule)
            deflections = np.concatenate([q[3:] for q, _ in self._split(z)])
            if not np.abs(deflections).max(initial=0.0) < bound:
                path.diverged_at = t
                return path
            k1 = self._rate(t, z, rule)
            k2 = self._rate(t + step / 2, z + step / 2 * k1, rule)
            k3 = self._rate(t + step / 2, z + step / 2 * k2, rule)
            k4 = self._rate(t + step, z + step * k3, rule)
            z = z + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return path

    def grasp(self, t: float, z: Array) -> tuple[Grasp, list[tuple[FlexibleArm, Array]]]:
        """The grasp of a moment, and each arm with the acceleration of its tip less the velocity terms."""
        angle, rate, acceleration = (float(x) for x in turn(np.array(t)))
        blocks, parts = [], []
        for (q, u), arm, c in zip(self._split(z), self.arms, positions(angle), strict=True):
            matrices, force, drift, _ = arm.at(q, u)
            across = np.array([-c[1], c[0]])
            tip = np.append(acceleration * across - rate**2 * c, acceleration) - drift
            torque, elastic = matrices.without_wrench(tip, force[:3], force[3:])
            blocks.append((matrices, tip))
            parts.append((torque, matrices.torque_map, elastic, matrices.elastic_map, q[3:], u[3:]))
        torque, elastic, q_e, u_e = (np.concatenate([part[i] for part in parts]) for i in (0, 2, 4, 5))
        maps = [_diagonal(parts[0][i], parts[1][i]) for i in (1, 3)]
        load = np.array([0.0, 0.0, BAR_INERTIA * acceleration])
        axes = np.tile(np.eye(2), (2, 1, 1))
        where = positions(angle)
        matrix = grasp_matrix(angle, REACH)
        return Grasp(matrix, load, torque, maps[0], elastic, maps[1], q_e, u_e, np.zeros(6), where, axes), blocks

    def _rate(self, t: float, z: Array, rule: Rule) -> Array:
        grasp, arms = self.grasp(t, z)
        w = rule(grasp)
        torque, elastic = grasp.free_torque + grasp.torque_map @ w, grasp.free_elastic + grasp.elastic_map @ w
        rates, at, power = [], 0, 0.0
        for i, ((matrices, tip), (_, u)) in enumerate(zip(arms, self._split(z), strict=True)):
            own = elastic[at : at + len(u) - 3]
            at += len(own)
            rates += [u, matrices.joint_acceleration(tip, own), own]
            power += float(torque[3 * i : 3 * i + 3] @ u[:3])
        return np.concatenate([*rates, [power]])

    def _note(self, path: Run, t: float, z: Array, rule: Rule) -> None:
        grasp, _ = self.grasp(t, z)
        w = rule(grasp)
        kinetic = BAR_INERTIA * float(turn(np.array(t))[1]) ** 2 / 2
        strain = 0.0
        for (q, u), arm in zip(self._split(z), self.arms, strict=True):
            M = arm.kernel.split(arm.kernel.run((q, u)))[0]
            kinetic += float(u @ M @ u) / 2
            strain += float(q[3:] @ arm.K @ q[3:]) / 2
        path.t.append(t)
        path.torque.append(grasp.free_torque + grasp.torque_map @ w)
        path.wrench.append(w)
        path.strain.append(strain)
        path.energy.append(kinetic + strain)
        path.work.append(float(z[-1]))
        path.balance = max(path.balance, float(np.abs(grasp.matrix @ w - grasp.load).max()))

    def _split(self, z: Array) -> list[tuple[Array, Array]]:
        n, m = self.n
        return [(z[:n], z[n : 2 * n]), (z[2 * n : 2 * n + m], z[2 * n + m : 2 * (n + m)])]


def _diagonal(a: Array, b: Array) -> Array:
    joined = np.zeros((len(a) + len(b), a.shape[1] + b.shape[1]))
    joined[: len(a), : a.shape[1]], joined[len(a) :, a.shape[1] :] = a, b
    return joined
