"""The modes of a testbed about its start: what `granite modes` shows."""

from __future__ import annotations

from collections.abc import Sequence

from config.testbed import Testbed
from mrds.modes import Mode, modes
from mrds.system import System
from sim.equations import initial_motion
from sim.start import fitting_start


def modes_of(bed: Testbed, closed: Sequence[str] | None = None) -> tuple[Mode, ...]:
    """Modes about the pose at the start, at rest, with these contacts closed; those of the start if none are named."""
    held = System(bed.modules, bed.contacts).contact_set(bed.contact_sets[0] if closed is None else closed)
    q, u = fitting_start(bed, held, *initial_motion(bed))
    return modes(held, q, u=0 * u)
