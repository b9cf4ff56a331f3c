"""A parallelogram of two cranks and a coupler, in the plane or in space, where it has three constraints too many."""

from __future__ import annotations

import numpy as np

from granite.config.contacts import Contact, Side
from granite.config.modules import Module
from granite.kernels.kernel import Array
from granite.mrds.system import System

CRANK, COUPLER = 0.4, 0.7  #: lengths [m]
CRANK_MASS, COUPLER_MASS = 1.2, 2.5  #: [kg]
GRAVITY = 9.81


def four_bar(dimension: str) -> System:
    planar = dimension == "planar"

    def vector(x: float, y: float) -> list[float]:
        return [x, y] if planar else [x, y, 0.0]

    def rod(name: str, mass: float, length: float) -> dict[str, object]:
        about_z = mass * length**2 / 12
        inertia = about_z if planar else [1e-3 * about_z, about_z, about_z, 0.0, 0.0, 0.0]
        return {"name": name, "mass_kg": mass, "com_m": vector(length / 2, 0.0), "inertia_kg_m2": inertia}

    common = {"dimension": dimension, "gravity_m_s2": vector(0.0, -GRAVITY)}
    cranks = [
        Module.model_validate(
            {
                **{**common, "name": name, "base": "fixed", "placement_m": vector(x, 0.0)},
                "bodies": [rod("ground", 1.0, 1.0), rod("rod", CRANK_MASS, CRANK)],
                "joints": [{"name": "pivot", "parent": "ground", "child": "rod"}],
                "points": [{"name": "tip", "body": "rod", "position_m": vector(CRANK, 0.0)}],
            }
        )
        for name, x in (("left", 0.0), ("right", COUPLER))
    ]
    ends = [{"name": name, "body": "bar", "position_m": vector(x, 0.0)} for name, x in (("a", 0.0), ("b", COUPLER))]
    bar = {"name": "coupler", "base": "floating", "bodies": [rod("bar", COUPLER_MASS, COUPLER)], "points": ends}
    contacts = [
        Contact(
            name=f"pin_{module}", kind="revolute", first=Side(module=module, point="tip"),
            second=Side(module="coupler", point=point),
        )
        for module, point in (("left", "a"), ("right", "b"))
    ]  # fmt: skip
    return System([*cranks, Module.model_validate({**common, **bar})], contacts)


def at_angle(dimension: str, angle: float) -> Array:
    """q with the cranks at this angle from the horizontal."""
    x, y = CRANK * np.cos(angle), CRANK * np.sin(angle)
    return np.array([angle, angle, x, y, *([0.0] if dimension == "planar" else [0.0, 1.0, 0.0, 0.0, 0.0])])


def squared_frequency() -> float:
    """Of the hanging cranks: all of the coupler goes round a circle of the crank's length, so
    (2 m l^2 / 3 + M l^2) θ'' = -(2 m g l / 2 + M g l) θ [1/s^2]."""
    return GRAVITY / CRANK * (CRANK_MASS + COUPLER_MASS) / (2 * CRANK_MASS / 3 + COUPLER_MASS)
