"""What the contacts bore: forces, moments, and how much of them squeezed a module without moving it."""

from __future__ import annotations

import numpy as np

from config.records import Array
from rt.plots.look import COLOURS, SOFT, colours, words
from rt.plots.panels.panel import Line, Panel, lines
from rt.plots.run import Run

#: moments below this are rounding [N m]
_NOTHING = 1e-9


def contact_force_panels(run: Run) -> list[Panel]:
    """Sizes, not directions; a panel of moments, in the colours of the forces, where a contact bears any."""
    if not run.bed.contacts or not np.isfinite(run.force).any():
        return []
    forces, squeezes = _by_contact(run, run.force), _squeezes(run)
    together = len(forces) + len(squeezes) <= len(COLOURS)
    panels = [lines(run, "contact\n[N]", forces | squeezes if together else forces)]
    panels += [lines(run, "squeeze\n[N]", squeezes)] if squeezes and not together else []
    if np.nanmax(run.moment) > _NOTHING:
        panels.append(lines(run, "contact\n[N m]", _by_contact(run, run.moment), legend=False))
    return panels


def _squeezes(run: Run) -> dict[str, Line]:
    names = run.bed.squeezed
    series = zip(names, run.squeeze.T, [SOFT] if len(names) == 1 else colours(len(names)), strict=True)
    return {f"squeeze of {words(name)}": Line(squeeze, colour, dashed=True) for name, squeeze, colour in series}


def _by_contact(run: Run, sizes: Array) -> dict[str, Line]:
    contacts = run.bed.contacts
    series = zip(contacts, sizes.T, colours(len(contacts)), strict=True)
    return {words(contact.name): Line(size, colour) for contact, size, colour in series}
