"""Stops: a unilateral contact. P stays on the positive side of the x axis of E; there it bounces or rests.

An edge stops a point, a bumper a sphere about the origin of P.
"""

from granite.mrds.contacts.kind import Parameter
from granite.mrds.contacts.touching import FRICTION, RADIUS, STATIC_FRICTION, touching

_SURFACE = {
    "friction": Parameter(FRICTION, least=0.0, required=False),
    "static_friction": STATIC_FRICTION,
    "restitution": Parameter(
        "the ratio of normal speeds after and before an impact", least=0.0, greatest=1.0, required=False
    ),
}
EDGE = touching("edge", _SURFACE, one_sided=True)
BUMPER = touching("bumper", {RADIUS: Parameter("the radius of the bumper [m]", least=0.0), **_SURFACE}, one_sided=True)
