"""A bank of valves: commands in, mean openings out."""

from __future__ import annotations

from math import inf
from pathlib import Path
from struct import Struct

import numpy as np

from granite.config.devices.thrusters import Valve
from granite.config.records import Array
from granite.kernels.compilation import compile_once, mode
from granite.kernels.kernel import Kernel
from granite.mrds.tolerances import SAME_TIME_S
from granite.mrds.valve_response import closed, command_function, mean_function, timing

#: its compiled form
SOURCE = Path(__file__).with_suffix(".c")

_TIME, _TIMES = Struct("d").pack, Struct("2d").pack


class ValveBank:
    """`n` valves of one kind, all closed at first. Time never decreases from call to call.

    At most `changes` may be pending at a time: see `remembered_changes`.
    """

    def __init__(self, valve: Valve, n: int, changes: int) -> None:
        #: of this bank alone: a kernel has one memory for its arguments
        self.kernels = [Kernel(kernel.function, kernel.library) for kernel in _kernels(changes, n)]
        self._command, self._move = (kernel.run for kernel in self.kernels)
        self._timing = timing(valve)
        self._timing_of_stop = self._timing * np.array([1.0, 1.0, 0.0])
        self._delay = valve.delay_s
        self._state, self._t = closed(changes, n), -inf
        #: numbers in the states of its valves
        self.size = len(self._state)
        self._commanded = b""
        self._accepted = self._steady = np.zeros(n)
        self._next_close, self._steady_until = inf, inf
        self._end_mean = self.size + n

    @property
    def memory(self) -> Array:
        """The start values of its compiled form's memory, as `valves.c` has them."""
        n = len(self._steady)
        return np.concatenate([[-inf, inf, inf, 0.0], np.zeros(3 * n), self._state])

    def adopt(self, memory: Array) -> None:
        """Continue from the memory of the compiled form."""
        n = len(self._steady)
        self._t, self._next_close, self._steady_until, is_commanded = memory[:4].tolist()
        commanded, self._accepted, self._steady, self._state = np.split(memory[4:].copy(), [n, 2 * n, 3 * n])
        self._commanded = commanded.tobytes() if is_commanded else b""

    @property
    def timing(self) -> Array:
        """Delay, rise and minimum pulse [s]."""
        return self._timing

    def command(self, t: float, opening: Array) -> Array:
        """Command the openings (n), each from 0 to 1, at time t [s]; returns the openings that the valves accept."""
        commanded = opening.tobytes()
        if commanded != self._commanded or t >= self._next_close - SAME_TIME_S:
            self._commanded = commanded
            self._set(t, opening, self._timing)
        return self._accepted

    def close(self, t: float) -> None:
        """Close all valves without their minimum pulse; dead time and fall stay."""
        closed_all = np.zeros(len(self._accepted))
        self._commanded = closed_all.tobytes()
        self._set(t, closed_all, self._timing_of_stop)

    def mean_opening(self, t0: float, t1: float) -> Array:
        """Mean opening of each valve from t0 to t1 (n); the next command may come at t1, not earlier."""
        before, self._t = self._t, t1
        if t1 <= self._steady_until:
            return self._steady
        if -inf < before < t0:
            self._move_on(before, t0)
        return self._move_on(t0, t1)

    def mean_openings(self, first: int, last: int, step_s: float) -> Array:
        """Mean openings in each step from first * step_s to last * step_s, a row each; one row if no valve moves."""
        if last == first + 1 or last * step_s <= self._steady_until:
            return self.mean_opening(first * step_s, last * step_s)
        return np.array([self.mean_opening(k * step_s, (k + 1) * step_s) for k in range(first, last)])

    def _set(self, t: float, opening: Array, times: Array) -> None:
        found, size = self._command((self._state, times, _TIME(t), opening)), self.size
        self._state, self._accepted, self._next_close = found[:size], found[size:-1], found.item(-1)
        self._steady_until = min(self._steady_until, t + self._delay)

    def _move_on(self, t0: float, t1: float) -> Array:
        found, size, end = self._move((self._state, self._timing, _TIMES(t0, t1))), self.size, self._end_mean
        self._state, self._steady, self._steady_until = found[:size], found[end:-1], found.item(-1)
        return found[size:end]


#: kernels of each size of bank and mode of compilation
_KERNELS: dict[tuple[int, int, str], list[Kernel]] = {}


def _kernels(changes: int, n: int) -> list[Kernel]:
    """Compiled once for all banks of one size; again where no disk had room for the library."""
    key = changes, n, mode()
    if key not in _KERNELS or (key[2] == "compiled" and _KERNELS[key][0].library is None):
        kernels = compile_once(
            "valves", f"{changes} {n}", lambda: [command_function(changes, n), mean_function(changes, n)]
        )
        _KERNELS[key] = list(kernels.values())
    return _KERNELS[key]
