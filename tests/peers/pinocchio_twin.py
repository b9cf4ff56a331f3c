"""A module as a Pinocchio model that answers in our coordinates.

Pinocchio wants the joints of a subtree side by side, so it gets them depth first and the indices are
permuted. Its free flyer moves with the base's velocity in body axes, v = S(q) u with S = blkdiag(R^T, 1),
where ours is in world axes: forces go back with S^T, and S' u = (-w x R^T v_W, 0) is the acceleration that u'
= 0 leaves.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from granite.config.base import spatial
from granite.config.coordinates import velocities
from granite.config.modules import Body, Module
from tests.peers.random_trees import Array, has_quaternion, inertia_of_body, rotation_of_joint
from tests.support.dense_model import PointMotion


class PinocchioTwin:
    """The questions of `tests.support.dense_model.Model`, answered by Pinocchio."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(spatial(module.gravity_m_s2)), np.zeros(3))
        self._quaternion = has_quaternion(module)
        self._order: list[int] = []  # our velocity index, by Pinocchio's
        self._joint = {module.root.name: self._add_root()}
        self._add_children(module.root.name)
        self.data = self.model.createData()

    def mass_matrix(self, q: Array) -> Array:
        M = pin.crba(self.model, self.data, self._q(q))
        M = np.triu(M) + np.triu(M, 1).T
        return self._back_matrix(q, M)

    def bias(self, q: Array, u: Array) -> Array:
        return self.inverse_dynamics(q, u, np.zeros_like(u))

    def gravity_force(self, q: Array) -> Array:
        return self._back(q, pin.computeGeneralizedGravity(self.model, self.data, self._q(q)))

    def inverse_dynamics(self, q: Array, u: Array, acceleration: Array) -> Array:
        force = pin.rnea(self.model, self.data, self._q(q), self._v(q, u), self._v_dot(q, u, acceleration))
        return self._back(q, force)

    def forward_dynamics(self, q: Array, u: Array, force: Array) -> Array:
        v_dot = pin.aba(self.model, self.data, self._q(q), self._v(q, u), self._v(q, force))
        a = v_dot - self._v_dot(q, u, np.zeros_like(u))
        return self._back(q, a)

    def kinetic_energy(self, q: Array, u: Array) -> float:
        return float(pin.computeKineticEnergy(self.model, self.data, self._q(q), self._v(q, u)))

    def potential_energy(self, q: Array) -> float:
        potential = pin.computePotentialEnergy(self.model, self.data, self._q(q))
        mass, centre = self._standing()
        return float(potential - mass * np.dot(spatial(self.module.gravity_m_s2), centre))

    def momentum(self, q: Array, u: Array) -> Array:
        about_centre = pin.computeCentroidalMomentum(self.model, self.data, self._q(q), self._v(q, u))
        shift = np.cross(self.data.com[0], about_centre.linear)
        return np.concatenate([about_centre.linear, about_centre.angular + shift])

    def centre_of_mass(self, q: Array, u: Array) -> tuple[Array, Array]:
        pin.centerOfMass(self.model, self.data, self._q(q), self._v(q, u))
        moving, (mass, centre) = self.data.mass[0], self._standing()
        position = (moving * self.data.com[0] + mass * centre) / (moving + mass)
        return position, moving * self.data.vcom[0] / (moving + mass)

    def point(self, name: str, q: Array, u: Array) -> PointMotion:
        frame, world = self.model.getFrameId(name), pin.LOCAL_WORLD_ALIGNED
        still = self._v_dot(q, u, np.zeros_like(u))
        pin.forwardKinematics(self.model, self.data, self._q(q), self._v(q, u), still)
        pin.updateFramePlacements(self.model, self.data)
        pose = self.data.oMf[frame]
        twist = pin.getFrameVelocity(self.model, self.data, frame, world).vector
        drift = pin.getFrameClassicalAcceleration(self.model, self.data, frame, world).vector
        jacobian = pin.computeFrameJacobian(self.model, self.data, self._q(q), frame, world).reshape(6, -1)
        return PointMotion(pose.translation, pose.rotation, twist, self._back(q, jacobian.T).T, drift)

    def _add_root(self) -> int:
        body, still = self.module.root, pin.SE3.Identity()
        joint = 0
        if self._quaternion:
            joint = self.model.addJoint(0, pin.JointModelFreeFlyer(), still, "base")
            self._order += range(6)
        elif self.module.base == "floating":
            for i, kind in enumerate((pin.JointModelPX, pin.JointModelPY, pin.JointModelRZ)):
                joint = self.model.addJoint(joint, kind(), still, f"base{i}")
                self._order.append(i)
        self._add_body(joint, body)
        return joint

    def _add_children(self, parent: str) -> None:
        names = [v.name for v in velocities(self.module)]
        for joint in self.module.joints:
            if joint.parent != parent:
                continue
            axis = np.array(spatial(joint.axis)) / np.linalg.norm(joint.axis)
            revolute = joint.kind == "revolute"
            kind = (pin.JointModelRevoluteUnaligned if revolute else pin.JointModelPrismaticUnaligned)(axis)
            place = pin.SE3(rotation_of_joint(joint), np.array(spatial(joint.origin_m)))
            self._joint[joint.child] = self.model.addJoint(self._joint[parent], kind, place, joint.name)
            self._order.append(names.index(joint.name))
            self._add_body(self._joint[joint.child], next(b for b in self.module.bodies if b.name == joint.child))
            self._add_children(joint.child)

    def _add_body(self, joint: int, body: Body) -> None:
        inertia = pin.Inertia(body.mass_kg, np.array(spatial(body.com_m)), inertia_of_body(body))
        self.model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        for point in self.module.points:
            if point.body == body.name:
                place = pin.SE3(np.eye(3), np.array(spatial(point.position_m)))
                self.model.addFrame(pin.Frame(point.name, joint, 0, place, pin.FrameType.OP_FRAME))

    def _standing(self) -> tuple[float, Array]:
        """Mass and mass centre of a root on the ground, which Pinocchio leaves out of its sums."""
        root = self.module.root
        standing = self.module.base == "fixed"
        return root.mass_kg * standing, np.array(spatial(root.com_m))

    def _q(self, q: Array) -> Array:
        if not self._quaternion:
            return q[self._order]
        w, x, y, z = q[3:7]
        return np.concatenate([q[:3], [x, y, z, w], q[1:][self._order[6:]]])

    def _v(self, q: Array, u: Array) -> Array:
        """S u, in Pinocchio's order; forces turn likewise because S^-T = S."""
        v = u[self._order]
        if self._quaternion:
            v[:3] = self._rotation(q).T @ v[:3]
        return v

    def _v_dot(self, q: Array, u: Array, acceleration: Array) -> Array:
        """S u' + S' u."""
        v_dot = self._v(q, acceleration)
        if self._quaternion:
            v_dot[:3] -= np.cross(u[3:6], self._rotation(q).T @ u[:3])
        return v_dot

    def _back(self, q: Array, rows: Array) -> Array:
        """S^T times rows of Pinocchio's, in our order; accelerations turn likewise because S^-1 = S^T."""
        ours = np.empty_like(rows)
        ours[self._order] = rows
        if self._quaternion:
            ours[:3] = self._rotation(q) @ ours[:3]
        return ours

    def _back_matrix(self, q: Array, matrix: Array) -> Array:
        return self._back(q, self._back(q, matrix).T).T

    def _rotation(self, q: Array) -> Array:
        w, x, y, z = q[3:7]
        return np.array(pin.Quaternion(w, x, y, z).toRotationMatrix())
