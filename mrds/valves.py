"""A bank of valves: commands in, mean openings out."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np

from granite.config.devices.thrusters import Valve
from granite.config.records import Array
from granite.kernels.compilation import compile_once, mode
from granite.kernels.kernel import Kernel
from granite.mrds.tolerances import SAME_TIME_S
from granite.mrds.valve_response import closed, command_function, mean_function, timing

#: its compiled form
SOURCE = Path(__file__).with_suffix(".c")

#: numbers of the memory: time of the last mean, of the next closing, and until when all openings are steady [s]
_T, _NEXT_CLOSE, _STEADY_UNTIL, _IS_COMMANDED, _OPENINGS = range(5)


class ValveBank:
    """`n` valves of one kind, all closed at first. Time never decreases from call to call.

    At most `changes` may be pending at a time: see `remembered_changes`.
    """

    def __init__(self, valve: Valve, n: int, changes: int) -> None:
        #: of this bank alone: a kernel has one memory for its arguments
        self.kernels = [Kernel(kernel.function, kernel.library) for kernel in _kernels(changes, n)]
        command, move = self.kernels
        self._command = command.run
        self._move = move.run
        self._timing = timing(valve)
        self._timing_of_stop = self._timing * np.array([1.0, 1.0, 0.0])
        self._delay = valve.delay_s
        state = closed(changes, n)
        #: numbers in the states of its valves
        self.size = len(state)
        self._n = n
        # As `valves.c` has it: the numbers from `_T` to `_IS_COMMANDED`, then commanded, accepted and steady openings,
        # then the states of the valves.
        self.memory = np.concatenate([[-inf, inf, inf, 0.0], np.zeros(3 * n), state])

    @property
    def memory(self) -> Array:
        """The block of its numbers; another one takes its place with the same numbers (`joined_memory`)."""
        return self._memory

    @memory.setter
    def memory(self, block: Array) -> None:
        self._memory = block
        ends = [_OPENINGS, _OPENINGS + self._n, _OPENINGS + 2 * self._n, _OPENINGS + 3 * self._n]
        _, self._commanded, self._accepted, self._steady, self._state = np.split(block, ends)

    @property
    def timing(self) -> Array:
        """Delay, rise and minimum pulse [s]."""
        return self._timing

    def command(self, t: float, opening: Array) -> Array:
        """Command the openings (n), each from 0 to 1, at time t [s]; returns the openings that the valves accept."""
        memory = self._memory
        is_same = memory.item(_IS_COMMANDED) and opening.tobytes() == self._commanded.tobytes()
        if not is_same or t >= memory.item(_NEXT_CLOSE) - SAME_TIME_S:
            self._set(t, opening, self._timing)
        return self._accepted.copy()

    def close(self, t: float) -> None:
        """Close all valves without their minimum pulse; dead time and fall stay."""
        self._set(t, np.zeros(self._n), self._timing_of_stop)

    def mean_opening(self, t0: float, t1: float) -> Array:
        """Mean opening of each valve from t0 to t1 (n); the next command may come at t1, not earlier."""
        memory = self._memory
        before = memory.item(_T)
        memory[_T] = t1
        if t1 <= memory.item(_STEADY_UNTIL):
            return self._steady.copy()
        if -inf < before < t0:
            self._move_on(before, t0)
        return self._move_on(t0, t1)

    def mean_openings(self, first: int, last: int, step_s: float) -> Array:
        """Mean openings in each step from first * step_s to last * step_s, a row each; one row if no valve moves."""
        if last == first + 1 or last * step_s <= self.memory[_STEADY_UNTIL]:
            return self.mean_opening(first * step_s, last * step_s)
        return np.array([self.mean_opening(k * step_s, (k + 1) * step_s) for k in range(first, last)])

    def _set(self, t: float, opening: Array, times: Array) -> None:
        memory, size = self.memory, self.size
        memory[_IS_COMMANDED], self._commanded[:] = 1.0, opening
        results = self._command((self._state, times, np.array([t]), opening))
        self._state[:], self._accepted[:] = results[:size], results[size:-1]
        memory[_NEXT_CLOSE] = results[-1]
        memory[_STEADY_UNTIL] = min(memory.item(_STEADY_UNTIL), t + self._delay)

    def _move_on(self, t0: float, t1: float) -> Array:
        results, size, n = self._move((self._state, self._timing, np.array([t0, t1]))), self.size, self._n
        self._state[:], self._steady[:] = results[:size], results[size + n : -1]
        self.memory[_STEADY_UNTIL] = results[-1]
        return results[size : size + n]


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
