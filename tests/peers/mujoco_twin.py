"""A module as a MuJoCo model. Its free joint has our velocities: linear in world, angular in body axes."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

import mujoco
import numpy as np

from granite.config.base import spatial
from granite.config.coordinates import positions, velocities
from granite.config.modules import Body, Joint, Module
from tests.peers.random_trees import Array, has_quaternion, inertia_of_body, rotation_of_joint
from tests.support.dense_model import PointMotion


class MujocoTwin:
    """The questions of `tests.support.dense_model.Model`, answered by MuJoCo."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.model = mujoco.MjModel.from_xml_string(_document(module))
        self.data = mujoco.MjData(self.model)
        joints = [mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_JOINT, i) for i in range(self.model.njnt)]
        base_q, base_u = (len(c) - len(module.joints) for c in (positions(module), velocities(module)))
        order = [[j.name for j in module.joints_in_tree_order()].index(n) for n in joints if n[:4] != "base"]
        self.q_order = [*range(base_q), *(base_q + i for i in order)]  # our index, by MuJoCo's
        self.u_order = [*range(base_u), *(base_u + i for i in order)]

    def mass_matrix(self, q: Array) -> Array:
        self.move(q, np.zeros(self.model.nv))
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return self._back(self._back(M).T).T

    def bias(self, q: Array, u: Array) -> Array:
        self.move(q, u)
        return self._back(self.data.qfrc_bias)

    def gravity_force(self, q: Array) -> Array:
        return self.bias(q, np.zeros(self.model.nv))

    def inverse_dynamics(self, q: Array, u: Array, acceleration: Array) -> Array:
        self.move(q, u)
        self.data.qacc[:] = acceleration[self.u_order]
        mujoco.mj_inverse(self.model, self.data)
        return self._back(self.data.qfrc_inverse)

    def forward_dynamics(self, q: Array, u: Array, force: Array) -> Array:
        self.move(q, u, force)
        return self._back(self.data.qacc)

    def kinetic_energy(self, q: Array, u: Array) -> float:
        self.move(q, u)
        return float(self.data.energy[1])

    def potential_energy(self, q: Array) -> float:
        self.move(q, np.zeros(self.model.nv))
        return float(self.data.energy[0])

    def momentum(self, q: Array, u: Array) -> Array:
        """The mass centre's momentum, and the angular momentum about the world origin."""
        centre, velocity = self.centre_of_mass(q, u)
        linear = velocity * self.model.body_subtreemass[0]
        angular = self.data.subtree_angmom[0] + np.cross(centre, linear)
        return np.concatenate([linear, angular])

    def centre_of_mass(self, q: Array, u: Array) -> tuple[Array, Array]:
        self.move(q, u)
        mujoco.mj_subtreeVel(self.model, self.data)
        return self.data.subtree_com[0].copy(), self.data.subtree_linvel[0].copy()

    def point(self, name: str, q: Array, u: Array) -> PointMotion:
        self.move(q, u)
        site = self.data.site(name)
        body, position = self.model.site(name).bodyid[0], site.xpos.copy()
        jacobian, rate = np.zeros((2, 6, self.model.nv))
        mujoco.mj_jac(self.model, self.data, jacobian[:3], jacobian[3:], position, body)
        mujoco.mj_jacDot(self.model, self.data, rate[:3], rate[3:], position, body)
        v = self.data.qvel
        rotation = site.xmat.reshape(3, 3).copy()
        return PointMotion(position, rotation, jacobian @ v, self._back(jacobian.T).T, rate @ v)

    def move(self, q: Array, u: Array, force: Array | None = None) -> None:
        self.data.qpos[:], self.data.qvel[:] = q[self.q_order], u[self.u_order]
        self.data.qfrc_applied[:] = 0.0 if force is None else force[self.u_order]
        mujoco.mj_forward(self.model, self.data)

    def _back(self, rows: Array) -> Array:
        ours = np.empty_like(rows)
        ours[self.u_order] = rows
        return ours


def _document(module: Module) -> str:
    root = Element("mujoco")
    SubElement(root, "compiler", angle="radian", inertiafromgeom="false")
    option = SubElement(root, "option", gravity=_text(spatial(module.gravity_m_s2)))
    SubElement(option, "flag", energy="enable", contact="disable", constraint="disable")
    body = _add_body(SubElement(root, "worldbody"), module.root, module)
    if has_quaternion(module):
        body.insert(0, Element("freejoint", name="base"))
    elif module.base == "floating":
        for i, (kind, axis) in enumerate((("slide", "1 0 0"), ("slide", "0 1 0"), ("hinge", "0 0 1"))):
            body.insert(i, Element("joint", name=f"base{i}", type=kind, axis=axis))
    if module.transmission is not None:
        tendons, actuators = SubElement(root, "tendon"), SubElement(root, "actuator")
        for motor, column in zip(
            module.transmission.joints, zip(*module.transmission.matrix, strict=True), strict=True
        ):
            tendon = SubElement(tendons, "fixed", name=motor)
            for joint, ratio in zip(module.transmission.joints, column, strict=True):
                SubElement(tendon, "joint", joint=joint, coef=repr(ratio))
            SubElement(actuators, "motor", tendon=motor)
    return tostring(root, encoding="unicode")


def _add_body(above: Element, body: Body, module: Module, joint: Joint | None = None) -> Element:
    element = SubElement(above, "body", name=body.name)
    if joint is not None:
        R = rotation_of_joint(joint)
        element.set("pos", _text(spatial(joint.origin_m)))
        element.set("xyaxes", _text([*R[:, 0], *R[:, 1]]))
        kind = "hinge" if joint.kind == "revolute" else "slide"
        SubElement(element, "joint", name=joint.name, type=kind, axis=_text(spatial(joint.axis)))
    moments = inertia_of_body(body)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    com, mass = _text(spatial(body.com_m)), repr(body.mass_kg)
    SubElement(element, "inertial", pos=com, mass=mass, fullinertia=_text(moments))
    for point in module.points:
        if point.body == body.name:
            SubElement(element, "site", name=point.name, pos=_text(spatial(point.position_m)))
    for carried in module.joints:
        if carried.parent == body.name:
            child = next(b for b in module.bodies if b.name == carried.child)
            _add_body(element, child, module, carried)
    return element


def _text(numbers: object) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(numbers, dtype=float))
