"""Massless bodies and point masses: a module may have them where every motion still moves a mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from granite.config.modules import Module
from tests.support.dense_model import Model

SOLID = {"mass_kg": 2.0, "inertia_kg_m2": [0.3, 0.3, 0.3, 0.0, 0.0, 0.0]}
MASSLESS = {"mass_kg": 0.0, "inertia_kg_m2": [0.0] * 6}
POINT = {"mass_kg": 2.0, "inertia_kg_m2": [0.0] * 6}


def chain(*bodies: dict[str, Any], axes: list[list[float]], base: str = "fixed", apart: float = 0.0) -> Module:
    """Bodies one after the other on revolute joints about these axes, so far apart along x."""
    joints = [
        {"name": f"j{i}", "parent": f"b{i}", "child": f"b{i + 1}", "axis": axis, "origin_m": [apart, 0.0, 0.0]}
        for i, axis in enumerate(axes)
    ]
    named = [{"name": f"b{i}", **body} for i, body in enumerate(bodies)]
    return Module.model_validate({"name": "m", "dimension": "spatial", "base": base, "bodies": named, "joints": joints})


X, Y, Z = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]


def refused(*bodies: dict[str, Any], **more: Any) -> str:
    with pytest.raises(ValidationError) as raised:
        chain(*bodies, **more)
    return str(raised.value.errors()[0]["ctx"]["error"])


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_a_gimbal_may_be_massless(base: str) -> None:
    module = chain(SOLID, MASSLESS, MASSLESS, SOLID, axes=[Z, X, Y], base=base)
    q = np.array([0, 0, 0, 1, 0, 0, 0, 0.1, 0.2, 0.3][-10 if base == "floating" else -3 :])
    assert np.linalg.eigvalsh(Model(module).mass_matrix(q)).min() > 0.01


def test_a_gimbal_with_two_parallel_axes_is_refused() -> None:
    said = refused(SOLID, MASSLESS, SOLID, axes=[Z, Z])
    assert said.startswith("joints: j0, j1 can move without moving a mass")
    chain(SOLID, MASSLESS, SOLID, axes=[Z, Z], apart=0.1)


def test_a_massless_end_is_refused_by_its_joint_alone() -> None:
    assert refused(SOLID, SOLID, MASSLESS, axes=[Z, Y]).startswith("joints: j1 can move")


def test_seven_joints_with_no_mass_between_are_too_many_for_one_body() -> None:
    axes = [X, Y, Z, Y, X, Z, Y]
    assert "can move without moving a mass" in refused(SOLID, *[MASSLESS] * 6, SOLID, axes=axes, apart=0.1)
    chain(SOLID, *[MASSLESS] * 5, SOLID, axes=axes[:6], apart=0.1)


def test_a_point_mass_resists_where_it_is_off_the_axis() -> None:
    chain(SOLID, POINT | {"com_m": [0.1, 0.0, 0.0]}, axes=[Z])
    assert refused(SOLID, POINT | {"com_m": [0.1, 0.0, 0.0]}, axes=[X]).startswith("joints: j0 can move")


def test_a_floating_point_mass_is_refused() -> None:
    said = refused(POINT, axes=[], base="floating")
    assert said.startswith("bodies.b0.inertia_kg_m2 = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]: expected moments greater than 0")


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_a_root_has_mass_and_inertia(base: str) -> None:
    said = refused(MASSLESS, SOLID, axes=[Z], base=base)
    assert said == "bodies.b0.mass_kg = 0.0: expected a mass greater than 0 for the root"
    assert "expected moments greater than 0 for the root" in refused(POINT, SOLID, axes=[Z], base=base)


def test_a_planar_point_mass_swings_on_its_arm() -> None:
    def pendulum(com: float) -> Module:
        bodies = [
            {"name": "stand", "mass_kg": 1.0, "inertia_kg_m2": 1.0},
            {"name": "bob", "mass_kg": 2.0, "inertia_kg_m2": 0.0, "com_m": [com, 0.0]},
        ]
        joints = [{"name": "pivot", "parent": "stand", "child": "bob"}]
        table = {"name": "m", "dimension": "planar", "base": "fixed", "bodies": bodies, "joints": joints}
        return Module.model_validate(table)

    np.testing.assert_allclose(Model(pendulum(0.5)).mass_matrix([0.3]), [[0.5]])
    with pytest.raises(ValidationError, match="joints: pivot can move without moving a mass"):
        pendulum(0.0)


def test_a_massless_body_may_carry_a_flexible_link() -> None:
    link = {"flexible": {"length_m": 1.0, "line_density_kg_m": 0.5, "eiy_n_m2": 1.0, "eiz_n_m2": 1.0, "modes_y": 1}}
    link["flexible"]["polar_inertia_kg_m"] = 1e-3
    chain(SOLID, MASSLESS, link, axes=[Z, Y])
