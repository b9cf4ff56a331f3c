"""A rod that leans on the ground with friction and jams."""

import numpy as np

from granite.config.contacts import Contact, Side
from granite.config.modules import Body, Module, Point
from granite.mrds.system import System

G = 9.81


def rod(friction: float, kind: str = "edge") -> System:
    """Painlevé's rod: uniform, half its length 1 m, its lower end on the ground, which is upright along x of E."""
    body = Body(name="rod", mass_kg=1.0, inertia_kg_m2=1.0 / 3.0)
    end = Point(name="end", body="rod", position_m=(-1.0, 0.0))
    module = Module(
        name="rod", dimension="planar", base="floating", gravity_m_s2=(0.0, -G), bodies=(body,), points=(end,)
    )
    ground = Side(rotation_rad=(0.0, 0.0, np.pi / 2))
    return System(
        [module],
        [Contact(name="floor", kind=kind, first=ground, second=Side(module="rod", point="end"),
                 parameters={"friction": friction})],
    )  # fmt: skip


def rod_state(speed: float) -> tuple[list[float], list[float]]:
    """Leaning at tan = 2, where the least friction jams: 4/3. It moves along x of the world without turning."""
    angle = np.arctan(2.0)
    return [np.cos(angle), np.sin(angle), angle], [speed, 0.0, 0.0]
