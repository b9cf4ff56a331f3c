"""Thruster faults found from unexplained wrenches: a bank of hypotheses, one of them per thruster and kind of fault.

If thruster k is dead, its wrench b_k f_k is missing while its valve is commanded open; if it is stuck open, it acts
while the valve is commanded closed. With the mean opening o_k of a tick, the unexplained wrench w would be

    dead:   -b_k f_k o_k          stuck open:   b_k f_k (1 - o_k)          no fault:   0

Both sides pass the same filters, because the Kalman filter shows a force with a lag; forces count in those of the
weakest thruster, moments likewise. With the squared errors e_0 without a fault and e_h of a hypothesis, the cumulative
sum of Page (Continuous inspection schemes, Biometrika 41, 1954)

    g <- max(0, g + (e_0 - e_h - bias) dt)

grows from the moment on from which the hypothesis explains more than none. A fault is found when its sum is large,
nearly as large as that of e_0 over the same time, and well above the sums of all other hypotheses: a thruster that is
stuck open and an opposite one that is dead look alike while the second is commanded open, and nothing is decided.

A disturbance of another kind, such as a slope, a push or a wrong mass, fits none of them: thrusters fail as a whole.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import Positive, Table
from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

#: codes of the faults of a thruster
NO_FAULT, DEAD, STUCK_OPEN = 0.0, 1.0, 2.0

Part = Annotated[float, Field(gt=0.0, lt=1.0)]


class ThrusterFaultTable(Table):
    """How sure the estimator must be of a fault."""

    #: false: thrusters are taken as healthy
    find: bool = True
    #: time constant over which wrenches are compared
    window_s: Annotated[float, Field(ge=0.1, le=10.0)] = 0.4
    #: least cumulative sum, in squared wrenches of the weakest thruster [s]
    evidence_s: Positive = 0.3
    #: bias of the sums: half of it is the least squared wrench that can count
    bias: Part = 0.03
    #: least part of the unexplained squares that the fault explains
    explained: Part = 0.7
    #: largest sum of another hypothesis, as a part of its own
    second: Part = 0.6


class ThrusterFaults:
    """The hypotheses about one device of thrusters on a planar root.

    Parameters
    ----------
    lag_s
        Time constant of the filters through which a force shows.
    """

    def __init__(self, table: ThrusterFaultTable, device: Thrusters, period_s: float, lag_s: float) -> None:
        self._table, self._period, self._lag = table, period_s, lag_s
        thrust = available_thrust(device)
        columns = thruster_matrix(device, "planar") * thrust
        force = np.hypot(columns[0], columns[1])
        moment = abs(columns[2])
        scale = [min((x for x in size if x > 1e-9), default=math.inf) for size in (force, force, moment)]
        #: wrench of each open thruster, in those of the weakest
        self._scale = np.array(scale)
        self._columns = columns / self._scale[:, None]
        self._usable = thrust > 0.0
        self.n = len(thrust)

    @property
    def memory(self) -> Array:
        """Faults (n); the wrench, filtered (3); openings behind three filters (3n); of each hypothesis g, e_0 (4n)."""
        return np.zeros(self.n + 3 + 3 * self.n + 4 * self.n)

    def expression(self, memory: ca.SX, wrench: ca.SX, opening: ca.SX, observes: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The memory with the mean unexplained wrench and openings of a tick, and whether a fault was found now."""
        n, table = self.n, self._table
        ends = np.cumsum([0, n, 3, n, n, n, 2 * n, 2 * n]).tolist()
        faults, shown, first, second, third, sums, squares = ca.vertsplit(memory, ends)
        kept, fast = math.exp(-self._period / table.window_s), math.exp(-self._period / self._lag)
        shown = kept * shown + (1 - kept) * wrench / ca.DM(self._scale)
        first = fast * first + (1 - fast) * opening
        second = fast * second + (1 - fast) * first
        third = kept * third + (1 - kept) * second

        none = ca.sumsqr(shown)
        errors = [ca.sumsqr(shown + self._columns[:, k] * third[k]) for k in range(n)]
        errors += [ca.sumsqr(shown - self._columns[:, k] * (1 - third[k])) for k in range(n)]
        sums = ca.fmax(sums + self._period * (none - ca.vertcat(*errors) - table.bias), 0.0)
        possible = ca.logic_and(ca.repmat(faults == NO_FAULT, 2, 1), ca.DM(np.tile(self._usable, 2).astype(float)))
        sums = ca.if_else(ca.logic_and(possible, observes), sums, 0.0)
        squares = ca.if_else(sums > 0.0, squares + self._period * none, 0.0)

        best, runner_up, which = ca.SX(0), ca.SX(0), ca.SX(-1)
        for i in range(2 * n):
            better = sums[i] > best
            runner_up = ca.if_else(better, best, ca.fmax(runner_up, sums[i]))
            which, best = ca.if_else(better, i, which), ca.if_else(better, sums[i], best)
        decided = ca.logic_and(best >= table.evidence_s, runner_up <= table.second * best)
        after, is_new = [], ca.SX(0)
        for k in range(n):
            new = ca.SX(faults[k])
            for i, code in ((k, DEAD), (n + k, STUCK_OPEN)):
                explains = ca.logic_and(which == i, sums[i] >= table.explained * squares[i])
                now = ca.logic_and(decided, explains)
                new, is_new = ca.if_else(now, code, new), ca.logic_or(is_new, now)
            after.append(new)
        rest = ca.if_else(is_new, 0.0, ca.vertcat(sums, squares))
        return ca.vertcat(*after, ca.if_else(is_new, 0.0, shown), first, second, third, rest), is_new


def force_lag_s(bed: Testbed, device: Thrusters, density: float) -> float:
    """Time constant of the Kalman filter of the base: half of the lag with which it shows a force [s].

    With process noise q and measurement noise r as densities, the filter has the poles of s^2 + sqrt(2) w s + w^2 with
    w = (q / r)^(1/4) (steady state of the double integrator).
    """
    from granite.config.devices.vision import Vision

    for vision in bed.devices_of(Vision).values():
        target = vision.target(bed)
        if target.is_root and target.module.name == device.pushed(bed).name:
            noise = vision.position_noise_m**2 / vision.rate_hz + 1e-18
            return float(vision.latency_s / 2 + (noise / density**2) ** 0.25 / math.sqrt(2))
    return 0.1
