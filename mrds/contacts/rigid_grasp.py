"""Rigid grasp: P keeps its position and its axes in E."""

from granite.mrds.contacts.kind import constant

RIGID_GRASP = constant("rigid_grasp", free=[])
