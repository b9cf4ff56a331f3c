"""Many runs of one testbed side by side, each with its own seed, stepped together in compiled code.

The library, its parameters and the working space of its kernels are one; each run has a memory of its own, which is
exchanged where a tick needs Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from granite.config.errors import InputError, PlantLostError
from granite.config.reasons import Reason
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.rt.compiled_run import CompiledRun, is_compilable, parts_in_python
from granite.rt.run import Run


def refuse_switching(bed: Testbed) -> None:
    """Raise where grips or timed events change the memory of a run in Python."""
    parts = [name for name, has in (("grips", bed.grips), ("timed events", bed.simulation.events)) if has]
    if parts or bed.controller is None:
        raise _refusal(bed, parts)


def _refusal(bed: Testbed, parts: Sequence[str]) -> InputError:
    without = f" without {', '.join(parts)}" if parts else ", under control"
    expected = f"a testbed whose runs are compiled{without}"
    return InputError("it can't be run many times at once", key="bed", value=bed.name, expected=expected)


class ParallelRuns(CompiledRun):
    """Runs whose law takes its demanded accelerations from outside.

    Parameters
    ----------
    bed
        The testbed; every part of it has a compiled form, and nothing grips or happens at a given time.
    n
        How many runs.
    ticks
        Of one step: the demand stays as it is for so many.

    Attributes
    ----------
    last_rows
        The last row of each run.
    """

    def __init__(self, bed: Testbed, n: int, ticks: int) -> None:
        refuse_switching(bed)
        run = Run(bed, in_loop=False)
        if (parts := parts_in_python(run)) or not is_compilable(run):
            raise _refusal(bed, parts)
        super().__init__(run)
        self.n, self.ticks = n, ticks
        arrays = self._parts.memory
        ends = np.cumsum([0, *(array.size for array in arrays.values())])
        parts_of = zip(arrays, ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        self._slices = {name: slice(first, last) for name, first, last in parts_of if last > first}
        self._memories = np.zeros((n, int(ends[-1])))
        first = self._memories.ctypes.data + self._memories.strides[0] * np.arange(n, dtype=np.uint64)
        self._members = np.ascontiguousarray(first[:, None] + 8 * ends[:-1].astype(np.uint64))
        self._stretch = np.zeros((n, ticks, run.channels.width))
        self.last_rows = np.zeros((n, run.channels.width))
        self._random: list[tuple[Array, Array]] = [(np.zeros(0), np.zeros(0))] * n
        self._pointers = np.zeros((3, n), dtype=np.uint64)
        self._pointers[2] = self._stretch.ctypes.data + self._stretch.strides[0] * np.arange(n, dtype=np.uint64)
        self._demands = np.zeros((n, len(bed.known.velocities)))
        self._ready = run.channels.columns("/state", "ready")

    def restart_run(self, i: int, seed: int) -> None:
        """Begin run i anew, and run it until its state is estimated."""
        draws, exposures = self._restart(seed)
        self._random[i] = draws, exposures
        self._pointers[:2, i] = draws.ctypes.data, exposures.ctypes.data
        self._put(i)
        self._demands[i] = 0.0
        for _ in range(self.run.ticks):
            if self._advance([i], 1)[0] is not None:
                break
            if self.last_rows[i, self._ready] == 1.0:
                return
        raise InputError(
            "its state is never estimated", key="bed", value=self._bed.name, expected="sensors that report"
        )

    def step(self, demands: Array, runs: Sequence[int]) -> list[Reason | None]:
        """Advance some runs by one step under these demands; of each why it ended, None where it goes on."""
        self._demands[list(runs)] = demands
        return self._advance(runs, self.ticks)

    def time(self, i: int) -> float:
        """Of the last tick of run i [s]."""
        return (self._memories.item(i, self._slices["run_tick"].start) - 1) * self._bed.loop.period_s

    def _advance(self, runs: Sequence[int], ticks: int) -> list[Reason | None]:
        tick = self._slices["run_tick"].start
        begins = self._memories[:, tick].astype(np.int64)
        ends = begins.copy()
        ends[list(runs)] = np.minimum(begins[list(runs)] + ticks, self.run.ticks)
        resumes = np.zeros(self.n, dtype=np.int32)
        reasons: dict[int, Reason | None] = dict.fromkeys(runs)
        pointer = ctypes.c_void_p
        go, addresses = self._parts.function("run_several", *(pointer,) * 9, ctypes.c_long)
        blocks = self._members, *self._pointers, self._which, begins, ends, resumes, self._demands
        data = [block.ctypes.data for block in blocks]
        while go(*addresses, *data, self.n):
            for i in np.flatnonzero(resumes).tolist():
                reason = self._one_in_python(i, int(resumes[i]), int(begins[i]))
                if reason is not None:
                    reasons[i], ends[i], resumes[i] = reason, 0, 0
        for i in runs:
            done = int(self._memories[i, tick]) - int(begins[i])
            if done > 0:
                self.last_rows[i] = self._stretch[i, done - 1]
        return [reasons[i] for i in runs]

    def _one_in_python(self, i: int, point: int, begin: int) -> Reason | None:
        """What a tick of run i leaves to Python; why it ends, if it does."""
        self._take(i)
        row = self._stretch[i, int(self._parts.memory["run_tick"][0]) - begin]
        try:
            return None if self._in_python(point, row) else Reason(self.verdict.reason)
        except PlantLostError:
            return Reason.PLANT_LOST
        finally:
            self._put(i)

    def _take(self, i: int) -> None:
        """The memory of run i, as Python sees it."""
        for name, part in self._slices.items():
            self._parts.memory[name][:] = self._memories[i, part].reshape(self._parts.memory[name].shape)

    def _put(self, i: int) -> None:
        for name, part in self._slices.items():
            self._memories[i, part] = self._parts.memory[name].ravel()
