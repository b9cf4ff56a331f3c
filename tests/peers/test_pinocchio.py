"""Pinocchio as referee: every quantity of the model on random trees in random states."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.modules import Module
from tests.peers.comparison import disagreement
from tests.peers.interpreted import interpreted
from tests.peers.pinocchio_twin import PinocchioTwin
from tests.peers.random_trees import random_module, random_state
from tests.support.dense_model import Model
from tests.support.quick_cases import quick

TOLERANCE = 1e-9


def test_every_quantity_agrees(tree: Module) -> None:
    model, twin, rng = interpreted(tree), PinocchioTwin(tree), np.random.default_rng(1)
    for _ in range(10):
        for quantity, difference in disagreement(model, twin, random_state(tree, rng)).items():
            assert difference < TOLERANCE, quantity


@pytest.mark.parametrize("dimension", quick(["planar", "spatial"], "planar"))
def test_the_compiled_model_agrees(dimension: str) -> None:
    tree = random_module(400, dimension, "floating", 3)
    model, twin, rng = Model(tree), PinocchioTwin(tree), np.random.default_rng(2)
    for _ in range(50):
        assert max(disagreement(model, twin, random_state(tree, rng)).values()) < TOLERANCE
