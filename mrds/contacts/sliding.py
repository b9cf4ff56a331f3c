"""Sliding: a point of P that rubs in the y-z plane of E, held from both sides: a pin in a slot, a shoe on a rail."""

from granite.mrds.contacts.kind import Parameter
from granite.mrds.contacts.touching import FRICTION, STATIC_FRICTION, touching

SLIDING = touching(
    "sliding",
    {"friction": Parameter(FRICTION, least=0.0), "static_friction": STATIC_FRICTION},
    one_sided=False,
)
