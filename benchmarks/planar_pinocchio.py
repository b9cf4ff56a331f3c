"""A planar robot in the form in which Pinocchio is fastest: a planar base joint, and joints about the z axis.

General joints (`tests.peers.pinocchio_twin`: three joints for the base, revolute joints about any axis) take 1.5 times
as long. The planar joint has the velocity of the base in body axes, v = S u with S = blkdiag(R^T, 1), ours in world
axes; forces turn likewise.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from granite.config.base import spatial
from granite.config.modules import Body, Module
from granite.kernels.kernel import Array
from tests.peers.random_trees import inertia_of_body, rotation_of_joint


class PlanarPinocchio:
    """A floating planar module with revolute joints."""

    def __init__(self, module: Module) -> None:
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(spatial(module.gravity_m_s2)), np.zeros(3))
        base = self.model.addJoint(0, pin.JointModelPlanar(), pin.SE3.Identity(), "base")
        self._module, self._order = module, [0, 1, 2]  # our velocity index, by Pinocchio's
        self._add(base, module.root)
        self.data = self.model.createData()

    def arguments(self, q: Array, u: Array, force: Array) -> tuple[Array, Array, Array]:
        """Coordinates, velocities and forces as Pinocchio has them."""
        c, s = np.cos(q[2]), np.sin(q[2])
        R = np.array([[c, -s], [s, c]])
        v, f = u[self._order], force[self._order]
        v[:2], f[:2] = R.T @ u[:2], R.T @ force[:2]
        return np.concatenate([q[:2], [c, s], q[self._order[3:]]]), v, f

    def accelerations(self, q: Array, u: Array, v_dot: Array) -> Array:
        """u' from v': v' = S u' + S' u."""
        c, s = np.cos(q[2]), np.sin(q[2])
        R, turned = np.array([[c, -s], [s, c]]), np.array([[-s, -c], [c, -s]])
        ours = np.empty_like(v_dot)
        ours[self._order] = v_dot
        ours[:2] = R @ (v_dot[:2] - u[2] * turned.T @ u[:2])
        return ours

    def _add(self, joint: int, body: Body) -> None:
        inertia = pin.Inertia(body.mass_kg, np.array(spatial(body.com_m)), inertia_of_body(body))
        self.model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        names = [j.name for j in self._module.joints_in_tree_order()]
        for carried in self._module.joints:
            if carried.parent == body.name:
                place = pin.SE3(rotation_of_joint(carried), np.array(spatial(carried.origin_m)))
                child = self.model.addJoint(joint, pin.JointModelRZ(), place, carried.name)
                self._order.append(3 + names.index(carried.name))
                self._add(child, next(b for b in self._module.bodies if b.name == carried.child))
