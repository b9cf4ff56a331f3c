"""Elasto-plastic bristles between surfaces that stick (Dupont, Hayward, Armstrong and Altpeter 2002).

With the deflection z of the bristles in parts of that in sliding, and the sliding velocity v, in one or two directions:

    z' = (v - alpha(z, v) |v| z / level) / presliding,    friction = F (z + damping z')

alpha is 0 up to a part of break-away, so that a load that changes does not let the surfaces drift (LuGre does), and
where a motion relieves the bristles; level is 1, or more at rest (static friction, Stribeck).
"""

from __future__ import annotations

import casadi as ca

#: deflection, of that in sliding, up to which bristles are elastic only
_ELASTIC = 0.7
#: most of the deflection in sliding that bristles move in a step
_MOST_A_STEP = 0.25


def bristles(
    v: ca.SX,
    z: ca.SX,
    *,
    presliding: ca.SX | float,
    damping_s: float,
    static_ratio: ca.SX | float,
    v0: float,
    step: float,
    lean: ca.SX | None = None,
) -> tuple[ca.SX, ca.SX]:
    """Friction by Coulomb friction, against the motion, and z'; with `lean`, friction is larger where z > 0."""
    speed, size = (ca.fabs(x) if x.numel() == 1 else ca.sqrt(ca.dot(x, x)) for x in (v, z))
    level = 1 + (static_ratio - 1) * ca.exp(-((speed / v0) ** 2))
    if lean is not None:
        level *= 1 + ca.if_else(z > 0, lean, -lean)
    elastic = _ELASTIC * level
    middle, width = (level + elastic) / 2, level - elastic
    rising = 0.5 + 0.5 * ca.sin(ca.pi * (size - middle) / width)
    plastic = ca.if_else(size < elastic, 0, ca.if_else(size > level, 1, rising))
    plastic = ca.if_else(ca.dot(z, v) > 0, plastic, 0)
    # Damping fades out in sliding, as it must to be passive (Olsson et al. 1998); it is at most 0.43 of friction.
    damping = damping_s * ca.exp(-((damping_s * speed / presliding) ** 2))
    # Fast surfaces bend bristles no faster than a step resolves; the deflection in sliding does not depend on it.
    slower = ca.fmax(1, speed * step / (presliding * _MOST_A_STEP))
    rate = (v - plastic * speed * z / level) / (presliding * slower)
    return z + damping * rate, rate
