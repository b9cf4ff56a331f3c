"""A joint of a module: frame, motion and resistance; and the transmission between motors and joints."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Angle, Direction, Name, NotNegative, Positive, Table, Vector, refuse_twice
from granite.config.errors import InputError

#: keys of the joint's spring, by kind: stiffness, and the coordinate at which it is slack
SPRING = {"revolute": ("stiffness_n_m_rad", "slack_rad"), "prismatic": ("stiffness_n_m", "slack_m")}
#: keys of the joint's resistance, by kind: damping, Coulomb friction, and the rate below which the friction fades out
RESISTANCE = {
    "revolute": ("damping_n_m_s", "friction_n_m", "friction_rate_rad_s"),
    "prismatic": ("damping_n_s_m", "friction_n", "friction_speed_m_s"),
}
#: largest condition number of a matrix that counts as regular
_SINGULAR = 1e9


class Joint(Table):
    """A joint of one degree of freedom.

    The child's frame is the parent's, moved by the origin, then the rotation, then the coordinate. Damping d and
    Coulomb friction f resist its rate v with d v + f v / sqrt(v^2 + v0^2). The controllers know these values; the
    friction of the plant may differ: `simulation.joint_friction`. A spring makes a flexible joint: k (q0 - q); with a
    body for the rotor of a motor before it, and one for the link after it.
    """

    name: Name  #: of the joint, and of its coordinate
    kind: Literal["revolute", "prismatic"] = "revolute"  #: it turns, or it slides
    parent: Name  #: the body that carries it
    child: Name  #: the body that it carries
    origin_m: Vector = (0.0, 0.0)  #: of the joint frame in the parent's frame
    #: roll, pitch, yaw of the joint frame in the parent's frame (R = Rz Ry Rx); planar modules use yaw only
    rotation_rad: tuple[Angle, Angle, Angle] = (0.0, 0.0, 0.0)
    #: in the joint frame; a planar revolute joint always turns about z
    axis: Direction = (0.0, 0.0, 1.0)
    #: of a revolute joint: damping [N m s/rad], friction, and the rate v0 below which the friction fades out
    damping_n_m_s: NotNegative = 0.0
    friction_n_m: NotNegative = 0.0  #: Coulomb friction f of a revolute joint
    friction_rate_rad_s: Positive = 1e-2  #: rate v0 below which that friction fades out
    #: of a prismatic joint: damping [N s/m], friction, and the speed v0 below which the friction fades out
    damping_n_s_m: NotNegative = 0.0
    friction_n: NotNegative = 0.0  #: Coulomb friction f of a prismatic joint
    friction_speed_m_s: Positive = 1e-3  #: speed v0 below which that friction fades out
    #: of a revolute joint: spring [N m/rad] and the angle at which it is slack; of a prismatic one [N/m], [m]
    stiffness_n_m_rad: NotNegative = 0.0
    slack_rad: float = 0.0  #: angle q0 at which the spring of a revolute joint is slack
    stiffness_n_m: NotNegative = 0.0  #: spring of a prismatic joint
    slack_m: float = 0.0  #: position q0 at which the spring of a prismatic joint is slack

    @model_validator(mode="after")
    def _resists_in_its_own_units(self) -> Joint:
        other = "prismatic" if self.kind == "revolute" else "revolute"
        keys, others = (*RESISTANCE[self.kind], *SPRING[self.kind]), (*RESISTANCE[other], *SPRING[other])
        for key, wrong in zip(keys, others, strict=True):
            # A stored testbed has all keys, those of the other kind with their defaults.
            if getattr(self, wrong) != type(self).model_fields[wrong].default:
                raise InputError(key=wrong, value=getattr(self, wrong), expected=f"{key} for a {self.kind} joint")
        return self

    @property
    def resistance(self) -> tuple[float, float, float]:
        """Damping d, friction f and the rate v0, in the units of its kind."""
        damping, friction, rate = (getattr(self, key) for key in RESISTANCE[self.kind])
        return damping, friction, rate

    @property
    def spring(self) -> tuple[float, float]:
        """Stiffness k and the coordinate q0 at which it is slack, in the units of its kind."""
        stiffness, slack = (getattr(self, key) for key in SPRING[self.kind])
        return stiffness, slack


class Transmission(Table):
    """Motors whose torques act on several joints of a module, as by cables and pulleys.

        torques of the joints = T (torques of the motors)        rates of the motors = T^T (rates of the joints)

    by virtual work. A motor bears the name of the joint that would be its own without the transmission.
    """

    #: joints whose motors it connects, in the order of its rows (joints) and columns (motors)
    joints: tuple[Name, ...] = Field(min_length=1)
    #: torque at each joint for a torque of each motor
    matrix: tuple[tuple[float, ...], ...]

    @model_validator(mode="after")
    def _can_be_inverted(self) -> Transmission:
        refuse_twice("joints", "joint", self.joints)
        n, shape = len(self.joints), [len(row) for row in self.matrix]
        if shape != [n] * n:
            expected = f"{n} rows of {n} numbers, one for each of joints"
            raise InputError(key="matrix", value=self.matrix, expected=expected)
        if not np.isfinite(self.matrix).all() or np.linalg.cond(np.array(self.matrix)) > _SINGULAR:
            raise InputError("it is singular", key="matrix", value=self.matrix, expected="rows that are independent")
        return self
