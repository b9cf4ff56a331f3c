"""Spherical: P turns freely about the origin of E. Also the hard point contact that does not slip."""

from granite.mrds.contacts.kind import WX, WY, WZ, constant

SPHERICAL = constant("spherical", free=[WX, WY, WZ])
HARD_POINT = constant("hard_point", free=[WX, WY, WZ])
