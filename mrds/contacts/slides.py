"""Slides along x or y of E, with or without turning about z (the planar contacts of Bonaventura 2002, section 8.2)."""

from granite.mrds.contacts.kind import VX, VY, WZ, constant

X_SLIDE = constant("x_slide", free=[VX])
X_SLIDE_TURNING = constant("x_slide_turning", free=[VX, WZ])
Y_SLIDE = constant("y_slide", free=[VY])
Y_SLIDE_TURNING = constant("y_slide_turning", free=[VY, WZ])
