"""A serial chain by spatial vectors: dense matrices, and the recursions of Lilly and Orin's step 1 in O(N).

Vectors put the angular part first, in the axes of their link (Lilly and Orin 1991, section II). The recursions for
Omega and the inverse operational inertia are cited there and not printed: these are the articulated-body algorithm and
force propagation, six unit forces at the tip sent inward and their accelerations outward.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from granite.config.base import spatial
from granite.config.modules import Module
from granite.kernels.kernel import Array
from tests.peers.random_trees import rotation_of_joint


def skew(v: Array) -> Array:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def shift(R: Array, b: Array) -> Array:
    """X from axes i to axes j, which are turned by R and displaced by b as seen in i (eq. 5)."""
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ skew(b), R.T]])


def cross(v: Array) -> Array:
    """v x for motions; that for forces is its negative transpose."""
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


class SpatialChain:
    """A module that is one serial chain of revolute joints on the ground, at one state."""

    def __init__(self, module: Module, q: Array, u: Array) -> None:
        self.n, self.u = len(q), u
        bodies = {b.name: b for b in module.bodies}
        self.X, self.phi, self.inertia = [], [], []
        self.R_tip = np.eye(3)
        for joint, angle in zip(module.joints_in_tree_order(), q, strict=True):
            axis = np.array(spatial(joint.axis)) / np.linalg.norm(joint.axis)
            R = rotation_of_joint(joint) @ Rotation.from_rotvec(angle * axis).as_matrix()
            self.R_tip = self.R_tip @ R
            self.X.append(shift(R, np.array(spatial(joint.origin_m))))
            self.phi.append(np.concatenate([axis, np.zeros(3)]))
            body = bodies[joint.child]
            xx, yy, zz, xy, xz, yz = body.inertia_kg_m2
            c, m = skew(np.array(spatial(body.com_m))), body.mass_kg
            about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) + m * c @ c.T
            self.inertia.append(np.block([[about, m * c], [m * c.T, m * np.eye(3)]]))
        tip = next(p for p in module.points if p.name == "tip")
        self.X_tip = shift(np.eye(3), np.array(spatial(tip.position_m)))
        self.fall = np.concatenate([np.zeros(3), -np.array(spatial(module.gravity_m_s2))])
        self.v = []
        before = np.zeros(6)
        for X, phi, rate in zip(self.X, self.phi, u, strict=True):
            before = X @ before + phi * rate
            self.v.append(before)

    def dense(self) -> tuple[Array, Array, Array]:
        """H, J of the tip and the bias h, by sums over the links."""
        H, h, J = np.zeros((self.n, self.n)), np.zeros(self.n), np.zeros((6, self.n))
        a = self.fall
        for i in range(self.n):
            J = self.X[i] @ J
            J[:, i] += self.phi[i]
            a = self.X[i] @ a + cross(self.v[i]) @ self.phi[i] * self.u[i]
            H += J.T @ self.inertia[i] @ J
            h += J.T @ (self.inertia[i] @ a - cross(self.v[i]).T @ self.inertia[i] @ self.v[i])
        return H, self.X_tip @ J, h

    def articulated(self, force: Array) -> tuple[Array, Array, Array]:
        """q'' without tip force, Omega = H^-1 J^T and the inverse operational inertia J H^-1 J^T, each in O(N)."""
        inertia = [x.copy() for x in self.inertia]
        p = [-cross(v).T @ m @ v for v, m in zip(self.v, self.inertia, strict=True)]
        bias = [cross(v) @ phi * rate for v, phi, rate in zip(self.v, self.phi, self.u, strict=True)]
        U, D, left = [np.zeros(6)] * self.n, np.zeros(self.n), np.zeros(self.n)
        for i in reversed(range(self.n)):
            U[i] = inertia[i] @ self.phi[i]
            D[i] = self.phi[i] @ U[i]
            left[i] = force[i] - self.phi[i] @ p[i]
            if i:
                reduced = inertia[i] - np.outer(U[i], U[i]) / D[i]
                inertia[i - 1] += self.X[i].T @ reduced @ self.X[i]
                p[i - 1] += self.X[i].T @ (p[i] + reduced @ bias[i] + U[i] * left[i] / D[i])
        acceleration, a = np.zeros(self.n), self.fall
        for i in range(self.n):
            a = self.X[i] @ a + bias[i]
            acceleration[i] = (left[i] - U[i] @ a) / D[i]
            a = a + self.phi[i] * acceleration[i]
        Z = self.X_tip.T @ np.eye(6)
        push = np.zeros((self.n, 6))
        for i in reversed(range(self.n)):
            push[i] = -self.phi[i] @ Z
            Z = self.X[i].T @ (Z + np.outer(U[i], push[i]) / D[i])
        Omega, y = np.zeros((self.n, 6)), np.zeros((6, 6))
        for i in range(self.n):
            z = self.X[i] @ y
            Omega[i] = (push[i] - U[i] @ z) / D[i]
            y = z + np.outer(self.phi[i], Omega[i])
        return acceleration, -Omega, -self.X_tip @ y

    def to_world(self) -> Array:
        """From the tip's twists here to ours: world axes, linear part first."""
        zero = np.zeros((3, 3))
        return np.block([[zero, self.R_tip], [self.R_tip, zero]])
