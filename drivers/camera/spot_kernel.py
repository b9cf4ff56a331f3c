"""The compiled form of the search in windows, `spots.c`, on arrays; without a compiler its Python form is used."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite.config.errors import CompilationError
from granite.config.records import Array
from granite.drivers.camera import thresholds
from granite.kernels.c_compiler import find_compiler
from granite.kernels.library import compile_source

_SOURCE = Path(__file__).with_name("spots.c")
_INT, _DOUBLE, _POINTER = ctypes.c_int, ctypes.c_double, ctypes.c_void_p


class SpotKernel:
    """The functions of the library."""

    def __init__(self, constants: Mapping[str, float]) -> None:
        lines = [f"#define {name} {value!r}" for name, value in constants.items()]
        library = compile_source("spots", "\n".join([*lines, _SOURCE.read_text()]))
        self._measure = library.measure
        self._survey = library.survey
        self._measure.restype = self._survey.restype = None
        self._measure.argtypes = [
            _POINTER, _INT, _INT, _INT, _POINTER, _POINTER, _INT, _POINTER, _POINTER, _DOUBLE, _POINTER
        ]  # fmt: skip
        self._survey.argtypes = [
            _POINTER, _INT, _POINTER, _INT, _INT, _INT, _POINTER, _INT, _DOUBLE, _POINTER
        ]  # fmt: skip

    def measure(
        self,
        windows: NDArray[Any],
        guess: Array,
        radius: Array,
        half: int,
        background: Array,
        noise: Array,
        gain: float,
    ) -> Array:
        """As `measure` in centroid.py."""
        n, rows, columns = windows.shape
        blobs = np.empty((n, 5))
        windows = np.ascontiguousarray(windows)
        inputs = [np.ascontiguousarray(values, dtype=np.float64) for values in (guess, radius, background, noise)]
        at = [values.ctypes.data for values in inputs]
        self._measure(
            windows.ctypes.data, n, rows, columns, at[0], at[1], half, at[2], at[3], gain, blobs.ctypes.data
        )  # fmt: skip
        return blobs

    def survey(
        self,
        frame: NDArray[np.uint8],
        corners: NDArray[np.int64],
        size: tuple[int, int],
        radius: Array,
        half: int,
        gain: float,
    ) -> Array:
        """As `survey` in spots.py; the windows have these first columns and rows, and so many rows and columns."""
        n = len(corners)
        surveyed = np.empty((n, 8))
        corners = np.ascontiguousarray(corners, dtype=np.int64)
        radius = np.ascontiguousarray(radius, dtype=np.float64)
        self._survey(
            frame.ctypes.data, frame.strides[0], corners.ctypes.data, n, *size, radius.ctypes.data, half, gain,
            surveyed.ctypes.data,
        )  # fmt: skip
        return surveyed


def spot_kernel() -> SpotKernel | None:
    """The library, compiled on first use; None without a compiler."""
    return _kernel(find_compiler())


@cache
def _kernel(compiler: str | None) -> SpotKernel | None:
    if compiler is None:
        return None
    constants = {name: value for name, value in vars(thresholds).items() if name.isupper()}
    try:
        return SpotKernel(constants)
    except CompilationError:  # no disk has room for it
        return None
