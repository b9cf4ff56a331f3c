"""Rolling: a sphere about the origin of P rolls on the x-y plane of E and does not slip.

The contact point of the sphere is at rest: v + w x (-radius z) = 0, three constraints, of which only the height
constrains the pose; the other two constrain velocities alone (Bonaventura 2002, section 6.5). Rotation about the normal
is free.
"""

import casadi as ca
import numpy as np

from granite.mrds.contacts.kind import VX, VY, VZ, WX, WY, WZ, Kind, Modes, Parameter, Parameters, RelativePose


def _modes(relative: RelativePose, parameters: Parameters) -> Modes:
    radius = parameters["radius_m"]
    free = np.array([radius * VY * -1 + WX, radius * VX + WY, WZ]).T
    return Modes(ca.sparsify(ca.SX(free)), ca.sparsify(ca.SX(np.array([VX, VY, VZ]).T)))


def _gap(relative: RelativePose, parameters: Parameters) -> ca.SX:
    return relative.r[2] - parameters["radius_m"]


ROLLING = Kind(
    "rolling",
    _modes,
    _gap,
    free=("rx", "ry", "rz"),
    held=("x", "y", "z"),
    parameters={"radius_m": Parameter("the radius of the sphere [m]", least=0.0)},
    holonomic=(2,),
)
