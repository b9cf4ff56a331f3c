"""A generated function that is called through fixed buffers: nothing is allocated per call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
#: what lies in memory as float64 numbers
Buffer = Array | bytes | memoryview


def slot(array: Array) -> Any:
    """The array as flat memory that takes another array of its size in a third of the time NumPy needs.

    Only contiguous float64 arrays go in; anything else is refused, as is another length.
    """
    return array.data.cast("B").cast("d")


class Kernel:
    """Calls a CasADi function, compiled or not, with its arguments copied into preallocated arrays.

    The arrays that come back are the kernel's own, overwritten by its next call: copy what is to be kept.
    `call` is the same as calling the kernel, without the detour through the class. `run` is the quickest way where
    there are many small arrays, as in a tick; `fill` is its first half, to be followed by `evaluate`.
    """

    __slots__ = ("_evaluate", "call", "fill", "function", "inputs", "outputs", "run")

    def __init__(self, function: ca.Function) -> None:
        buffer, evaluate = function.buffer()
        evaluate.buffer = buffer  # `evaluate` holds only its address: let it live as long as whoever calls it
        self.function = function
        given, self.inputs = _bound(buffer.set_arg, [function.size_in(i) for i in range(function.n_in())])
        found, self.outputs = _bound(buffer.set_res, [function.size_out(i) for i in range(function.n_out())])
        self._evaluate: Callable[[], None] = evaluate
        self.call = _call(self.inputs, evaluate, self.outputs)
        self.fill, self.run = _fill_and_run(given, evaluate, found)

    def __call__(self, *arguments: ArrayLike) -> tuple[Array, ...]:
        """Evaluate; vectors and matrices come back as arrays, in the order of the function's outputs."""
        return self.call(*arguments)

    def evaluate(self) -> tuple[Array, ...]:
        """Evaluate on what stands in `inputs`."""
        self._evaluate()
        return self.outputs


def _bound(bind: Callable[..., None], shapes: list[tuple[int, int]]) -> tuple[Array, tuple[Array, ...]]:
    """One block for all arguments or all results, and each of them: CasADi stores columns; a single one is a vector."""
    block = np.zeros(sum(rows * columns for rows, columns in shapes))
    parts, at = [], 0
    for i, (rows, columns) in enumerate(shapes):
        flat, at = block[at : at + rows * columns], at + rows * columns
        bind(i, flat.data)
        parts.append(flat if columns == 1 else flat.reshape((rows, columns), order="F"))
    return block, tuple(parts)


def _fill_and_run(
    given: Array, evaluate: Callable[[], None], found: Array
) -> tuple[Callable[[Iterable[Buffer]], None], Callable[[Iterable[Buffer]], Array]]:
    """Fill all arguments at once; and fill, evaluate, return all results in one array that is the caller's own.

    What goes in are contiguous float64 arrays, or the bytes of such, in the order of the arguments. Joining them is
    several times quicker than copying one by one; another length in all is refused.
    """
    place, copy = given.data.cast("B"), found.copy
    join: Callable[[Iterable[Any]], bytes] = b"".join

    def fill(arguments: Iterable[Buffer]) -> None:
        place[:] = join(arguments)

    def run(arguments: Iterable[Buffer]) -> Array:
        place[:] = join(arguments)
        evaluate()
        return copy()

    return fill, run


def _call(
    inputs: tuple[Array, ...], evaluate: Callable[[], None], outputs: tuple[Array, ...]
) -> Callable[..., tuple[Array, ...]]:
    """Fill, evaluate, return. Written out for one to four arguments: a loop takes twice the time."""
    if len(inputs) == 1:
        (a,) = inputs

        def call(x: ArrayLike) -> tuple[Array, ...]:
            a[...] = x
            evaluate()
            return outputs

    elif len(inputs) == 2:
        a, b = inputs

        def call(x: ArrayLike, y: ArrayLike) -> tuple[Array, ...]:  # type: ignore[misc]
            a[...], b[...] = x, y
            evaluate()
            return outputs

    elif len(inputs) == 3:
        a, b, c = inputs

        def call(x: ArrayLike, y: ArrayLike, z: ArrayLike) -> tuple[Array, ...]:  # type: ignore[misc]
            a[...], b[...], c[...] = x, y, z
            evaluate()
            return outputs

    elif len(inputs) == 4:
        a, b, c, d = inputs

        def call(x: ArrayLike, y: ArrayLike, z: ArrayLike, w: ArrayLike) -> tuple[Array, ...]:  # type: ignore[misc]
            a[...], b[...], c[...], d[...] = x, y, z, w
            evaluate()
            return outputs

    else:

        def call(*arguments: ArrayLike) -> tuple[Array, ...]:  # type: ignore[misc]
            for slot, value in zip(inputs, arguments, strict=True):
                slot[...] = value
            evaluate()
            return outputs

    return call
