"""A generated function that is called through fixed buffers: nothing is allocated per call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def slot(array: Array) -> Any:
    """The array as flat memory that takes another array of its size in a third of the time NumPy needs.

    Only contiguous float64 arrays go in; anything else is refused, as is another length.
    """
    return array.data.cast("B").cast("d")


class Kernel:
    """Calls a CasADi function, compiled or not, with its arguments copied into preallocated arrays.

    The arrays that come back are the kernel's own, overwritten by its next call: copy what is to be kept.
    `call` is the same as calling the kernel, without the detour through the class.
    """

    __slots__ = ("_evaluate", "call", "function", "inputs", "outputs")

    def __init__(self, function: ca.Function) -> None:
        buffer, evaluate = function.buffer()
        evaluate.buffer = buffer  # `evaluate` holds only its address: let it live as long as whoever calls it
        self.function = function
        self.inputs = tuple(_bound(buffer.set_arg, i, function.size_in(i)) for i in range(function.n_in()))
        self.outputs = tuple(_bound(buffer.set_res, i, function.size_out(i)) for i in range(function.n_out()))
        self._evaluate: Callable[[], None] = evaluate
        self.call = _call(self.inputs, evaluate, self.outputs)

    def __call__(self, *arguments: ArrayLike) -> tuple[Array, ...]:
        """Evaluate; vectors and matrices come back as arrays, in the order of the function's outputs."""
        return self.call(*arguments)

    def evaluate(self) -> tuple[Array, ...]:
        """Evaluate on what stands in `inputs`."""
        self._evaluate()
        return self.outputs


def _bound(bind: Callable[..., None], i: int, shape: tuple[int, int]) -> Array:
    """An array bound to argument or result i. CasADi stores columns; a single column is a vector to us."""
    flat = np.zeros(shape[0] * shape[1])
    bind(i, flat.data)
    return flat if shape[1] == 1 else flat.reshape(shape, order="F")


def _call(
    inputs: tuple[Array, ...], evaluate: Callable[[], None], outputs: tuple[Array, ...]
) -> Callable[..., tuple[Array, ...]]:
    """Fill, evaluate, return. Written out for one to three arguments: a loop takes twice the time."""
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

    else:

        def call(*arguments: ArrayLike) -> tuple[Array, ...]:  # type: ignore[misc]
            for slot, value in zip(inputs, arguments, strict=True):
                slot[...] = value
            evaluate()
            return outputs

    return call
