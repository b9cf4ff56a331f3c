"""Planar modules given by their equations, joined by contacts as in Bonaventura 2002, chapter 5, and moved in time.

It is there for equations that `mrds` does not have: the truncated modules of the thesis and chains of rigid segments.
Beside the compiler it shares nothing with `mrds`. Mass matrices need not be symmetric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.kernels.compilation import compile_functions
from tests.support.flexible_arms import Array
from tests.validation.bonaventura_tables import Drive

#: symbol of the time in torques
TIME = ca.SX.sym("t")


class Spot(NamedTuple):
    """A point of a module, in the plane: place, velocity map (x, y, angle), and its acceleration when q'' is zero."""

    position: ca.SX
    J: ca.SX
    drift: ca.SX


@dataclass(frozen=True)
class Equations:
    """H(q) q'' + rest(q, q') = push torques."""

    q: ca.SX
    u: ca.SX
    H: ca.SX
    rest: ca.SX
    push: ca.SX
    angles: ca.SX  #: of its links, from the world's x axis
    points: dict[str, Spot]
    symmetric: bool = False

    def spot(self, position: ca.SX, J: ca.SX) -> Spot:
        return Spot(position, J, ca.jtimes(J @ self.u, self.q, self.u))

    def force(self, q: Array, u: Array, a: Array) -> Array:
        """H q'' + rest, in numbers."""
        function = ca.Function("force", [self.q, self.u], [self.H, self.rest])
        H, rest = (np.array(ca.densify(x)) for x in function(q, u))
        return H @ a + rest.ravel()


@dataclass(frozen=True)
class Hold:
    """A contact of P against E, both (module, point), or E a place in the world: it holds these directions of it."""

    E: tuple[int, str] | tuple[float, float]
    P: tuple[int, str]
    rows: tuple[int, ...] = (0, 1)
    torque: ca.SX = field(default_factory=lambda: ca.SX(0))  #: by E on P


def sines(drive: Drive) -> list[ca.SX]:
    """The torques as expressions."""
    return [A * ca.sin(2 * np.pi * TIME / T) for A, T in zip(drive.amplitudes, drive.periods, strict=True)]


class Path(NamedTuple):
    """A run: one row for each step."""

    t: Array
    q: Array
    u: Array
    angles: Array  #: of all links [rad]
    gap: Array  #: of all holds [m]
    tip: Array  #: of the last module [m]


class Machine:
    """Modules and contacts. `torques` of all modules, one after the other, and gains K_v, K_p of eq. 104."""

    def __init__(
        self,
        modules: Sequence[Equations],
        torques: Sequence[ca.SX | float],
        holds: Sequence[Hold] = (),
        gains: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._modules, self._holds = modules, holds
        self.q, self.u = ca.vertcat(*(m.q for m in modules)), ca.vertcat(*(m.u for m in modules))
        self.n = self.q.numel()
        self._start = np.cumsum([0, *(m.q.numel() for m in modules)])
        pushes = ca.diagcat(*(m.push for m in modules)) @ ca.vertcat(*torques)
        gap, A, drift, turning = (
            ca.vertcat(ca.SX(0, n), *x) for n, x in zip((1, self.n, 1, 1), self._held(), strict=True)
        )
        known = pushes + turning - ca.vertcat(*(m.rest for m in modules))
        # q''_open and Psi (eq. 74, 75), then B^c F^c = y^c (eq. 87 to 89) and back.
        open_, Psi = self._solved(known), self._solved(A.T)
        #: B^c of eq. 88
        self.B = A @ Psi
        force = ca.solve(self.B, -(A @ open_ + drift)) if holds else ca.SX(0, 1)
        # Eq. 104 with its sign corrected, in the constrained directions.
        force -= gains[0] * (A @ self.u) + gains[1] * gap
        self.acceleration, self.gap = open_ + Psi @ force, gap
        self.slip, self.force = A @ self.u, force

    def run(self, q: Array, duration: float, h: float = 1e-3, u: Array | None = None) -> Path:
        """From rest, unless u is given, by classical Runge and Kutta with the torques at the times of its stages."""
        kernels = compile_functions("machine", [self._step(), self._outputs()])
        step, outputs, length = kernels["step"].run, kernels["outputs"].run, np.array(h)
        x = np.concatenate([q, np.zeros(self.n) if u is None else u])
        steps = round(duration / h)
        states, shown = np.empty((steps + 1, 2 * self.n)), []
        for k in range(steps + 1):
            states[k] = x
            shown.append(outputs((x,)))
            if not np.abs(x).max() < 1e6:
                steps = k
                break
            x = step((np.array(k * h), x, length))
        rows, links = np.array(shown), sum(m.angles.numel() for m in self._modules)
        states = states[: steps + 1]
        angles, gap, tip = np.split(rows, [links, rows.shape[1] - 2], axis=1)
        return Path(h * np.arange(steps + 1), states[:, : self.n], states[:, self.n :], angles, gap, tip)

    def function(self, *outputs: ca.SX) -> ca.Function:
        """Of t, q, u."""
        return ca.Function("of_state", [TIME, self.q, self.u], [ca.densify(x) for x in outputs])

    def _outputs(self) -> ca.Function:
        angles = ca.vertcat(*(m.angles for m in self._modules))
        tip = self._modules[-1].points["tip"].position
        return ca.Function("outputs", [ca.vertcat(self.q, self.u)], [angles, self.gap, tip])

    def _step(self) -> ca.Function:
        x = ca.vertcat(self.q, self.u)
        rate = ca.Function("rate", [TIME, x], [ca.vertcat(self.u, self.acceleration)], {"cse": True})
        t, x, h = ca.MX.sym("t"), ca.MX.sym("x", 2 * self.n), ca.MX.sym("h")
        k1 = rate(t, x)
        k2 = rate(t + h / 2, x + h / 2 * k1)
        k3 = rate(t + h / 2, x + h / 2 * k2)
        k4 = rate(t + h, x + h * k3)
        return ca.Function("step", [t, x, h], [x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])

    def _solved(self, right: ca.SX) -> ca.SX:
        """H^-1 of every module on its rows."""
        parts = []
        for m, rows in zip(self._modules, ca.vertsplit(right, self._start.tolist()), strict=True):
            if m.symmetric:
                D, L, order = ca.ldl(m.H, False)
                parts.append(ca.ldl_solve(rows, D, L, order))
            else:
                parts.append(ca.solve(m.H, rows))
        return ca.vertcat(*parts)

    def _held(self) -> tuple[list[ca.SX], ...]:
        """Gap, its Jacobian and drift, hold by hold, and the generalised force of the torques in the holds."""
        gaps, rows, drifts, turning = [], [], [], ca.SX(self.n, 1)
        for hold in self._holds:
            P = self._spot(hold.P)
            E = (
                Spot(ca.SX(hold.E), ca.SX(3, self.n), ca.SX(3, 1))
                if isinstance(hold.E[1], float)
                else self._spot(hold.E)
            )
            held = list(hold.rows)
            gaps.append((P.position - E.position)[held])
            rows.append((P.J - E.J)[held, :])
            drifts.append((P.drift - E.drift)[held])
            turning += (P.J - E.J)[2, :].T * hold.torque
        return gaps, rows, drifts, [turning]

    def _spot(self, where: tuple) -> Spot:
        k, name = where
        spot, J = self._modules[k].points[name], ca.SX(3, self.n)
        J[:, self._start[k] : self._start[k + 1]] = spot.J
        return Spot(spot.position, J, spot.drift)
