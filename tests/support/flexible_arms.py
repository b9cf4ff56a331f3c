"""Flexible robots for the tests, and the same robots by brute force: sums over mass points, and complex steps.

The brute force shares no line with the model: shapes are written with cosh and sinh, foreshortening is integrated point
by point, and velocities are derivatives of positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite.config.base import spatial
from granite.config.modules import Body, Module
from tests.peers.random_trees import rotation_of_joint
from tests.support.dense_model import Model

Array = NDArray[np.float64]

#: Bonaventura 2002, Table 22: aluminium, 80 mm by 2 mm
LINE_DENSITY, EI = 0.448, 70e9 * 0.08 * 0.002**3 / 12
GROUND = {"name": "ground", "mass_kg": 1.0, "inertia_kg_m2": 1.0}
_X, _W = np.polynomial.legendre.leggauss(40)


def flexible(length: float, modes: int, **more: Any) -> dict[str, Any]:
    return {"length_m": length, "line_density_kg_m": LINE_DENSITY, "ei_n_m2": EI, "modes_y": modes, **more}


def planar_arm(links: list[dict[str, Any]], name: str = "flexible_arm", **more: Any) -> Module:
    """Flexible links one after the other on the ground, each joint at the tip before."""
    bodies: list[dict[str, Any]] = [{**GROUND}]
    joints, parent, at = [], "ground", 0.0
    for i, link in enumerate(links, start=1):
        bodies.append({"name": f"link{i}", "flexible": link})
        joints.append({"name": f"joint{i}", "parent": parent, "child": f"link{i}", "origin_m": [at, 0.0]})
        parent, at = f"link{i}", link["length_m"]
    points = [{"name": "tip", "body": parent, "position_m": [at, 0.0]}]
    content = {"bodies": bodies, "joints": joints, "points": points, **more}
    return Module.model_validate({"name": name, "dimension": "planar", "base": "fixed", **content})


def spatial_robot(
    modes_x: int = 1, name: str = "flexible_robot", second: dict[str, Any] | None = None, **more: Any
) -> Module:
    """A floating base, a link that bends in both planes and twists, and a second one at its middle, off the axis."""
    link = {"line_density_kg_m": 0.6, "eiy_n_m2": 9.0, "eiz_n_m2": 4.0, "polar_inertia_kg_m": 2e-4}
    link |= {"shapes": "cantilever"}
    twist = {"gj_n_m2": 3.0, "modes_x": modes_x} if modes_x else {}
    base = {"mass_kg": 4.0, "com_m": [0.02, -0.03, 0.05], "inertia_kg_m2": [0.2, 0.3, 0.25, 0.01, -0.02, 0.015]}
    hub = {"mass_kg": 0.2, "com_m": [0.01, 0.02, 0.0], "inertia_kg_m2": [1e-3, 2e-3, 2e-3, 0.0, 0.0, 1e-4]}
    joint1 = {"origin_m": [0.2, 0.0, 0.1], "axis": [0.0, 1.0, 0.0], "rotation_rad": [0.3, -0.2, 0.5]}
    joint2 = {"origin_m": [0.5, 0.03, -0.02], "axis": [1.0, 2.0, -1.0], "rotation_rad": [0.1, 0.4, -0.3]}
    tip = {"position_m": [0.75, 0.01, 0.02], "rotation_rad": [0.2, 0.1, -0.4]}
    return Module.model_validate(
        {
            "name": name,
            "dimension": "spatial",
            "base": "floating",
            "bodies": [
                {"name": "base", **base},
                {"name": "first", "flexible": {**link, **twist, "length_m": 1.0, "modes_y": 2, "modes_z": 3}, **hub},
                {
                    "name": "second",
                    "flexible": {
                        **link,
                        "length_m": 0.7,
                        "modes_y": 2,
                        "modes_z": 1,
                        "tip_mass_kg": 0.3,
                        **(second or {}),
                    },
                },
            ],
            "joints": [
                {"name": "shoulder", "parent": "base", "child": "first", **joint1},
                {"name": "elbow", "parent": "first", "child": "second", **joint2},
            ],
            "points": [
                {"name": "tip", "body": "second", **tip},
                {"name": "middle", "body": "first", "position_m": [0.4, 0.0, 0.0]},
                {"name": "foot", "body": "first", "position_m": [0.0, 0.1, 0.0]},
            ],
            **more,
        }
    )


def bent_state(model: Model, seed: int, bend: float = 0.04) -> tuple[Array, Array]:
    """A random state with tips a few centimetres off."""
    rng = np.random.default_rng(seed)
    q, u = rng.uniform(-1.5, 1.5, model.n_q), rng.normal(size=model.n_u)
    amplitudes = [i for i, c in enumerate(model.velocities) if c.name[-2] in "xyzs" and c.name[-1].isdigit()]
    q[np.array(amplitudes, dtype=int) + model.n_q - model.n_u] *= bend
    u[amplitudes] *= 0.5
    if model.n_q > model.n_u:
        q[3:7] /= np.linalg.norm(q[3:7])
    return q, u


def run(
    model: Model, q: Array, u: Array, force: Callable[[float], Array], h: float, steps: int
) -> tuple[Array, Array, Array]:
    """Times and states by classical Runge and Kutta, forces at the times of the stages; one row each."""
    x = np.concatenate([q, u])
    n = model.n_q

    def rate(t: float, x: Array) -> Array:
        return np.concatenate([x[n:], model.forward_dynamics(x[:n], x[n:], force(t))])

    path = [x]
    for k in range(steps):
        t = k * h
        k1 = rate(t, x)
        k2 = rate(t + h / 2, x + h / 2 * k1)
        k3 = rate(t + h / 2, x + h / 2 * k2)
        k4 = rate(t + h, x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(x)
    states = np.array(path)
    return h * np.arange(steps + 1), states[:, :n], states[:, n:]


def stiffness(model: Model, q: Array | None = None) -> Array:
    """d h / d q at rest, by central differences."""
    q0 = np.zeros(model.n_q) if q is None else q
    u, step = np.zeros(model.n_u), 1e-4
    return np.array(
        [(model.bias(q0 + e, u).copy() - model.bias(q0 - e, u)) / (2 * step) for e in step * np.eye(len(q0))]
    ).T


# --- brute force

_ROOTS = [1.875104068711961, 4.694091132974175, 7.854757438237613]


def cantilever(mode: int, L: float, x: Any, derivative: int = 0) -> Any:
    """cosh bx - cos bx - a (sinh bx - sin bx), as it is printed."""
    B = _ROOTS[mode]
    b, a = B / L, (np.cosh(B) + np.cos(B)) / (np.sinh(B) + np.sin(B))
    ch, sh, c, s = np.cosh(b * x), np.sinh(b * x), np.cos(b * x), np.sin(b * x)
    return b**derivative * {
        0: ch - c - a * (sh - s),
        1: sh + s - a * (ch - c),
        2: ch + c - a * (sh + s),
    }[derivative]  # fmt: skip


class BruteForce:
    """Positions of mass points as a function of q alone."""

    def __init__(self, module: Module, model: Model) -> None:
        self.module, self.model = module, model
        self._names = [c.name for c in model.positions]

    def poses(self, q: Array) -> dict[str, tuple[Array, Array]]:
        """Axes and origin of every body."""
        frames: dict[str, tuple[Array, Array]] = {}
        root = self.module.root.name
        if self.module.base == "fixed":
            frames[root] = np.eye(3), np.zeros(3)
        elif self.module.dimension == "planar":
            frames[root] = _turn((0, 0, 1), q[2]), np.array([q[0], q[1], 0 * q[0]])
        else:
            frames[root] = _of_quaternion(q[3:7]), q[:3]
        bodies = {b.name: b for b in self.module.bodies}
        for joint in self.module.joints_in_tree_order():
            R, p = frames[joint.parent]
            r, R_BS, arm = self.place(bodies[joint.parent], spatial(joint.origin_m), q)
            angle = q[self._names.index(joint.name)]
            axis = tuple(np.array(spatial(joint.axis)) / np.linalg.norm(joint.axis))
            frames[joint.child] = R @ R_BS @ rotation_of_joint(joint) @ _turn(axis, angle), p + R @ (r + R_BS @ arm)
        return frames

    def place(self, body: Body, position: tuple[float, float, float], q: Array) -> tuple[Array, Array, Array]:
        """Origin and axes of the cross-section of a place, and the arm to it."""
        link = body.flexible
        if link is None:
            return np.zeros(3), np.eye(3), np.array(position)
        L = link.length_m
        x = float(np.clip(position[0], 0.0, L))
        y, z = self._amplitudes(body.name, "y", q), self._amplitudes(body.name, "z", q)
        ξ, w = x * (_X + 1) / 2, x * _W / 2
        a, b, curvature = self._sum(y, L, ξ, 1), self._sum(z, L, ξ, 1), self._sum(y, L, ξ, 2)
        shortening = -((a**2 + b**2) * w).sum() / 2 if link.foreshortening else 0.0
        stretched = self._axial(self._amplitudes(body.name, "s", q), x, L)
        r = np.array([x + shortening + stretched, self._sum(y, L, x), self._sum(z, L, x)])
        roll = self.twist(body, x, q) - (curvature * b * w).sum()
        R = _turn((0, 0, 1), self._sum(y, L, x, 1)) @ _turn((0, -1, 0), self._sum(z, L, x, 1)) @ _turn((1, 0, 0), roll)
        return r, R, np.array([position[0] - x, *position[1:]])

    def twist(self, body: Body, x: Any, q: Array) -> Any:
        L = body.flexible.length_m if body.flexible else 1.0
        return self._axial(self._amplitudes(body.name, "x", q), x, L)

    @staticmethod
    def _axial(amplitudes: Array, x: Any, L: float) -> Any:
        """Twist or stretch."""
        return sum((np.sqrt(2) * np.sin((k + 0.5) * np.pi * x / L) * c for k, c in enumerate(amplitudes)), 0 * x)

    def _amplitudes(self, body: str, axis: str, q: Array) -> Array:
        return np.array([q[i] for i, n in enumerate(self._names) if n[:-1] == f"{body}_{axis}"])

    def _sum(self, amplitudes: Array, L: float, x: Any, derivative: int = 0) -> Any:
        return sum((f * cantilever(k, L, x, derivative) for k, f in enumerate(amplitudes)), 0 * x)

    def kinetic_energy(self, q: Array, u: Array) -> float:
        """Sum over mass points, and over what turns."""
        q_dot = self.model.position_rate(q, u).copy()
        step = 1e-30
        moved = q + 1j * step * q_dot
        poses, there = self.poses(q), self.poses(moved)
        total = 0.0
        for body in self.module.bodies:
            R, _ = poses[body.name]
            R_moved, p_moved = there[body.name]
            W = R.T @ (np.imag(R_moved) / step)
            w = np.array([W[2, 1], W[0, 2], W[1, 0]])
            moments = body.inertia_kg_m2
            inertia = np.diag([0.0, 0.0, moments]) if isinstance(moments, float) else _tensor(moments)
            v = np.imag(p_moved + R_moved @ spatial(body.com_m)) / step
            total += 0.5 * body.mass_kg * v @ v + 0.5 * w @ inertia @ w
            if body.flexible:
                L, ρ = body.flexible.length_m, body.flexible.line_density_kg_m
                tip = body.flexible.tip_mass_kg, spatial(body.flexible.tip_com_m)
                places = [
                    *zip(L * (_X + 1) / 2, ρ * L * _W / 2, [np.zeros(3)] * len(_X), strict=True),
                    (L, tip[0], np.array(tip[1])),
                ]
                for x, mass, arm in places:
                    r, R_BS, _ = self.place(body, (float(x), 0.0, 0.0), moved)
                    v = np.imag(p_moved + R_moved @ (r + R_BS @ arm)) / step
                    total += 0.5 * mass * v @ v
                R_tip = R_moved @ self.place(body, (L, 0.0, 0.0), moved)[1]
                W_tip = np.real(R_tip).T @ (np.imag(R_tip) / step)
                w_tip = np.array([W_tip[2, 1], W_tip[0, 2], W_tip[1, 0]])
                moments = body.flexible.tip_inertia_kg_m2
                inertia = np.diag([0.0, 0.0, moments]) if isinstance(moments, float) else _tensor(moments)
                total += 0.5 * w_tip @ inertia @ w_tip
                total += self._rotary(body, w, moved, step)
                rate = w[0] + np.imag(self.twist(body, L * (_X + 1) / 2, moved)) / step
                total += 0.5 * body.flexible.polar_inertia_kg_m * (rate**2 * L * _W / 2).sum()
        return float(total)

    def _rotary(self, body: Body, w: Array, moved: Array, step: float) -> float:
        """Energy of the sections that turn about y and z: r^2 = I/A = EI/EA."""
        link = body.flexible
        if link is None or not link.rotary_inertia:
            return 0.0
        L, total = link.length_m, 0.0
        for axis, sign, index, ei in (("y", 1, 2, link.ei_n_m2 or link.eiz_n_m2), ("z", -1, 1, link.eiy_n_m2)):
            slope = self._sum(self._amplitudes(body.name, axis, moved), L, L * (_X + 1) / 2, 1)
            rate = w[index] + sign * np.imag(slope) / step
            total += 0.5 * link.line_density_kg_m * (ei or 0.0) / link.ea_n * float((rate**2 * L * _W / 2).sum())
        return total


def _turn(axis: tuple[float, ...], angle: Any) -> Array:
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turned: Array = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return turned


def _of_quaternion(quaternion: Array) -> Array:
    w, v = quaternion[0], quaternion[1:]
    K = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    turned: Array = np.eye(3) + 2 * w * K + 2 * K @ K
    return turned


def _tensor(moments: tuple[float, ...]) -> Array:
    xx, yy, zz, xy, xz, yz = moments
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
