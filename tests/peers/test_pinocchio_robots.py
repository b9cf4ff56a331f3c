"""Pinocchio reads the URDF files of the package example-robot-data: what we read of them moves as its models do.

The files are not a part of Granite: `pip install --no-deps example-robot-data` brings them (400 MB), or the variable
EXAMPLE_ROBOT_DATA names a folder that has them.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from granite.config.coordinates import velocities
from granite.config.errors import InputError
from granite.config.modules import Module
from granite.config.urdf import read_urdf
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree
from tests.peers.random_trees import Array, random_state
from tests.peers.urdf_twin import UrdfTwin

TOLERANCE = 1e-9
STATES = 10
#: Massless gimbals and point masses (human, icub) have poses where M is singular; near them rounding is all there is.
WELL_CONDITIONED = 1e5
#: mimic joints, inertias that no body has, and a file without a link
REFUSED = r"<mimic> is not supported|no body has the principal moments|<robot>: no link"


def robot_files() -> list[Path]:
    """The URDF files of the package, or of the folder that EXAMPLE_ROBOT_DATA names."""
    if folder := os.environ.get("EXAMPLE_ROBOT_DATA"):
        return sorted(Path(folder).rglob("*.urdf"))
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package example-robot-data is not installed")
    return sorted(Path(str(file.locate())) for file in files if file.suffix == ".urdf")


def module_of(file: Path, base: str, mimic: str = "refuse") -> Module:
    robot = read_urdf(file, "spatial", base, mimic)  # type: ignore[arg-type]
    return Module.model_validate(
        {
            "name": "robot",
            "dimension": "spatial",
            "base": base,
            "gravity_m_s2": (1.1, -2.3, -9.81),
            "bodies": robot["bodies"],
            "joints": robot["joints"],
        }
    )


def disagreement(file: Path, module: Module) -> float:
    """Largest difference of M, h and accelerations in random states, each relative to its largest entry."""
    tree, twin, rng = Tree(module), UrdfTwin(file, module), np.random.default_rng(1)
    dynamics, force = Dynamics(tree), ca.SX.sym("force", tree.u.numel())
    outputs = [dynamics.mass_matrix, dynamics.bias, dynamics.forward(force)]
    model = ca.Function("model", [tree.q, tree.u, force], outputs)
    errors: list[float] = []
    while len(errors) < 3 * STATES:
        q, u, _, f = random_state(module, rng)
        M = twin.mass_matrix(q)
        if condition(M) < WELL_CONDITIONED:
            theirs = (M, twin.bias(q, u)[:, None], twin.forward_dynamics(q, u, f)[:, None])
            errors += map(relative, (x.full() for x in model(q, u, f)), theirs)
    return float(np.max(errors))


def condition(M: Array) -> float:
    """The condition number of a mass matrix, whatever the units of its coordinates."""
    scale = 1 / np.sqrt(np.diag(M))
    return float(np.linalg.cond(scale[:, None] * M * scale))


def relative(ours: Array, theirs: Array) -> float:
    """Difference relative to the largest entry; a bias may be zero."""
    return float(np.abs(ours - theirs).max() / (np.abs(theirs).max() or 1.0))


@pytest.mark.slow
def test_the_robots_of_example_robot_data_move_as_in_pinocchio(capsys: pytest.CaptureFixture[str]) -> None:
    worst: dict[str, float] = {}
    refused: dict[str, str] = {}
    files = robot_files()
    for file in files:
        name = "/".join(file.parts[-3:])
        try:
            modules = [module_of(file, base) for base in ("fixed", "floating")]
        except InputError as error:
            refused[name] = str(error).removeprefix(f"{file}: ")
            if "<mimic>" in refused[name]:
                assert velocities(module_of(file, "floating", "lock"))
        else:
            worst[name] = max(disagreement(file, module) for module in modules if velocities(module))
    with capsys.disabled():
        print(f"\n{len(worst)} of {len(files)} robots load, to {max(worst.values()):.1e} as in Pinocchio; refused:")
        print("\n".join(f"  {name}: {sentence}" for name, sentence in refused.items()))
    assert {name: error for name, error in worst.items() if not error < TOLERANCE} == {}
    assert len(worst) >= 30
    assert len(worst) >= 0.8 * len(files)
    assert [sentence for sentence in refused.values() if not re.search(REFUSED, sentence)] == []
