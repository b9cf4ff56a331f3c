"""Pulse-width modulation: one pulse per pulse period; the pulse width is the wanted part of the period.

The pulse is a whole number of ticks and never shorter than the valve can make. The on-time that is left
over, or too short for a pulse, is carried over to the next period, so that the average thrust is the wanted one.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from granite.config.base import Positive
from granite.config.errors import InputError
from granite.config.parts import PartTable
from granite.config.records import Array
from granite.config.tunable import Tunable
from granite.controllers.thrusters.contract import ThrusterSet
from granite.controllers.thrusters.geometry import shared_supply


class PulseWidth:
    """Valves open together at the start of a pulse period and close one by one."""

    throttles: ClassVar[bool] = False
    makes_pulses: ClassVar[bool] = True

    class Options(PartTable):
        """Period of the pulses."""

        pulse_period_s: Positive = 0.1  #: of the pulses

        def tunable(self, bed: Any) -> tuple[Tunable, ...]:
            """The period, from a few ticks up."""
            return (Tunable("pulse_period_s", 4 * bed.loop.period_s, 200 * bed.loop.period_s),)

    def __init__(self, options: Options, thrusters: ThrusterSet) -> None:
        available, minimum_on_s, period_s = thrusters.available, thrusters.valve.minimum_on_s, thrusters.period_s
        pulse_period_s, n = options.pulse_period_s, len(available)
        if pulse_period_s < max(minimum_on_s, period_s):
            longer = "the longer of the valve's minimum_on_s and loop.period_s"
            raise InputError(
                key="controller.allocation.modulation.pulse_period_s",
                value=pulse_period_s,
                expected=f"at least {max(minimum_on_s, period_s)}, {longer}",
            )
        self._tick, self._ticks_per_s = period_s, 1.0 / period_s
        self._minimum_ticks = math.ceil(minimum_on_s / period_s - 1e-6)
        self._pulse_ticks = max(1, self._minimum_ticks, round(pulse_period_s / period_s))
        self._period = self._pulse_ticks * period_s
        #: on-time of a pulse period per newton
        self._per_newton = np.divide(self._period, available, out=np.zeros(n), where=available > 0.0)
        # Half a tick early: the tick that is nearest to the planned moment acts on it.
        self._to_next_pulse = (self._pulse_ticks - 0.5) * period_s
        #: on-time that was wanted and not delivered yet [s]
        self._error = np.zeros(n)
        self._open = np.zeros(n)
        self._close_at = np.zeros(n)
        self._next_pulse = -np.inf
        self._last, self._drop = 0.0, thrusters.shared_drop

    def modulate(self, t: float, wanted_thrust: Array) -> Array:
        """The opening of each valve, 0 or 1."""
        given = shared_supply(self._drop, self._open) if self._drop else 1.0
        self._error -= self._open * given * (t - self._last)
        self._last = t
        if t >= self._next_pulse:
            # The excess is longer than a period only after a long time without a call: the rest is dropped.
            self._error = np.maximum(self._error, -self._period) + wanted_thrust * self._per_newton
            ticks = np.minimum(np.floor(self._error * self._ticks_per_s + 1e-6), self._pulse_ticks)
            ticks[ticks < self._minimum_ticks] = 0.0
            self._close_at = t + (ticks - 0.5) * self._tick
            self._next_pulse = t + self._to_next_pulse
        self._open = (t < self._close_at).astype(np.float64)
        return self._open

    @property
    def memory(self) -> Array:
        """Time of the last call and of the next pulse; then of every valve the error [s], opening and closing time."""
        return np.concatenate([[0.0, -np.inf], np.zeros(3 * len(self._open))])

    def expression(self, memory: ca.SX, t: ca.SX, wanted_thrust: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The same in symbols."""
        n = len(self._open)
        last, next_pulse, error, opening, close_at = ca.vertsplit(memory, [0, 1, 2, 2 + n, 2 + 2 * n, 2 + 3 * n])
        given = (1.0 - self._drop) ** ca.fmax(0.0, ca.sum1(opening) - 1.0) if self._drop else 1.0
        error = error - opening * given * (t - last)
        begins = t >= next_pulse
        due = ca.fmax(error, -self._period) + wanted_thrust * self._per_newton
        ticks = ca.fmin(ca.floor(due * self._ticks_per_s + 1e-6), self._pulse_ticks)
        ticks = ca.if_else(ticks < self._minimum_ticks, 0.0, ticks)
        error = ca.if_else(begins, due, error)
        close_at = ca.if_else(begins, t + (ticks - 0.5) * self._tick, close_at)
        next_pulse = ca.if_else(begins, t + self._to_next_pulse, next_pulse)
        opening = t < close_at
        return ca.vertcat(t, next_pulse, error, opening, close_at), opening
