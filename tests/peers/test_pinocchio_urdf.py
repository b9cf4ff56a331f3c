"""Pinocchio reads the same URDF by its own parser: every quantity of the model agrees in random states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from granite.config.modules import Module
from granite.config.urdf import read_urdf
from tests.peers.comparison import disagreement
from tests.peers.interpreted import interpreted
from tests.peers.random_trees import Array, State, random_state
from tests.peers.urdf_twin import UrdfTwin
from tests.support.dense_model import Model

TOLERANCE = 1e-9
GRAVITY = (1.1, -2.3, -9.81)
ROBOTS = sorted(Path(__file__).parent.glob("robots/*.urdf"))
PLANAR = [file for file in ROBOTS if file.stem.startswith("planar")]
BASES = ("fixed", "floating")
# A root without a mass can stand, but not float.
KINDS = [(file, base) for file in ROBOTS for base in BASES if base == "fixed" or "standing" not in file.stem]


def module_of(file: Path, dimension: str, base: str, gravity: tuple[float, ...] = GRAVITY) -> Module:
    """The robot of a file, with a point on every body beside those of the file."""
    robot = read_urdf(file, dimension, base)  # type: ignore[arg-type]
    bodies = [body["name"] for body in robot["bodies"]]
    offset = (0.13, -0.21, 0.34)[: 2 if dimension == "planar" else 3]
    points = [{"name": f"on_{name}", "body": name, "position_m": offset} for name in bodies]
    return Module.model_validate(
        {
            "name": file.stem.replace("-", "_"),
            "dimension": dimension,
            "base": base,
            "gravity_m_s2": gravity,
            "bodies": robot["bodies"],
            "joints": robot["joints"],
            "points": robot["points"] + points,
        }
    )


@pytest.mark.parametrize(("file", "base"), KINDS, ids=lambda x: x.stem if isinstance(x, Path) else x)
def test_every_quantity_agrees(file: Path, base: str) -> None:
    module = module_of(file, "spatial", base)
    model, twin, rng = interpreted(module), UrdfTwin(file, module), np.random.default_rng(1)
    assert len(twin.model.names) - 1 == len(module.joints) + (base == "floating")
    for _ in range(10):
        for quantity, difference in disagreement(model, twin, random_state(module, rng)).items():
            assert difference < TOLERANCE, quantity


@pytest.mark.parametrize("file", ROBOTS, ids=lambda file: file.stem)
def test_a_link_fixed_to_another_keeps_its_frame_as_a_point(file: Path) -> None:
    module = module_of(file, "spatial", "fixed")
    twin = UrdfTwin(file, module)
    fixed = [f.name for f in twin.model.frames if f.type == pin.FrameType.BODY]
    assert {b.name for b in module.bodies} | {p.name for p in module.points} >= set(fixed)


def free_coordinates(base: str, joints: int) -> list[int]:
    """Where x, y, heading rate and the joints are among the velocities of a spatial module."""
    return [0, 1, 5, *range(6, 6 + joints)] if base == "floating" else list(range(joints))


def in_space(state: State, base: str) -> State:
    """A planar state as the spatial module has it."""
    if base == "fixed":
        return state
    (x, y, heading), joints = state.q[:3], state.q[3:]
    q = np.concatenate([[x, y, 0, np.cos(heading / 2), 0, 0, np.sin(heading / 2)], joints])
    return State(q, *(np.concatenate([[v[0], v[1], 0, 0, 0, v[2]], v[3:]]) for v in state[1:]))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("file", PLANAR, ids=lambda file: file.stem)
def test_a_planar_module_is_the_spatial_one_kept_in_its_plane(file: Path, base: str) -> None:
    flat = module_of(file, "planar", base, (0.7, -1.9))
    full = module_of(file, "spatial", base, (0.7, -1.9, 0.0))
    planar, space, rng = interpreted(flat), interpreted(full), np.random.default_rng(3)
    free = free_coordinates(base, len(flat.joints))
    # The axes of bodies are laid flat, so the points that the test adds differ; those of the file do not.
    points = [p.name for p in flat.points if not p.name.startswith("on_")]
    assert points
    for _ in range(10):
        state = random_state(flat, rng)
        there = in_space(state, base)
        same(planar.mass_matrix(state.q), space.mass_matrix(there.q)[np.ix_(free, free)])
        same(planar.bias(state.q, state.u), space.bias(there.q, there.u)[free])
        a = planar.forward_dynamics(state.q, state.u, state.force)
        kept = np.zeros(len(there.u))
        kept[free] = a
        same(space.inverse_dynamics(there.q, there.u, kept)[free], state.force)
        for name in points:
            ours, theirs = planar.point(name, state.q, state.u), space.point(name, there.q, there.u)
            same(ours.position[:2], theirs.position[:2])
            same(ours.twist, theirs.twist)
            same(ours.jacobian, theirs.jacobian[:, free])


def same(ours: Array, theirs: Array) -> None:
    assert np.max(np.abs(ours - theirs)) < TOLERANCE * max(1.0, float(np.max(np.abs(theirs))))


@pytest.mark.slow
def test_the_compiled_model_agrees() -> None:
    file = next(f for f in ROBOTS if f.stem == "torso")
    module = module_of(file, "spatial", "floating")
    model, twin, rng = Model(module), UrdfTwin(file, module), np.random.default_rng(2)
    for _ in range(50):
        assert max(disagreement(model, twin, random_state(module, rng)).values()) < TOLERANCE
