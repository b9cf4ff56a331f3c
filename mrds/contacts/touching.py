"""A sphere about the origin of P that touches the y-z plane of E from the side of positive x, or a point that does.

The x axis of E is the normal: it points from E to P, so that a pressing force on P is positive. The contact point of
the sphere moves with v + w x (-radius x), which is zero while it sticks (rolling). Only the distance constrains the
pose: a contact sticks wherever it came to rest.
"""

import casadi as ca
import numpy as np

from granite.mrds.contacts.kind import VX, VY, VZ, WX, WY, WZ, Kind, Modes, Parameter, Parameters, RelativePose

FRICTION = "the coefficient of kinetic friction"
STATIC_FRICTION = Parameter("the coefficient of static friction", least=0.0, required=False)
RADIUS = "radius_m"


def touching(name: str, parameters: dict[str, Parameter], one_sided: bool) -> Kind:
    """A kind with this normal; a point without the parameter radius_m."""
    return Kind(
        name,
        _modes,
        _gap,
        free=("rx", "ry", "rz"),
        held=("x", "y", "z"),
        parameters=parameters,
        holonomic=(0,),
        friction_modes=(1, 2),
        one_sided=one_sided,
    )


def _modes(relative: RelativePose, parameters: Parameters) -> Modes:
    radius = parameters.get(RADIUS, 0.0)
    free = np.array([WX, WY - radius * VZ, WZ + radius * VY]).T
    return Modes(ca.sparsify(ca.SX(free)), ca.sparsify(ca.SX(np.array([VX, VY, VZ]).T)))


def _gap(relative: RelativePose, parameters: Parameters) -> ca.SX:
    return relative.r[0] - parameters.get(RADIUS, 0.0)
