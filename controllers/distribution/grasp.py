"""One object that several arms hold, as the force distribution sees it: what is fixed at start, and what a tick brings.

The wrenches w = (f_1, n_1, f_2, n_2, ...) act on the object, by each arm at its grip, in world axes; a grip that cannot
transmit a moment has none. The object's motion fixes only a part of them (Sun 4.15); torques and elastic accelerations
are affine in w (Sun 4.7 to 4.9), and so are the wrenches that the thrusters of vehicles have to give, in their axes:

    A1 w = b1        tau = tau' + J1^T w        q_e'' = q_e0'' + J3^T w        w_b = w_b' + J_b^T w
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError, one_of
from granite.config.records import NOTHING, Array

ONE: Array = np.ones(1)
ONE.setflags(write=False)


class Grip(NamedTuple):
    """A grip on the object, and how many numbers its force and its moment have."""

    name: str
    n_force: int
    n_moment: int

    @property
    def size(self) -> int:
        """How many numbers its wrench has."""
        return self.n_force + self.n_moment


class VehicleBase(NamedTuple):
    """The base of a vehicle among the arms, and the wrenches that its thrusters reach: normals w <= bounds."""

    name: str
    normals: Array  #: (k, 3)
    bounds: Array  #: (k)


@dataclass(frozen=True)
class GraspShape:
    """What does not change from tick to tick.

    Parameters
    ----------
    grips
        In the order of their wrenches in w.
    joints
        Names of the driven joints of all arms, in the order of the torques.
    torque_limit
        Of each joint [N m].
    stiffness
        K_ee of the elastic coordinates of all arms; of size zero where all links are rigid.
    period_s
        Of the calls.
    bases
        Of vehicles, in the order of their wrenches.
    """

    grips: tuple[Grip, ...]
    joints: tuple[str, ...]
    torque_limit: Array
    stiffness: Array
    period_s: float
    bases: tuple[VehicleBase, ...] = ()

    @property
    def n_base(self) -> int:
        """How many numbers the wrenches of all bases have."""
        return 3 * len(self.bases)

    @property
    def n_wrench(self) -> int:
        """How many numbers all wrenches have."""
        return sum(grip.size for grip in self.grips)

    @property
    def n_space(self) -> int:
        """2 in a plane, 3 in space."""
        return self.grips[0].n_force

    @property
    def n_object(self) -> int:
        """How many equations the motion of the object has."""
        return 3 if self.n_space == 2 else 6

    @property
    def n_elastic(self) -> int:
        """How many elastic coordinates all arms have."""
        return len(self.stiffness)

    def force_part(self, grip: int) -> slice:
        """Indices of the force of a grip in w."""
        start = sum(other.size for other in self.grips[:grip])
        return slice(start, start + self.grips[grip].n_force)

    def moment_part(self, grip: int) -> slice:
        """Indices of the moment of a grip in w."""
        start = self.force_part(grip).stop
        return slice(start, start + self.grips[grip].n_moment)

    def grip_index(self, name: str, key: str) -> int:
        """Which grip has that name; `InputError` at the key where none has."""
        names = [grip.name for grip in self.grips]
        if name not in names:
            raise InputError("no such grip", key=key, value=name, expected=one_of(name, names))
        return names.index(name)

    def joint_index(self, name: str, key: str) -> int:
        """Which joint has that name; `InputError` at the key where none has."""
        if name not in self.joints:
            raise InputError("no such joint", key=key, value=name, expected=one_of(name, self.joints))
        return self.joints.index(name)


class Grasp(NamedTuple):
    """What a tick brings; sizes as in `GraspShape`, matrices by rows."""

    matrix: Array  #: A1 (n_object x n_wrench), the grasp matrix
    load: Array  #: b1 (n_object) [N, N m], the wrench that the demanded motion of the object needs
    free_torque: Array  #: tau' (n_joints) [N m], torques for the demanded motion without wrenches
    torque_map: Array  #: J1^T (n_joints x n_wrench)
    free_elastic: Array  #: q_e0'' (n_elastic)
    elastic_map: Array  #: J3^T (n_elastic x n_wrench)
    elastic: Array  #: q_e (n_elastic)
    elastic_rate: Array  #: q_e' (n_elastic)
    previous_torque: Array  #: (n_joints) [N m], of the tick before
    positions: Array  #: (n_grips x n_space) [m], of the grips in world axes
    axes: Array  #: (n_grips x n_space x n_space), rows are axes of a grip in world axes, the first into the object
    guided: Array = NOTHING  #: J3^T A1^+ b1 + G y (n_elastic), J3^T w of arms led from outside (Sun 6.55)
    free_base: Array = NOTHING  #: w_b' (n_base) [N, N m], wrenches on the bases for the demanded motion without w
    base_map: Array = NOTHING  #: J_b^T (n_base x n_wrench)
    ramp: Array = ONE  #: part of the set points that is in force, from 0 to 1

    @classmethod
    def rigid(
        cls,
        matrix: Array,
        load: Array,
        free_torque: Array,
        torque_map: Array,
        previous_torque: Array | None = None,
        positions: Array | None = None,
        axes: Array | None = None,
    ) -> Grasp:
        """Of arms with rigid links; without positions and axes where no term reads them."""
        nothing, n_j, n_w = np.zeros(0), len(free_torque), matrix.shape[1]
        n_s = 2 if len(load) == 3 else 3
        return cls(
            matrix, load, free_torque, torque_map, nothing, np.zeros((0, n_w)), nothing, nothing,
            np.zeros(n_j) if previous_torque is None else previous_torque,
            np.zeros((0, n_s)) if positions is None else positions,
            np.zeros((0, n_s, n_s)) if axes is None else axes,
        )  # fmt: skip
