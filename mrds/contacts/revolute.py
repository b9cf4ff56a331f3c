"""Revolute: P turns about the z axis of E.

Bonaventura's eq. 27 prints phi_u = e3, which with the linear part first would slide along z; it is e6.
"""

from granite.mrds.contacts.kind import WZ, constant

REVOLUTE = constant("revolute", free=[WZ])
