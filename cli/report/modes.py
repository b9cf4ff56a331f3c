"""The modes of a testbed, as a table."""

from __future__ import annotations

from rich.table import Table

from granite.config.testbed import Testbed
from granite.mrds.initial_vibration import InitialVibration
from granite.views.table import table

#: smallest component of a mode shape that is printed
_SHAPE_PARTS, _SHAPE_LEAST = 6, 1e-3


def modes_table(bed: Testbed, vibration: InitialVibration) -> Table:
    """Frequencies, damping, and the largest components of each mode shape."""
    finer = vibration.finer_frequencies
    rows = []
    for i, mode in enumerate(vibration.modes):
        most = sorted(mode.shape.items(), key=lambda part: -abs(part[1]))[:_SHAPE_PARTS]
        shape = ", ".join(f"{name} {part.real:.3g}" for name, part in most if abs(part) > _SHAPE_LEAST)
        frequencies = ["-" if mode.rigid else f"{hertz:.6g}" for hertz in (mode.frequency, *finer[i : i + 1])]
        damping = round(mode.damping_ratio, 9) + 0.0  # minus zero is zero
        kind = "rigid" if mode.rigid else "unstable" if mode.unstable else f"{damping:.4g}"
        rows.append((str(i + 1), *frequencies, kind, shape))
    columns = ("mode", "frequency [Hz]", *(["finer [Hz]"] if finer else []), "damping ratio", "shape")
    return table(f"Modes of {bed.name} about its start", columns, rows, sentences=1)
