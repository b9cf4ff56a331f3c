"""Kinematics of a flexible link relative to its own frame, which sits at its base with x along the unbent axis.

The point x of the axis is at (x - 1/2 int_0^x (w_y'^2 + w_z'^2), w_y(x), w_z(x)) (Bonaventura 2002, eqs. 126 to 129),
its cross-section turned by Rz(w_y') Ry(-w_z') Rx(twist - int_0^x w_y'' w_z'). In the plane that is exact for a thin
beam; in space the section's x axis is tangent, and its strain is twist alone, up to terms of third order. Stretch is
added along x. Without foreshortening the integral is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.modules import Flexible
from granite.mrds.flexible.integrals import at_section, integrals
from granite.mrds.symbols import rotation, vector


class Section(NamedTuple):
    """A cross-section relative to the base of its link."""

    p_BS: ca.SX
    R_BS: ca.SX
    v_BS: ca.SX  #: rate of p_BS, in the axes of the base
    w_BS: ca.SX  #: angular velocity, in the axes of the section


class FlexibleLink:
    """A flexible link with its amplitudes `q` (along y, along z, twist, stretch) and their rates `u`."""

    def __init__(self, link: Flexible, q: ca.SX, u: ca.SX) -> None:
        self.flexible = link
        self.q = q
        self.u = u
        numbers = integrals(link)
        ends = np.cumsum([0, link.modes_y, link.modes_z, link.modes_x, link.modes_stretch]).tolist()
        self._y, self._z, self._x, stretch = ca.vertsplit(q, ends)
        n = max(link.modes_y, link.modes_z)
        y, z = _entries(self._y, n), _entries(self._z, n)
        columns = [vector([]), vector([1.0]), *(vector([0, a, b]) for a, b in zip(y, z, strict=True))]
        columns += [vector([a]) for a in _entries(stretch, 0)]
        for i, j in numbers.pairs:
            columns.append(vector([-(y[i] * y[j] + z[i] * z[j]) * (0.5 if i == j else 1.0)]))
        #: r_a of every field, one column each, and their rates
        self.fields = ca.horzcat(*columns)
        self.field_rates = ca.jtimes(self.fields, q, u) if q.numel() else ca.SX(*self.fields.shape)
        self.mass = ca.sparsify(ca.DM(numbers.mass))
        #: rotary inertia of the sections, in angular velocity and modal rates
        self.rotary = ca.SX(ca.sparsify(ca.DM(numbers.rotary)))
        self.elastic_force = ca.sparsify(ca.DM(numbers.stiffness)) @ q + ca.sparsify(ca.DM(numbers.damping)) @ u
        self.strain_energy = 0.5 * ca.dot(q, ca.sparsify(ca.DM(numbers.stiffness)) @ q)

    def section(self, x: float) -> Section:
        """The cross-section at x, which is from 0 to the length."""
        at = at_section(self.flexible, x)
        along_y = at.slope[: self._y.numel()]
        along_z = at.slope[: self._z.numel()]
        turn = at.turn[: self._y.numel(), : self._z.numel()]
        a, b = _sum(along_y, self._y), _sum(along_z, self._z)
        c = _sum(at.twist, self._x)
        if turn.size:
            c = c - ca.dot(self._y, ca.DM(turn) @ self._z)
        rate_a, rate_b, rate_c = (self._rate(angle) for angle in (a, b, c))
        Rz = _rotation((0, 0, 1), a)
        Ry = _rotation((0, -1, 0), b)
        Rx = _rotation((1, 0, 0), c)
        w_BS = Rx.T @ (Ry.T @ vector([0, 0, rate_a]) + vector([0, -rate_b])) + vector([rate_c])
        phi = ca.DM(at.phi)
        return Section(self.fields @ phi, Rz @ Ry @ Rx, self.field_rates @ phi, w_BS)

    def _rate(self, angle: ca.SX) -> ca.SX:
        return ca.jtimes(angle, self.q, self.u) if angle.nnz() else angle


def _entries(amplitudes: ca.SX, n: int) -> list[ca.SX]:
    """The amplitudes one by one, then structural zeros up to n."""
    return [*ca.vertsplit(amplitudes), *(ca.SX(1, 1) for _ in range(n - amplitudes.numel()))]


def _sum(weights: np.ndarray, amplitudes: ca.SX) -> ca.SX:
    return ca.dot(ca.DM(weights), amplitudes) if amplitudes.numel() else ca.SX(1, 1)


def _rotation(axis: tuple[float, float, float], angle: ca.SX) -> ca.SX:
    return rotation(axis, angle) if angle.nnz() else ca.SX.eye(3)
