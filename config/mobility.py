"""Check that every motion of a module moves a mass: otherwise the mass matrix is singular."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from granite.config.base import spatial
from granite.config.inertia import noise, tensor_of
from granite.config.joints import Joint
from granite.config.rotations import Array, about_axis, rotation

if TYPE_CHECKING:
    from granite.config.modules import Body, Module

#: smallest eigenvalue of a mass matrix scaled to a diagonal of ones that is not a rounding error
_SINGULAR = 1e-12
#: of the whole mass: radius of gyration below which a joint moves nothing [m]
_NOTHING_M = 1e-7
#: poses to try: a singular mass matrix may belong to one pose alone, such as the gimbal lock of a massless gimbal
_POSES = 3


def massless_motion(module: Module) -> tuple[str, ...]:
    """The joints, or the root, that some motion without kinetic energy moves in every pose; none where M is regular."""
    moving = module.in_tree_order()[module.base == "fixed" :]
    if all(is_solid(body) for body in moving):
        return ()
    names = [*[module.root.name] * _n_base(module), *(joint.name for joint in module.joints_in_tree_order())]
    mass = sum(_mass(body) for body in moving)
    rng = np.random.default_rng(0)
    free = np.zeros(len(names))
    for _ in range(_POSES):
        M = _mass_matrix(module, rng.uniform(-1, 1, len(names)))
        scale = 1 / np.sqrt(np.maximum(np.diag(M), max(mass, 1e-30) * _NOTHING_M**2))
        values, vectors = np.linalg.eigh(scale[:, None] * M * scale)
        if values[0] > _SINGULAR:
            return ()
        free = np.abs(vectors[:, 0])
    return tuple(dict.fromkeys(name for name, part in zip(names, free, strict=True) if part > 0.1 * free.max()))


def is_solid(body: Body) -> bool:
    """Whether it resists every motion by itself. A flexible link does: its own table checks that."""
    moments = np.linalg.eigvalsh(tensor_of(body.inertia_kg_m2))
    least = moments[-1] if isinstance(body.inertia_kg_m2, float) else moments[0]
    # A body without mass has no moments either, as its own table checks.
    return body.flexible is not None or bool(least > noise(body.mass_kg))


def _mass(body: Body) -> float:
    return body.mass_kg + (body.flexible.mass_kg if body.flexible else 0.0)


def _n_base(module: Module) -> int:
    return {"fixed": 0, "floating": 3 if module.dimension == "planar" else 6}[module.base]


class _Frame(NamedTuple):
    """Axes R of a body, and the Jacobians of its origin and rotation: v = J_v u, w = J_w u, in world axes."""

    R: Array
    J_v: Array
    J_w: Array

    def velocity(self, arm: Array) -> Array:
        """J of a point at `arm` from the origin, in world axes: v + w x arm."""
        moved: Array = self.J_v + np.cross(self.J_w, arm, axisa=0, axisc=0)
        return moved

    def child(self, joint: Joint, q: float, index: int) -> _Frame:
        """The frame that a joint carries."""
        R_WJ = self.R @ rotation(joint.rotation_rad)
        axis = np.array(spatial(joint.axis)) / np.linalg.norm(joint.axis)
        arm = self.R @ spatial(joint.origin_m)
        along = R_WJ @ axis
        turns = joint.kind == "revolute"
        arm = arm if turns else arm + along * q
        J_v, J_w = self.velocity(arm), self.J_w.copy()
        (J_w if turns else J_v)[:, index] = along
        return _Frame(R_WJ @ about_axis(axis, q) if turns else R_WJ, J_v, J_w)


def _mass_matrix(module: Module, q: Array) -> Array:
    """M = sum of m J_C^T J_C + J_w^T I J_w over the bodies, the base unturned at the origin, flexible links unbent."""
    first, n = _n_base(module), len(q)
    base = np.zeros((6, n))
    base[[0, 1, 5] if first == 3 else range(first), range(first)] = 1.0
    frames = {module.root.name: _Frame(np.eye(3), base[:3], base[3:])}
    for i, joint in enumerate(module.joints_in_tree_order(), start=first):
        frames[joint.child] = frames[joint.parent].child(joint, q[i], i)
    M = np.zeros((n, n))
    for body in module.bodies:
        frame = frames[body.name]
        J_C = frame.velocity(frame.R @ spatial(body.com_m))
        J_w = frame.R.T @ frame.J_w
        # Of a flexible link it counts only that it resists turning: any inertia will do.
        inertia = np.eye(3) if body.flexible else tensor_of(body.inertia_kg_m2)
        M += _mass(body) * J_C.T @ J_C + J_w.T @ inertia @ J_w
    return M
