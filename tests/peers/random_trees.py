"""Random modules and states by seed: every kind of base, joint, axis and branching the model knows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite.config.coordinates import positions, velocities
from granite.config.modules import Body, Joint, Module, Point

Array = NDArray[np.float64]

COORDINATE_AXES = ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0))


class State(NamedTuple):
    """Where a module is, how it moves, and what it is asked: position, velocity, acceleration, force."""

    q: Array
    u: Array
    acceleration: Array
    force: Array


def random_module(
    seed: int, dimension: str | None = None, base: str | None = None, joints: int | None = None
) -> Module:
    """A tree of 1 to 8 joints with several branches; two in three feel gravity. What is given is kept."""
    rng = np.random.default_rng(seed)
    dimension = dimension or str(rng.choice(["planar", "spatial"]))
    base = base or str(rng.choice(["fixed", "floating"]))
    planar = dimension == "planar"
    n = joints or int(rng.integers(1, 9))
    bodies = [_body(rng, f"body{i}", planar) for i in range(n + 1)]
    carried = [_joint(rng, i, int(rng.integers(0, i)), planar) for i in range(1, n + 1)]
    points = [_point(rng, f"point{k}", f"body{b}", planar) for k, b in enumerate((n, rng.integers(0, n + 1)))]
    gravity = _vector(rng, planar, 6.0) if rng.random() < 2 / 3 else _vector(rng, planar, 0.0)
    return Module(
        name=f"tree{seed}",
        dimension=dimension,
        base=base,
        gravity_m_s2=gravity,
        bodies=tuple(bodies[i] for i in rng.permutation(n + 1)),
        joints=tuple(carried[i] for i in rng.permutation(n)),
        points=tuple(points),
    )


def random_state(module: Module, rng: np.random.Generator) -> State:
    """Any state, with a unit quaternion where there is one."""
    q = rng.uniform(-np.pi, np.pi, len(positions(module)))
    if has_quaternion(module):
        q[3:7] /= np.linalg.norm(q[3:7])
    u, acceleration, force = rng.normal(size=(3, len(velocities(module))))
    return State(q, 2 * u, 3 * acceleration, 5 * force)


def has_quaternion(module: Module) -> bool:
    return module.base == "floating" and module.dimension == "spatial"


def rotation_of_joint(joint: Joint) -> Array:
    """The joint frame in its parent's, R = Rz(yaw) Ry(pitch) Rx(roll), written out."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(joint.rotation_rad), np.sin(joint.rotation_rad)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def inertia_of_body(body: Body) -> Array:
    """The inertia tensor; a planar body shows only its izz, so any tensor with that entry serves."""
    if isinstance(body.inertia_kg_m2, float):
        return body.inertia_kg_m2 * np.eye(3)
    xx, yy, zz, xy, xz, yz = body.inertia_kg_m2
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _body(rng: np.random.Generator, name: str, planar: bool) -> Body:
    mass, com = float(rng.uniform(0.5, 5.0)), _vector(rng, planar, 0.3)
    if planar:
        return Body(name=name, mass_kg=mass, com_m=com, inertia_kg_m2=float(rng.uniform(0.01, 0.5)))
    spread = rng.normal(size=(3, 3)) * 0.2
    second_moment = mass * spread @ spread.T + 1e-3 * np.eye(3)
    inertia = np.trace(second_moment) * np.eye(3) - second_moment  # of a real mass distribution
    xx, yy, zz = np.diag(inertia).tolist()
    moments = (xx, yy, zz, float(inertia[0, 1]), float(inertia[0, 2]), float(inertia[1, 2]))
    return Body(name=name, mass_kg=mass, com_m=com, inertia_kg_m2=moments)


def _joint(rng: np.random.Generator, child: int, parent: int, planar: bool) -> Joint:
    kind = "prismatic" if rng.random() < 0.3 else "revolute"
    rotation = rng.uniform(-np.pi, np.pi, 3) * (rng.random() < 0.7)
    axis: tuple[float, ...]
    if planar:
        rotation[:2] = 0.0
        axis = _vector(rng, True, 1.0) if kind == "prismatic" else (0.0, 0.0, 1.0)
    elif rng.random() < 0.5:
        axis = COORDINATE_AXES[rng.integers(3)]
    else:
        axis = _vector(rng, False, 1.0)
    return Joint(
        name=f"joint{child}",
        kind=kind,
        parent=f"body{parent}",
        child=f"body{child}",
        origin_m=_vector(rng, planar, 0.5),
        rotation_rad=tuple(rotation.tolist()),
        axis=axis,
    )


def _point(rng: np.random.Generator, name: str, body: str, planar: bool) -> Point:
    return Point(name=name, body=body, position_m=_vector(rng, planar, 0.4))


def _vector(rng: np.random.Generator, planar: bool, size: float) -> tuple[float, ...]:
    return tuple((size * rng.uniform(-1, 1, 2 if planar else 3)).tolist())
