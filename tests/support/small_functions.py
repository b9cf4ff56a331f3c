"""Small functions to compile, and an empty cache to keep them in."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from granite.kernels.c_compiler import find_compiler
from granite.kernels.compilation import compile_functions, compile_once
from granite.kernels.kernel import Kernel

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler here")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache that only this test uses."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("GRANITE_CACHE", str(directory))
    return directory


def swing(name: str = "swing") -> ca.Function:
    """A small function with all that kernels meet: sine, cosine, division, square root, several arguments."""
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 3)
    s, c = ca.sin(x), ca.cos(x)
    return ca.Function(name, [x, y], [s * y / (2 + c), ca.sqrt(1 + ca.dot(y, y)), ca.mtimes(s, y.T)])


def swung(kernel: Kernel) -> bool:
    """Whether the kernel computes what `swing` says."""
    x, y = np.array([0.1, 0.2, 0.3]), np.array([1.0, -2.0, 0.5])
    first, root, outer = kernel.split(kernel.run((x, y)))
    expected = np.sin(x) * y / (2 + np.cos(x)), np.sqrt(1 + y @ y), np.outer(np.sin(x), y)
    return all(np.allclose(a, b, atol=1e-15) for a, b in zip((first, root[0], outer), expected, strict=True))


def make(name: str = "swing") -> Kernel:
    return compile_functions(name, [swing()])["swing"]


def once(key: str, factor: float, written: list[str]) -> float:
    """A number that the function of a key gives, whatever is asked for now."""

    def write() -> list[ca.Function]:
        written.append(key)
        x = ca.SX.sym("x")
        return [ca.Function("scaled", [x], [factor * x])]

    return float(compile_once("scaling", key, write)["scaled"].run((np.ones(1),))[0])
