"""Bonaventura 2002, Tables 18 to 20: the modular level needs nothing of other modules (acceptance test 31).

The thesis proposes one processor for each module and ran none. Here modules are computed in two threads: the results
are those of one thread to the bit, and with the contact forces of a plain dense solve they are our accelerations. The
product itself does not hand out work: compiled, all modules together take some 5 us, handing one job to a thread 35.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from granite.kernels.compilation import compile_functions
from granite.kernels.kernel import Array, Kernel
from granite.mrds.contacts.operational import base_pose, leaf_functions
from tests.support.random_systems import split
from tests.validation.bonaventura_systems import Series
from tests.validation.claims import Claims

Levels = list[dict[str, Array]]


@pytest.fixture(scope="module")
def robot() -> Series:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANITE_NO_COMPILER", "1")
        series = Series((1.0, 1.0, 1.0, 1.0), (2, 2, 2, 2))
        series.closed.prepare()
    return series


def kernels(robot: Series) -> dict[str, tuple[Kernel, Kernel]]:
    """Elimination and back-substitution of each module, compiled by itself."""
    made, contacts = {}, robot.system.contacts.values()
    for name, module in robot.system.modules.items():
        used = {side.point for c in contacts for side in (c.first, c.second) if side.module == name}
        leaf = leaf_functions(module, tuple(p for p in module.points if p.name in used), True)
        compiled = compile_functions(name, leaf)
        made[name] = compiled[leaf.eliminate.name()], compiled[leaf.back_substitute.name()]
    return made


def modular_level(
    robot: Series, made: dict[str, tuple[Kernel, Kernel]], motion: tuple[Array, Array, Array], workers: int
) -> Levels:
    """Step 2 for every module."""
    q, u, force = (split(robot.system, x, of) for x, of in zip(motion, "quu", strict=True))

    def level(name: str) -> dict[str, Array]:
        base = np.array(base_pose(robot.system.modules[name])).ravel()
        eliminate = made[name][0]
        outputs = eliminate.split(eliminate.run((q[name], u[name], force[name], base)))
        return dict(zip(eliminate.function.name_out(), outputs, strict=True))

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(level, robot.system.modules))


def joined(levels: Levels, made: dict[str, tuple[Kernel, Kernel]]) -> Array:
    """Steps 3 and 4 for modules in a row, each held by revolute contacts: base points come first, then tips."""
    C = [np.zeros((2 * (len(levels) - 1), len(x["twists"]))) for x in levels]
    for i in range(len(levels) - 1):
        rows = slice(2 * i, 2 * i + 2)
        C[i][rows, -3:-1], C[i + 1][rows, :2] = -np.eye(2), np.eye(2)
    B = sum(c @ x["inverse_inertia"] @ c.T for c, x in zip(C, levels, strict=True))
    F = np.linalg.solve(B, -sum(c @ x["free_acceleration"] for c, x in zip(C, levels, strict=True)))
    parts = zip(C, levels, made.values(), strict=True)
    return np.concatenate([back.run((x["factors"], c.T @ F)) for c, x, (_, back) in parts])


def test_mrds31_modules_in_two_threads_are_modules_in_one(
    robot: Series, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    rng = np.random.default_rng(31)
    start = robot.straight()
    bent = start + np.where(start == 0, 0.02, 0.0) * rng.normal(size=len(start))
    q, u = robot.closed.project(bent, 0.5 * rng.normal(size=robot.system.n_u))
    force = rng.normal(size=robot.system.n_u)
    made = kernels(robot)
    one, two = (modular_level(robot, made, (q, u, force), workers) for workers in (1, 2))
    different = sum(int((a[what] != b[what]).sum()) for a, b in zip(one, two, strict=True) for what in a)
    claims.equal("MRDS 31", "numbers of the modular level that differ in two threads", 0, different, 0)
    expected = robot.closed.accelerate(q, u, force).acceleration
    off = np.abs(joined(two, made) - expected).max() / np.abs(expected).max()
    claims.below("MRDS 31", "our accelerations off those of separate modules, relative", 1e-13, off)
