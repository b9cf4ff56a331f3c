"""The referees see a wrong sign: each term of the model is spoiled in turn, and the comparison must notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.mrds import dynamics, frames, masses, tree
from granite.mrds.symbols import crossed, rate_of_quaternion, rotation
from tests.peers.comparison import disagreement
from tests.peers.pinocchio_twin import PinocchioTwin
from tests.peers.random_trees import random_module, random_state
from tests.support.dense_model import Model


class SpoiledCasadi:
    """CasADi with one function replaced, as seen from one file."""

    def __init__(self, name: str, replacement: Callable[..., Any]) -> None:
        self._name, self._replacement = name, replacement

    def __getattr__(self, name: str) -> Any:
        return self._replacement if name == self._name else getattr(ca, name)


def negated(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: -function(*arguments)


# what is spoiled: where it stands, its replacement, and a quantity that must show it
MUTANTS: dict[str, tuple[Any, str, Any, str]] = {
    "velocity terms": (frames, "ca", SpoiledCasadi("cross", negated(ca.cross)), "bias"),
    "moments of forces": (masses, "ca", SpoiledCasadi("cross", negated(ca.cross)), "bias"),
    "elimination": (dynamics, "solve", negated(dynamics.solve), "forward dynamics"),
    "lever arms": (frames, "crossed", negated(crossed), "mass matrix"),
    "first moments": (masses, "crossed", negated(crossed), "mass matrix"),
    "turning direction": (tree, "rotation", lambda axis, angle: rotation(axis, -angle), "position of point0"),
    "quaternion rate": (tree, "rate_of_quaternion", negated(rate_of_quaternion), "mass centre velocity"),
}


def errors(model: Model) -> dict[str, float]:
    """Largest disagreement with Pinocchio per quantity, over three states."""
    twin, rng = PinocchioTwin(model.module), np.random.default_rng(4)
    disagreements = [disagreement(model, twin, random_state(model.module, rng)) for _ in range(3)]
    return {quantity: max(f[quantity] for f in disagreements) for quantity in disagreements[0]}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    return Model(random_module(304, "spatial", "floating", 4))


def test_the_model_as_it_is_passes(model: Model) -> None:
    assert max(errors(model).values()) < 1e-9


@pytest.mark.parametrize("term", MUTANTS)
def test_a_wrong_sign_is_caught(term: str, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, replacement, shown_in = MUTANTS[term]
    monkeypatch.setattr(where, name, replacement)
    assert errors(model)[shown_in] > 1e-3
