"""Kernels: bytes in, numbers out, nothing allocated by CasADi, and lengths that do not fit refused."""

from __future__ import annotations

import tracemalloc

import casadi as ca
import numpy as np
import pytest

from granite.kernels.compilation import compile_functions
from granite.kernels.kernel import Kernel


def outer() -> ca.Function:
    """(x, y) -> x + 2 y, |x|^2, x y^T."""
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 2)
    return ca.Function("outer", [x, y], [x + 2 * y[0], ca.dot(x, x), ca.densify(x @ y.T)])


X, Y = np.array([0.1, 0.2, 0.3]), np.array([1.0, -2.0])


def test_results_split_into_vectors_and_matrices() -> None:
    kernel = Kernel(outer())
    total, square, product = kernel.split(kernel.run((X, Y)))
    assert total == pytest.approx(X + 2)
    assert square == pytest.approx([X @ X])
    assert product == pytest.approx(np.outer(X, Y))


def test_a_run_returns_memory_of_its_own() -> None:
    kernel = Kernel(outer())
    first = kernel.run((X, Y))
    kept = first.copy()
    kernel.run((2 * X, Y))
    assert first.tolist() == kept.tolist()


def test_bytes_views_and_arrays_are_the_same() -> None:
    kernel = Kernel(outer())
    expected = kernel.run((X, Y)).tobytes()
    assert kernel.run((X.tobytes(), Y.data)).tobytes() == expected
    assert kernel.run((np.concatenate([X, Y]),)).tobytes() == expected


def test_in_place_results_and_arguments_stay_in_the_memory_of_the_kernel() -> None:
    kernel = Kernel(outer())
    total, _, product = kernel.outputs
    kernel.run_in_place((X, Y))
    assert np.concatenate(kernel.inputs).tolist() == [*X, *Y]
    assert total == pytest.approx(X + 2)
    assert product == pytest.approx(np.outer(X, Y))


@pytest.mark.parametrize("wrong", [(X,), (X, Y, Y), (X, X), (X, Y[:1])])
def test_another_length_is_refused(wrong: tuple[np.ndarray, ...]) -> None:
    with pytest.raises(ValueError):
        Kernel(outer()).run(wrong)


def test_memory_that_is_not_contiguous_is_refused() -> None:
    with pytest.raises((BufferError, ValueError, TypeError)):
        Kernel(outer()).run((np.arange(6.0)[::2], Y))


@pytest.mark.parametrize("compiler", ["0", "1"])
def test_a_call_in_place_allocates_nothing(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", compiler)
    run = compile_functions("outer", [outer()])["outer"].run_in_place
    tracemalloc.start()
    try:
        for _ in range(10):
            run((X, Y))
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(1000):
            run((X, Y))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 100


def test_a_call_outlives_its_kernel() -> None:
    run = Kernel(outer()).run
    assert run((X, Y))[:3] == pytest.approx(X + 2)


def test_kernels_of_one_name_do_not_disturb_each_other() -> None:
    x = ca.SX.sym("x", 1)
    double, triple = (compile_functions(f"f{k}", [ca.Function("f", [x], [k * x])])["f"] for k in (2, 3))
    one, two = np.ones(1), np.full(1, 2.0)
    assert (double.run((one,))[0], triple.run((one,))[0], double.run((two,))[0]) == (2.0, 3.0, 4.0)
