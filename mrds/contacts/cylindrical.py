"""Cylindrical: P turns about the z axis of E and slides along it."""

from granite.mrds.contacts.kind import VZ, WZ, constant

CYLINDRICAL = constant("cylindrical", free=[VZ, WZ])
