"""Prismatic: P slides along the x axis of E and keeps its axes. Also the x-slide without rotation."""

from granite.mrds.contacts.kind import VX, constant

PRISMATIC = constant("prismatic", free=[VX])
