"""Soft finger: like a hard point, but it also holds against turning about the normal, the z axis of E."""

from granite.mrds.contacts.kind import WX, WY, constant

SOFT_FINGER = constant("soft_finger", free=[WX, WY])
