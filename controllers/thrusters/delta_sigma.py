"""Delta-sigma modulation: a valve opens when its accumulated on-time error reaches one minimum pulse.

Each valve integrates the wanted minus the delivered on-time. It opens once this error reaches the shortest pulse that
it can make, and stays open while the error is at least one tick, which makes that pulse. The error stays between
zero and a pulse, so that the average thrust is the wanted one, in the shortest pulses that the valve allows. Where
valves share a supply (`shared_drop`), the delivered on-time counts by what the open ones leave of the thrust.

Noise makes a demand change its sign, and then two opposite thrusters would accumulate an error each and fire against
each other. With `cancel_opposite`, what both of them lack is taken from both while both are closed: the wrench over
time is the same, without its propellant.
"""

from __future__ import annotations

import math
from typing import ClassVar

import casadi as ca
import numpy as np

from granite.config.parts import PartTable
from granite.config.records import Array
from granite.controllers.thrusters.contract import ThrusterSet
from granite.controllers.thrusters.geometry import shared_supply
from granite.controllers.thrusters.pseudo_inverse import opposite_pairs


class DeltaSigma:
    """First-order delta-sigma modulation with the shortest pulse as quantum."""

    throttles: ClassVar[bool] = False
    makes_pulses: ClassVar[bool] = True

    class Options(PartTable):
        """Whether opposite thrusters cancel their errors."""

        cancel_opposite: bool = True  #: opposite thrusters cancel their accumulated errors

    def __init__(self, options: Options, thrusters: ThrusterSet) -> None:
        available, minimum_on_s, period_s = thrusters.available, thrusters.valve.minimum_on_s, thrusters.period_s
        self._tick = period_s
        self._pulse = max(1, math.ceil(minimum_on_s / period_s - 1e-6)) * period_s
        # A millionth of a tick less, so that rounding never delays by a whole tick; twice that to stay open.
        self._worth_a_tick = period_s - 2e-6 * period_s
        self._worth_a_pulse = self._pulse - 1e-6 * period_s
        self._valves = [_Accumulator(thrust) for thrust in available.tolist()]
        self._pairs: tuple[tuple[int, int], ...] = ()
        if options.cancel_opposite:
            self._pairs = opposite_pairs(thrusters.matrix, np.flatnonzero(available).tolist())
        self._last, self._drop = 0.0, thrusters.shared_drop

    def modulate(self, t: float, wanted_thrust: Array) -> Array:
        """The opening of each valve, 0 or 1."""
        elapsed, self._last, pulse = t - self._last, t, self._pulse
        given = 1.0
        if self._drop:
            given = shared_supply(self._drop, np.array([valve.opening for valve in self._valves]))
        for valve, thrust in zip(self._valves, wanted_thrust.tolist(), strict=True):
            error = valve.error + (valve.wanted - valve.opening * given) * elapsed
            # The error exceeds a pulse only after a long time without a call: the rest is dropped.
            valve.error = pulse if error > pulse else -pulse if error < -pulse else error
            valve.wanted = thrust * valve.per_newton
        for i, j in self._pairs:
            self._cancel(self._valves[i], self._valves[j])
        for valve in self._valves:
            due = valve.error + valve.wanted * self._tick
            worth_it = self._worth_a_tick if valve.opening else self._worth_a_pulse
            valve.opening = 1.0 if due >= worth_it else 0.0
        return np.array([valve.opening for valve in self._valves])

    def _cancel(self, one: _Accumulator, other: _Accumulator) -> None:
        """Take the impulse that both lack from both, while both are closed."""
        lacking = min(one.error * one.thrust, other.error * other.thrust)
        if lacking > 0.0 and not one.opening and not other.opening:
            one.error -= lacking * one.per_newton
            other.error -= lacking * other.per_newton

    @property
    def memory(self) -> Array:
        """Time of the last call; then of every valve the error [s], the wanted part of full thrust, and the opening."""
        return np.zeros(1 + 3 * len(self._valves))

    def expression(self, memory: ca.SX, t: ca.SX, wanted_thrust: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The same in symbols."""
        n, pulse = len(self._valves), self._pulse
        last, error, wanted, opening = ca.vertsplit(memory, [0, 1, 1 + n, 1 + 2 * n, 1 + 3 * n])
        given = (1.0 - self._drop) ** ca.fmax(0.0, ca.sum1(opening) - 1.0) if self._drop else 1.0
        error += (wanted - opening * given) * (t - last)
        error = ca.if_else(error > pulse, pulse, ca.if_else(error < -pulse, -pulse, error))
        per_newton = ca.DM([valve.per_newton for valve in self._valves])
        wanted = wanted_thrust * per_newton
        for i, j in self._pairs:
            lacking = ca.fmin(error[i] * self._valves[i].thrust, error[j] * self._valves[j].thrust)
            closed = ca.logic_not(ca.logic_or(opening[i], opening[j]))
            cancelled = ca.if_else(ca.logic_and(lacking > 0.0, closed), lacking, 0.0)
            error[i] -= cancelled * per_newton[i]
            error[j] -= cancelled * per_newton[j]
        due = error + wanted * self._tick
        opening = due >= ca.if_else(opening, self._worth_a_tick, self._worth_a_pulse)
        return ca.vertcat(t, error, wanted, opening), opening


class _Accumulator:
    """On-time wanted from and delivered by one valve. Plain numbers: for a few valves faster than arrays."""

    __slots__ = ("error", "opening", "per_newton", "thrust", "wanted")

    def __init__(self, thrust: float) -> None:
        self.thrust = thrust
        self.per_newton = 1.0 / thrust if thrust > 0.0 else 0.0
        #: on-time that was wanted and not delivered yet [s]
        self.error = 0.0
        #: part of full thrust that is wanted now
        self.wanted = 0.0
        self.opening = 0.0
