"""The plant on a bench: somebody sets its joints and loads its contacts, and simulated sensors measure it there."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from granite.config.contacts import Contact
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.start import initial_motion
from granite.config.testbed import Testbed
from granite.kernels.compilation import compile_once
from granite.mrds.tree import Tree
from granite.sim.devices.force_gauges import side_rotation
from granite.sim.plant.constrained_plant import ContactLoads
from granite.sim.plant.equations import sensed_joints


class BenchPlant:
    """A plant at rest whose coordinates and contact loads are set by hand; for gauges and joint sensors."""

    def __init__(self, bed: Testbed) -> None:
        self.bed = bed
        self.q: Array = initial_motion(bed)[0].copy()
        #: the sensed joints: angles [rad], then rates [rad/s]
        self._sensed = sensed_joints(bed)
        angles = self.q[[bed.layout.joint_q(joint) for joint in self._sensed]]
        self.joints: Array = np.concatenate((angles, np.zeros(len(angles))))
        if bed.contacts:
            kernels = compile_once("bench", bed.plant_fingerprint, lambda: [_rotations(bed)])
            self._rotations = kernels["rotations"].run
        self._wrenches = np.zeros((len(bed.contacts), 3 if bed.planar else 6))

    def advance(self, t: float) -> None:
        """It rests."""

    def set_joint(self, joint: str, angle: float) -> None:
        """Turn a joint, which rests there."""
        self.q[self.bed.layout.joint_q(joint)] = angle
        for i, sensed in enumerate(self._sensed):
            if sensed == joint:
                self.joints[i] = angle

    def load(self, contact: Contact, components: Mapping[str, float], axes: tuple[str, ...]) -> None:
        """Load a contact with forces [N] and moments [N m], in the axes of the body of its first side."""
        load = np.array([components.get(axis, 0.0) for axis in axes])
        index = self.bed.contacts.index(contact)
        R = self._rotations((self.q,)).reshape(-1, 3, 3)[index].T
        turned = np.concatenate((R[:2, :2] @ load[:2], load[2:])) if self.bed.planar else np.kron(np.eye(2), R) @ load
        self._wrenches[:] = 0.0
        self._wrenches[index] = turned

    def bend(self, module: Module, amplitudes: Array) -> None:
        """Bend the flexible links of a module: amplitudes of its modes [m]."""
        end = self.bed.layout.q[module.name].stop
        self.q[end - len(amplitudes) : end] = amplitudes

    def contact_loads(self) -> ContactLoads:
        """The loads that were set."""
        return ContactLoads(self._wrenches.ravel().copy(), np.zeros(0), 0.0, 0.0, 1.0)


def _rotations(bed: Testbed) -> ca.Function:
    """(q) -> rotation of the body of the first side of each contact to the world, column after column."""
    trees = {module.name: Tree(module) for module in bed.modules}
    rotations = [ca.vec(ca.densify(side_rotation(bed, trees, contact.first))) for contact in bed.contacts]
    return ca.Function("rotations", [ca.vertcat(*(tree.q for tree in trees.values()))], [ca.vertcat(*rotations)])
