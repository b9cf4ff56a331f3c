"""Sharing with the least propellant: min sum f subject to B f = w, 0 <= f <= available.

Propellant is proportional to the sum of the thrusts, all nozzles having one specific impulse, so this is a linear
programme. All its optima are known before the run (`tiling.py`): a call is a look-up in a table, and has no iterations.
Costs that differ by 5e-5 at most make the optimum unique, and so a continuous function of the wrench: the propellant
exceeds the optimum by that part at most.

A wrench that is not feasible gives the nearest feasible one, min |W (B f - w)|^2 (`nearest.py`), with its least
propellant. Directions in which no thruster pushes are left out, which is nearest as well.

`least_propellant.c` does the same operations in the same order and is called where there is a compiler.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from granite.config.parts import PartTable
from granite.config.records import Array
from granite.controllers.thrusters.contract import ThrusterSet
from granite.controllers.thrusters.nearest import nearest
from granite.controllers.thrusters.tiling import Tiling, tile
from granite.kernels.c_compiler import find_compiler
from granite.kernels.compiled_form import HEADER
from granite.kernels.library import compile_source

#: its compiled form
SOURCE = Path(__file__).with_suffix(".c")
#: singular values below this part of the largest are of directions without thrust
_RANK = 1e-9
#: part of the largest thrust by which rounding may exceed a bound
_TOLERANCE = 1e-8


class SharingStatus(IntEnum):
    """How a wrench was shared."""

    OPTIMAL = 0
    NEAREST = 1  #: out of reach: the nearest wrench is shared
    FAILED = 2  #: the search for the nearest wrench did not end, or a number is not finite


class SharedWrench(NamedTuple):
    """The answer with its problem and status."""

    wrench: Array
    thrust: Array  #: of each thruster [N]; NaN where it failed
    status: SharingStatus


class LeastPropellant:
    """The linear programme's optimum where the wrench is feasible, else the nearest wrench. No memory."""

    is_on_off: ClassVar[bool] = False

    def __init__(self, options: PartTable, thrusters: ThrusterSet) -> None:
        # Failed thrusters are left out.
        self._usable = np.flatnonzero(thrusters.available)
        self._n, self._available = len(thrusters.available), thrusters.available[self._usable]
        weighted = thrusters.weight[:, None] * thrusters.matrix[:, self._usable]
        directions, size, _ = np.linalg.svd(weighted, full_matrices=False)
        rank = int((size > _RANK * size.max(initial=0.0)).sum())
        # Where all directions are in reach, those of the wrench itself are kept: what is zero stays zero.
        kept = np.eye(len(weighted)) if rank == len(weighted) else directions[:, :rank].T
        self._projection = kept * thrusters.weight
        self._columns = kept @ weighted
        self._tiling = tile(self._columns, self._available) if rank else None
        self._tolerance = _TOLERANCE * float(self._available.max(initial=0.0))
        self._lists = self._columns.T.tolist(), self._available.tolist()
        self._compiled = _CompiledSharing(self) if find_compiler() and self._tiling else None

    @property
    def table(self) -> Array:
        """Everything that the compiled form reads, in its order."""
        t = self._tiling
        if t is None:
            return np.array([self._n, 0.0, self._projection.shape[1], 0.0, 0.0, 0.0])
        sizes = self._n, len(self._usable), *self._projection.shape[::-1], len(t.normals), self._tolerance
        parts = (
            sizes, self._usable, self._projection, self._columns.T, self._available,
            t.normals, t.offsets, t.basis, t.inverse, t.shift, t.outside,
        )  # fmt: skip
        return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])

    def share(self, wrench: Array) -> Array:
        """The thrust of each thruster [N] for this wrench on the root body; NaN where the solve fails."""
        return self.solve(wrench).thrust

    def solve(self, wrench: Array) -> SharedWrench:
        """The same with its status."""
        if self._compiled:
            return SharedWrench(wrench, *self._compiled.share(wrench))
        return self.solve_in_python(wrench)

    def solve_in_python(self, wrench: Array) -> SharedWrench:
        """The same without the compiled form, to the bit."""
        thrust = np.zeros(self._n)
        if self._tiling is None:
            return SharedWrench(wrench, thrust, SharingStatus.OPTIMAL)
        target = [_product(row, wrench) for row in self._projection]
        if not _product(target, target) < np.inf:
            return SharedWrench(wrench, np.full(self._n, np.nan), SharingStatus.FAILED)
        optimum, is_in_reach = self._look_up(self._tiling, target)
        if not is_in_reach:
            if not nearest(*self._lists, target, optimum):
                return SharedWrench(wrench, np.full(self._n, np.nan), SharingStatus.FAILED)
            at = [_product(row, optimum) for row in self._columns]
            cheapest, is_in_reach_now = self._look_up(self._tiling, at)
            optimum = cheapest if is_in_reach_now else optimum
        thrust[self._usable] = optimum
        return SharedWrench(wrench, thrust, SharingStatus.OPTIMAL if is_in_reach else SharingStatus.NEAREST)

    def _look_up(self, tiling: Tiling, target: list[float]) -> tuple[list[float], bool]:
        """The optimum for a wrench, within the bounds; and whether it was there without them."""
        value = -tiling.offsets
        for normal, part in zip(tiling.normals.T, target, strict=True):
            value = value + normal * part
        k = int(value.argmax())
        thrust, is_in_reach = tiling.outside[k].tolist(), True
        for row, shift, j in zip(tiling.inverse[k], tiling.shift[k].tolist(), tiling.basis[k].tolist(), strict=True):
            wanted = shift + _product(row, target)
            most = self._lists[1][j]
            is_in_reach = is_in_reach and -self._tolerance <= wanted <= most + self._tolerance
            thrust[j] = min(max(wanted, 0.0), most)
        return thrust, is_in_reach


def _product(a: Array | list[float], b: Array | list[float]) -> float:
    """a . b, summed in order."""
    total = 0.0
    for one, other in zip(*(x if isinstance(x, list) else x.tolist() for x in (a, b)), strict=True):
        total += one * other
    return total


class _CompiledSharing:
    """The compiled form, called with fixed buffers."""

    def __init__(self, sharing: LeastPropellant) -> None:
        function: Any = compile_source("least_propellant", HEADER.read_text() + SOURCE.read_text()).least_propellant
        function.argtypes, function.restype = [ctypes.c_void_p] * 3, ctypes.c_int
        table = sharing.table
        self._wrench, self._thrust = np.zeros(sharing._projection.shape[1]), np.zeros(sharing._n)
        self._function, self._table = function, table  # kept as long as the pointer to it
        self._pointers = [ctypes.c_void_p(a.ctypes.data) for a in (table, self._wrench, self._thrust)]

    def share(self, wrench: Array) -> tuple[Array, SharingStatus]:
        """Thrust and status."""
        self._wrench[:] = wrench
        status = self._function(*self._pointers)
        return self._thrust.copy(), _STATUS[status]


_STATUS = tuple(SharingStatus)
