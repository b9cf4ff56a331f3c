"""The modes of a testbed, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from granite.config.testbed import Testbed
from granite.mrds.vibration_modes import VibrationMode
from granite.views.table import table

#: smallest component of a mode shape that is printed
_SHAPE_PARTS, _SHAPE_LEAST = 6, 1e-3


def modes_table(bed: Testbed, modes: Sequence[VibrationMode]) -> Table:
    """Frequencies, damping, and the largest components of each mode shape."""
    rows = []
    for i, mode in enumerate(modes, start=1):
        most = sorted(mode.shape.items(), key=lambda part: -abs(part[1]))[:_SHAPE_PARTS]
        shape = ", ".join(f"{name} {part.real:.3g}" for name, part in most if abs(part) > _SHAPE_LEAST)
        pace = "-" if mode.rigid else f"{mode.frequency:.6g}"
        damping = round(mode.damping_ratio, 9) + 0.0  # minus zero is zero
        kind = "rigid" if mode.rigid else "unstable" if mode.unstable else f"{damping:.4g}"
        rows.append((str(i), pace, kind, shape))
    title = f"Modes of {bed.name} about its start"
    return table(title, ("mode", "frequency [Hz]", "damping ratio", "shape"), rows, sentences=1)
