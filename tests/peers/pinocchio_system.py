"""A system of rigid modules as one Pinocchio model with its contacts as rigid constraints.

Modules are appended one by one, fixed ones where they stand. Rigid grasps are constraints of six rows, spherical
contacts and hard points of three, in the axes of E; their forces come back as ours, by E on P. Both engines differ in
how they continue a contact that is open or slips, so poses and speeds must fit.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from granite.config.base import spatial
from granite.config.contacts import Contact, Side
from granite.config.modules import Module
from granite.mrds.system import System
from tests.peers.pinocchio_twin import PinocchioTwin
from tests.peers.random_trees import Array
from tests.support.random_systems import split

ROWS = {
    "rigid_grasp": pin.ContactType.CONTACT_6D,
    "spherical": pin.ContactType.CONTACT_3D,
    "hard_point": pin.ContactType.CONTACT_3D,
}


class PinocchioSystem:
    """Accelerations and holding forces of a system, by Pinocchio."""

    def __init__(self, system: System, contacts: list[Contact] | None = None) -> None:
        self.system = system
        self.twins = {name: _twin(module) for name, module in system.modules.items()}
        self.model = pin.Model()
        for name, twin in self.twins.items():
            self.model = pin.appendModel(self.model, twin.model, 0, _placement(system.modules[name]))
        self.model.gravity = next(iter(self.twins.values())).model.gravity
        self.data = self.model.createData()
        self.contacts = list(system.contacts.values()) if contacts is None else contacts
        self.constraints = pin.StdVec_RigidConstraintModel()
        for contact in self.contacts:
            (i, E), (j, P) = self._side(contact.first), self._side(contact.second)
            self.constraints.append(pin.RigidConstraintModel(ROWS[contact.kind], self.model, i, E, j, P, pin.LOCAL))
        self.constraint_data = pin.StdVec_RigidConstraintData()
        for constraint in self.constraints:
            self.constraint_data.append(constraint.createData())
        # Its own regularisation, iterated until nothing of it is left.
        self.settings = pin.ProximalSettings(1e-14, 1e-10, 50)
        pin.initConstraintDynamics(self.model, self.data, self.constraints, self.constraint_data)

    def accelerate(self, q: Array, u: Array, force: Array) -> tuple[Array, Array]:
        a = pin.constraintDynamics(
            self.model, self.data, *self.arguments(q, u, force), self.constraints, self.constraint_data, self.settings
        )
        qs, us, parts = split(self.system, q, "q"), split(self.system, u, "u"), []
        for name, twin in self.twins.items():
            theirs = self._taken(twin, a)
            still = twin._v_dot(qs[name], us[name], np.zeros_like(us[name]))
            parts.append(twin._back(qs[name], theirs - still))
        held = [
            -(d.contact_force.vector if c.kind == "rigid_grasp" else d.contact_force.linear)
            for c, d in zip(self.contacts, self.constraint_data, strict=True)
        ]
        return np.concatenate(parts), np.concatenate(held)

    def arguments(self, q: Array, u: Array, force: Array) -> tuple[Array, Array, Array]:
        """Pinocchio's q, v and force."""
        qs, us, fs = (split(self.system, x, of) for x, of in ((q, "q"), (u, "u"), (force, "u")))
        pose, speed, push = np.zeros(self.model.nq), np.zeros(self.model.nv), np.zeros(self.model.nv)
        for name, twin in self.twins.items():
            for (at_q, from_q), (at_v, from_v) in self._slots(twin):
                pose[at_q] = twin._q(qs[name])[from_q]
                speed[at_v] = twin._v(qs[name], us[name])[from_v]
                push[at_v] = twin._v(qs[name], fs[name])[from_v]
        return pose, speed, push

    def _taken(self, twin: PinocchioTwin, a: Array) -> Array:
        own = np.zeros(twin.model.nv)
        for _, (at_v, from_v) in self._slots(twin):
            own[from_v] = a[at_v]
        return own

    def _slots(self, twin: PinocchioTwin):
        """Where the coordinates of a module stand in the whole, and in its own model."""
        for i in range(1, twin.model.njoints):
            whole, own = self.model.joints[self.model.getJointId(twin.model.names[i])], twin.model.joints[i]
            yield (
                (slice(whole.idx_q, whole.idx_q + whole.nq), slice(own.idx_q, own.idx_q + own.nq)),
                (slice(whole.idx_v, whole.idx_v + whole.nv), slice(own.idx_v, own.idx_v + own.nv)),
            )

    def _side(self, side: Side) -> tuple[int, pin.SE3]:
        if side.grounded:
            return 0, pin.SE3(pin.rpy.rpyToMatrix(*side.rotation_rad), np.array(spatial(side.position_m)))
        point = next(p for p in self.system.modules[side.module].points if p.name == side.point)
        frame = self.model.frames[self.model.getFrameId(f"{side.module}_{side.point}")]
        return frame.parentJoint, frame.placement * pin.SE3(pin.rpy.rpyToMatrix(*point.rotation_rad), np.zeros(3))


def _placement(module: Module) -> pin.SE3:
    if module.base == "floating":
        return pin.SE3.Identity()
    return pin.SE3(pin.rpy.rpyToMatrix(*module.placement_rad), np.array(spatial(module.placement_m)))


def _twin(module: Module) -> PinocchioTwin:
    twin = PinocchioTwin(_prefixed(module))
    for i, name in enumerate(twin.model.names):
        if name.startswith("base"):
            twin.model.names[i] = f"{module.name}_{name}"
    return twin


def _prefixed(module: Module) -> Module:
    """The module with its own name before the names of all it holds, so that many fit into one model."""
    own = module.name
    return module.model_copy(
        update={
            "bodies": tuple(b.model_copy(update={"name": f"{own}_{b.name}"}) for b in module.bodies),
            "joints": tuple(
                j.model_copy(
                    update={"name": f"{own}_{j.name}", "parent": f"{own}_{j.parent}", "child": f"{own}_{j.child}"}
                )
                for j in module.joints
            ),
            "points": tuple(
                p.model_copy(update={"name": f"{own}_{p.name}", "body": f"{own}_{p.body}"}) for p in module.points
            ),
        }
    )
