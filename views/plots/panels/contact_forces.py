"""Loads of the contacts: forces, moments, and the internal force of each module."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.logs.contact_summary import SQUEEZE_UNIT
from granite.views.plots.panels.panel import Line, Panel, coloured, lines
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import colours, words

#: forces and moments below this are rounding [N, N m]
_NOTHING = 1e-9


def contact_force_panels(run: PlottedRun) -> list[Panel]:
    """Magnitudes; panels of moments, in the colours of the forces, and of internal forces where there are any."""
    if not run.bed.contacts or not np.isfinite(run.force).any():
        return []
    panels = [lines(run, "contact\n[N]", _by_contact(run, run.force), alone=True)]
    if np.nanmax(run.moment) > _NOTHING:
        panels.append(lines(run, "contact\n[N m]", _by_contact(run, run.moment), alone=True))
    if np.nanmax(run.squeeze, initial=0.0) > _NOTHING:
        squeezes = dict(zip(map(words, run.bed.squeezed), run.squeeze.T, strict=True))
        panels.append(lines(run, f"squeeze\n[{SQUEEZE_UNIT}]", coloured(squeezes), alone=True))
    return panels


def _by_contact(run: PlottedRun, sizes: Array) -> dict[str, Line]:
    contacts = run.bed.contacts
    series = zip(contacts, sizes.T, colours(len(contacts)), strict=True)
    return {words(contact.name): Line(size, colour) for contact, size, colour in series}
