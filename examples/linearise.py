"""Linearise a testbed with flexible links about its start, and list its modes."""

import numpy as np

import granite

bed = granite.load("sun-planar/ffr-o-rrr")
contacts = granite.System(bed.modules, bed.contacts).contact_set()
q, u = granite.start_of(bed, contacts)
space = granite.linearise(contacts, q, u, np.zeros(len(u)))
print(f"{len(space.states)} states, {len(space.inputs)} inputs; eigenvalues of A: {np.linalg.eigvals(space.A)[:2]}")
for mode in granite.modes(contacts, q):
    if not mode.rigid:
        print(f"{mode.frequency:8.2f} Hz, damping ratio {mode.damping_ratio:.3f}")
