"""A module from URDF as Pinocchio's own parser reads the file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pinocchio as pin

from granite.config.base import spatial
from granite.config.coordinates import velocities
from granite.config.modules import Module
from tests.peers.pinocchio_twin import PinocchioTwin
from tests.peers.random_trees import Array, rotation_of_joint
from tests.support.dense_model import PointMotion


class UrdfTwin(PinocchioTwin):
    """The twin, from Pinocchio's own reading of the file; the links of the file go by the names of our bodies."""

    def __init__(self, file: Path, module: Module) -> None:
        self.module = module
        floating = [pin.JointModelFreeFlyer()] if module.base == "floating" else []
        self.model = pin.buildModelFromUrdf(str(file), *floating)
        self.model.gravity = pin.Motion(np.array(spatial(module.gravity_m_s2)), np.zeros(3))
        self._quaternion = module.base == "floating"
        ours = [v.name for v in velocities(module)]
        self._order = list(range(6)) if floating else []
        self._order += [ours.index(our_name(name)) for name in list(self.model.names)[1 + self._quaternion :]]
        self._turn = {p.name: rotation_of_joint(p) for p in module.points}  # type: ignore[arg-type]
        for point in module.points:
            if not self.model.existFrame(point.name):
                link = self.model.frames[self.model.getFrameId(point.body, pin.FrameType.BODY)]
                place = link.placement * pin.SE3(self._turn[point.name], np.array(point.position_m))
                self.model.addFrame(pin.Frame(point.name, link.parentJoint, 0, place, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()

    def point(self, name: str, q: Array, u: Array) -> PointMotion:
        """As the model has it, with the axes of the body instead of the point's own."""
        motion = super().point(name, q, u)
        return motion._replace(rotation=motion.rotation @ self._turn[name].T)

    def _q(self, q: Array) -> Array:
        """Pinocchio keeps the cosine and the sine of an angle without bounds."""
        plain = super()._q(q)
        if not self._order:
            return plain
        base = 7 if self._quaternion else 0
        entries = [plain[:base]]
        for joint, angle in zip(list(self.model.joints)[1 + self._quaternion :], plain[base:], strict=True):
            entries.append([np.cos(angle), np.sin(angle)] if joint.nq == 2 else [angle])
        return np.concatenate(entries)


def our_name(joint: str) -> str:
    """How we call a joint of a file."""
    name = re.sub(r"[^a-z0-9_]", "_", joint.lower())
    return name if name[0].isalpha() else f"joint_{name}"
