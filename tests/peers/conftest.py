"""The trees on which the referees judge."""

from __future__ import annotations

import pytest

from tests.peers.random_trees import random_module

#: trees of 1, 4 and 7 joints
QUICK = (0, 3, 6)
KINDS = [(d, b) for d in ("planar", "spatial") for b in ("fixed", "floating")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for a `tree` gets forty: 1 to 8 joints, each dimension, each base; three of each are quick."""
    if "tree" in metafunc.fixturenames:
        trees = [
            pytest.param(
                tree := random_module(100 * i + k, *kind, 1 + k % 8),
                marks=() if k in QUICK else pytest.mark.slow,
                id=f"{tree.dimension}-{tree.base}-{len(tree.joints)}-joints-{tree.name}",
            )
            for i, kind in enumerate(KINDS)
            for k in range(10)
        ]
        metafunc.parametrize("tree", trees)
