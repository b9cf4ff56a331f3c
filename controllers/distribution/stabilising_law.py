"""Wrenches that give flexible arms the elastic motion of arms that are led from outside (Sun 6.5.1).

    w = A1^+ b1 + A1^N (J3^T A1^N)^+ G y,    G = -(M~_ee^-1 - M^_ee^-1) [K, D]              (Sun 6.53 to 6.55)

With no more elastic coordinates than internal forces, the plant is that of tips led from outside, which is stable;
with more, it is only the nearest in the sense of least squares, and nothing is guaranteed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, null_space

from granite.config.records import Array
from granite.controllers.distribution.flexible_arm import FlexibleArm


@dataclass(frozen=True)
class StabilisingLaw:
    """The law in one configuration.

    Attributes
    ----------
    load_map
        A1^+: wrenches per load of the object.
    gain
        dw/dy, y = (q_e, q_e') of all arms.
    is_exact
        Whether the plant is that of tips led from outside; otherwise it is the nearest by least
        squares only.
    """

    load_map: Array
    gain: Array
    is_exact: bool

    @classmethod
    def of(cls, arms: Sequence[FlexibleArm], matrix: Array) -> StabilisingLaw:
        """For arms that hold an object with this grasp matrix."""
        N = null_space(matrix)
        reach = block_diag(*(arm.elastic_map for arm in arms)) @ N
        change = block_diag(*(np.linalg.inv(arm.tilde_ee) - np.linalg.inv(arm.hat_ee) for arm in arms))
        K = block_diag(*(arm.K for arm in arms))
        D = block_diag(*(arm.D for arm in arms))
        G = -np.hstack([change @ K, change @ D])
        is_exact = bool(np.linalg.matrix_rank(reach) == len(reach))
        load_map: Array = np.linalg.pinv(matrix).astype(np.float64, copy=False)
        return cls(load_map, N @ np.linalg.pinv(reach) @ G, is_exact)

    def wrench(self, load: Array, y: Array) -> Array:
        """w for the load of the object b1 and the elastic state."""
        return self.load_map @ load + self.gain @ y
