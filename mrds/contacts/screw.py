"""Screw: P turns about the z axis of E and advances by the pitch times the angle (Bonaventura 2002, eq. 29 to 31)."""

import casadi as ca

from granite.mrds.contacts.kind import VX, VY, VZ, WX, WY, WZ, Kind, Modes, Parameter, Parameters, RelativePose


def _modes(relative: RelativePose, parameters: Parameters) -> Modes:
    free = (parameters["pitch_m_rad"] * VZ + WZ)[:, None]
    return Modes(ca.sparsify(ca.SX(free)), ca.sparsify(ca.SX(ca.DM([*map(list, (VX, VY, VZ, WX, WY))]).T)))


def _gap(relative: RelativePose, parameters: Parameters) -> ca.SX:
    r, R = relative
    # The advance belongs to the angle within one turn: a pose that is whole turns away fits as well.
    advance = r[2] - parameters["pitch_m_rad"] * ca.atan2(R[1, 0], R[0, 0])
    return ca.vertcat(r[0], r[1], advance, R[2, 1], -R[2, 0])


SCREW = Kind(
    "screw",
    _modes,
    _gap,
    free=("rz",),
    held=("x", "y", "z", "rx", "ry"),
    parameters={"pitch_m_rad": Parameter("the advance per radian [m/rad]")},
)
