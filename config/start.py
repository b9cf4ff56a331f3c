"""The configured start of a testbed: q and u of all modules."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed


def initial_motion(bed: Testbed) -> tuple[Array, Array]:
    """q (n_q) and u (n_u) as `simulation.initial` has them, zero elsewhere; quaternions normalised, without rotation
    where none is given."""
    initial = bed.simulation.initial
    q = np.array([initial.get(c.key, 0.0) for c in bed.positions])
    u = np.array([initial.get(c.key, 0.0) for c in bed.velocities])
    turned = [i for i, c in enumerate(bed.positions) if c.unit == "1"]
    for quaternion in (turned[i : i + 4] for i in range(0, len(turned), 4)):
        if not q[quaternion].any():
            q[quaternion[0]] = 1.0
        q[quaternion] /= np.linalg.norm(q[quaternion])
    return q, u
