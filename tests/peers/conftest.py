"""The trees on which the referees judge."""

from __future__ import annotations

import pytest

from tests.peers.random_trees import random_module

KINDS = [(d, b) for d in ("planar", "spatial") for b in ("fixed", "floating")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for a `tree` gets forty: 1 to 8 joints, each dimension, each base."""
    if "tree" in metafunc.fixturenames:
        trees = [random_module(100 * i + k, *kind, 1 + k % 8) for i, kind in enumerate(KINDS) for k in range(10)]
        names = [f"{t.dimension}-{t.base}-{len(t.joints)}-joints-{t.name}" for t in trees]
        metafunc.parametrize("tree", trees, ids=names)
