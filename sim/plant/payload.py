"""A payload on a body: mass, mass centre and moment of inertia of both together (parallel axes)."""

from __future__ import annotations

import numpy as np

from granite.config.base import spatial
from granite.config.errors import InputError
from granite.config.events import PayloadEvent
from granite.config.modules import Body
from granite.config.testbed import Testbed


def with_payload(bed: Testbed, event: PayloadEvent, module: str) -> Testbed:
    """The testbed with the payload on its body.

    Raises
    ------
    InputError
        Where the body is flexible, or where contacts or an audit would need the change of energy at that time.
    """
    if bed.contacts or bed.simulation.audit:
        expected = "no contacts and no audit"
        raise InputError("a payload changes the energy", key="simulation.events", value="payload", expected=expected)
    modules = tuple(
        m.model_copy(update={"bodies": tuple(_loaded(b, event) if b.name == event.body else b for b in m.bodies)})
        if m.name == module
        else m
        for m in bed.modules
    )
    return bed.model_copy(update={"modules": modules})


def _loaded(body: Body, event: PayloadEvent) -> Body:
    if body.flexible is not None:
        raise InputError("the body is flexible", key="simulation.events", value=body.name, expected="a rigid one")
    m, p = body.mass_kg, event.mass_kg
    com, position = np.array(spatial(body.com_m)), np.array(spatial(event.position_m))
    centre = (m * com + p * position) / (m + p)
    d = position - com
    shift = m * p / (m + p)
    inertia: object
    if isinstance(body.inertia_kg_m2, float):
        inertia = body.inertia_kg_m2 + event.inertia_kg_m2 + shift * float(d @ d)
    else:
        x, y, z = d
        xx, yy, zz, xy, xz, yz = body.inertia_kg_m2
        inertia = (
            xx + shift * (y * y + z * z), yy + shift * (x * x + z * z),
            zz + event.inertia_kg_m2 + shift * (x * x + y * y),
            xy - shift * x * y, xz - shift * x * z, yz - shift * y * z,
        )  # fmt: skip
    planar = len(body.com_m) == 2
    return body.model_copy(
        update={"mass_kg": m + p, "com_m": tuple(centre[: 2 if planar else 3].tolist()), "inertia_kg_m2": inertia}
    )
