"""Sharing by pseudo-inverse of paired thrusters (Stanford report of 1987, section 4.4.4).

Two thrusters with exactly opposite wrenches form one actuator of both signs; the
smallest sum of squares over these actuators is the pseudo-inverse (Moore-Penrose), R' = C_RF'^+ F, and a negative R'
is the thrust of the partner (Table 4.2). The report pairs by hand; here the pairs are found in the geometry.

A thruster without a partner whose thrust would be negative is left out, and the rest is solved again.
"""

from __future__ import annotations

from typing import ClassVar

import casadi as ca
import numpy as np

from granite.config.parts import PartTable
from granite.config.records import Array
from granite.controllers.thrusters.contract import ThrusterSet

#: tolerance below zero [N]
_TOLERANCE_N = 1e-12


class PseudoInverse:
    """Smallest sum of squares over pairs of opposite thrusters; linear but for the limits."""

    is_on_off: ClassVar[bool] = False

    def __init__(self, options: PartTable, thrusters: ThrusterSet) -> None:
        matrix, available, weight = thrusters[:3]
        self._matrix, self._available, self._weight = matrix, available, weight
        self._nothing = np.zeros(len(available))
        #: thruster and its partner
        self.pairs = opposite_pairs(matrix, np.flatnonzero(available).tolist())
        paired = {i for pair in self.pairs for i in pair}
        #: thrusters without one
        self.alone = tuple(i for i in np.flatnonzero(available).tolist() if i not in paired)
        self._inverses: dict[tuple[int, ...], Array] = {}
        self._full = self._inverse(())

    def share(self, wrench: Array) -> Array:
        """The thrust of each thruster [N] for this wrench on the root body."""
        thrust: Array = self._full @ wrench
        if self.alone:
            thrust = self._without_pulling(wrench, thrust)
        thrust = np.where(thrust > self._nothing, thrust, self._nothing)  # never -0.0, as the symbols below
        return np.minimum(thrust, self._available, out=thrust)

    def expression(self, wrench: ca.SX) -> ca.SX | None:
        """The same for a symbolic wrench; None where thrusters without a partner need a search."""
        if self.alone:
            return None
        thrust = ca.DM(self._full) @ wrench
        pushing = ca.if_else(thrust > self._nothing, thrust, self._nothing)  # of zeros, fmax may give either sign
        return ca.fmin(pushing, self._available)

    def _without_pulling(self, wrench: Array, thrust: Array) -> Array:
        left_out: tuple[int, ...] = ()
        while pulling := tuple(i for i in self.alone if thrust[i] < -_TOLERANCE_N):
            left_out = tuple(sorted(left_out + pulling))
            thrust = self._inverse(left_out) @ wrench
        return thrust

    def _inverse(self, left_out: tuple[int, ...]) -> Array:
        """The signed thrust of each thruster per unit of wrench (n x m); partners have opposite signs."""
        if left_out not in self._inverses:
            signed = [i for i, _ in self.pairs] + [i for i in self.alone if i not in left_out]
            # The weight matters only where the wrench is not feasible: it defines the nearest one.
            reduced = self._weight[:, None] * self._matrix[:, signed]
            inverse = np.zeros(self._matrix.T.shape)
            inverse[signed] = np.linalg.pinv(reduced) * self._weight
            for i, partner in self.pairs:
                inverse[partner] = -inverse[i]
            self._inverses[left_out] = inverse
        return self._inverses[left_out]


def opposite_pairs(matrix: Array, usable: list[int]) -> tuple[tuple[int, int], ...]:
    """Pairs of usable thrusters whose columns are exactly opposite, each thruster in one pair at most."""
    pairs: list[tuple[int, int]] = []
    left = list(usable)
    while left:
        i = left.pop(0)
        for j in left:
            if np.abs(matrix[:, i] + matrix[:, j]).max() <= 1e-9:
                pairs.append((i, j))
                left.remove(j)
                break
    return tuple(pairs)
