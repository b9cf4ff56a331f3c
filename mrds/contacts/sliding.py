"""Sliding: a point of P with friction in the y-z plane of E, guided on both sides: a pin in a slot or a shoe."""

from granite.mrds.contacts.kind import Parameter
from granite.mrds.contacts.touching import FRICTION, STATIC_FRICTION, touching

SLIDING = touching(
    "sliding",
    {"friction": Parameter(FRICTION, least=0.0), "static_friction": STATIC_FRICTION},
    one_sided=False,
)
