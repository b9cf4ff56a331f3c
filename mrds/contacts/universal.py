"""Universal: P turns about the z axis of E and about its own x axis, which stays in the x-y plane of E.

The second axis moves with the first, so the modes vary in time.
"""

import casadi as ca

from granite.mrds.contacts.kind import Kind, Modes, Parameters, RelativePose
from granite.mrds.symbols import vector


def _modes(relative: RelativePose, parameters: Parameters) -> Modes:
    zero, z = ca.SX(3, 1), vector([0, 0, 1])
    x = relative.R[:, 0]
    # The constrained rotation is orthogonal to both axes; all translations are constrained.
    held = ca.cross(z, x)
    free = ca.horzcat(ca.vertcat(zero, z), ca.vertcat(zero, x))
    translations = ca.vertcat(ca.SX.eye(3), ca.SX(3, 3))
    return Modes(free, ca.horzcat(translations, ca.vertcat(zero, held)))


def _gap(relative: RelativePose, parameters: Parameters) -> ca.SX:
    return ca.vertcat(relative.r, -relative.R[2, 0])


UNIVERSAL = Kind("universal", _modes, _gap, free=("rz", "rx"), held=("x", "y", "z", "ry"))
