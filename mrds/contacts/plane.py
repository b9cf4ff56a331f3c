"""Plane: P slides in the x-y plane of E and turns about its z axis."""

from granite.mrds.contacts.kind import VX, VY, WZ, constant

PLANE = constant("plane", free=[VX, VY, WZ])
