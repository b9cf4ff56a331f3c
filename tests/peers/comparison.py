"""How far two models of one module are apart, quantity by quantity, relative to the size of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.peers.random_trees import Array, State


def answers(model: Any, state: State, points: tuple[str, ...]) -> dict[str, Array]:
    """Everything a model says about a state, as copies."""
    q, u, acceleration, force = state
    said: dict[str, Any] = {
        "mass matrix": model.mass_matrix(q),
        "bias": model.bias(q, u),
        "gravity force": model.gravity_force(q),
        "forward dynamics": model.forward_dynamics(q, u, force),
        "inverse dynamics": model.inverse_dynamics(q, u, acceleration),
        "kinetic energy": model.kinetic_energy(q, u),
        "potential energy": model.potential_energy(q),
        "momentum": model.momentum(q, u),
    }
    position, velocity = model.centre_of_mass(q, u)
    said |= {"mass centre": position, "mass centre velocity": velocity}
    for name in points:
        motion = model.point(name, q, u)._asdict()
        said |= {f"{what} of {name}": np.array(value) for what, value in motion.items()}
    return {what: np.array(value) for what, value in said.items()}


def disagreement(ours: Any, referee: Any, state: State) -> dict[str, float]:
    """Largest difference per quantity, relative to its largest entry (to one unit where it is smaller)."""
    points = tuple(p.name for p in ours.module.points)
    mine, theirs = answers(ours, state, points), answers(referee, state, points)
    assert {what: value.shape for what, value in mine.items()} == {w: v.shape for w, v in theirs.items()}
    return {
        what: float(np.max(np.abs(mine[what] - value)) / max(1.0, np.max(np.abs(value))))
        for what, value in theirs.items()
    }
