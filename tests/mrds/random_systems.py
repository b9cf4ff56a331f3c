"""Random systems by seed: modules of every kind, joined in any topology by any kind of contact, and to the ground."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from config.contacts import Contact, Side
from config.coordinates import positions, velocities
from config.modules import Module
from mrds.contacts import KINDS
from mrds.system import System
from tests.peers.random_trees import random_module, random_state

Array = NDArray[np.float64]

PARAMETERS = {"screw": {"pitch_m_rad": 0.07}, "rolling": {"radius_m": 0.2}}
SPATIAL = sorted(KINDS)
PLANAR = sorted(set(KINDS) - {"universal", "rolling", "plane"})


def random_system(seed: int, dimension: str) -> System:
    """Two to six modules, a chain or a tree of contacts through them, and sometimes a loop or a hold on the ground."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    modules = []
    for k in range(n):
        base = "fixed" if rng.random() < 0.3 else "floating"
        module = random_module(int(rng.integers(1 << 30)), dimension, base, int(rng.integers(1, 5)))
        turned = tuple(
            p.model_copy(
                update={
                    "rotation_rad": (0.0, 0.0, float(rng.normal()))
                    if dimension == "planar"
                    else tuple(rng.normal(size=3).tolist())
                }
            )
            for p in module.points
        )
        placed = {
            "placement_m": (float(rng.normal()), float(rng.normal())),
            "placement_rad": (0.0, 0.0, float(rng.normal())),
        }
        modules.append(
            module.model_copy(update={"name": f"m{k}", "points": turned, **(placed if base == "fixed" else {})})
        )
    pairs = [(int(rng.integers(0, k)), k) for k in range(1, n)]
    if rng.random() < 0.5:
        pairs.append((int(rng.integers(0, n)), int(rng.integers(0, n))))
    contacts = [_contact(rng, f"c{i}", modules[a], modules[b], dimension) for i, (a, b) in enumerate(pairs)]
    if rng.random() < 0.4:
        contacts.append(_contact(rng, "hold", None, modules[int(rng.integers(0, n))], dimension))
    return System(modules, contacts)


def random_states(system: System, seed: int) -> tuple[Array, Array, Array]:
    """q, u and force of all modules."""
    rng = np.random.default_rng(seed)
    states = [random_state(module, rng) for module in system.modules.values()]
    return tuple(np.concatenate([s[i] for s in states]) for i in (0, 1, 3))  # type: ignore[return-value]


def _contact(rng: np.random.Generator, name: str, first: Module | None, second: Module, dimension: str) -> Contact:
    kind = str(rng.choice(PLANAR if dimension == "planar" else SPATIAL))
    if first is None:
        side = Side(position_m=(0.3, -0.2), rotation_rad=(0.0, 0.0, 0.4))
    else:
        side = Side(module=first.name, point=str(rng.choice([p.name for p in first.points])))
    points = [p.name for p in second.points]
    other = next((p for p in points if first is not second or p != side.point), points[0])
    return Contact(
        name=name,
        kind=kind,
        first=side,
        second=Side(module=second.name, point=other),
        parameters=PARAMETERS.get(kind, {}),
    )


def split(system: System, stacked: Array, of: str) -> dict[str, Array]:
    """A stacked vector by module."""
    at, parts = 0, {}
    for name, module in system.modules.items():
        n = len(positions(module) if of == "q" else velocities(module))
        parts[name] = stacked[at : at + n]
        at += n
    return parts
