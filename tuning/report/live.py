"""Tables of a running loop's gains, and of two sets of them on the same manoeuvre."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from granite.tuning.live_session import GainComparison
from granite.views.table import table

#: a larger change is a factor [%]
_LARGEST_PERCENT = 999.0


def gain_table(gains: Sequence[Mapping[str, Any]], a: Mapping[str, float]) -> Table:
    """Each gain with its bounds, now and in A."""
    rows = [
        (g["name"], f"{a[g['name']]:.5g}", f"{g['value']:.5g}", f"{g['lower']:g}", f"{g['upper']:g}", g["unit"])
        for g in gains
    ]
    return table("Gains", ("gain", "A", "now", "lower", "upper", "unit"), rows)


def compared_tables(comparison: GainComparison) -> Iterator[Table]:
    """The gains that differ, and the measures with A and with B."""
    gains = [(s.gain, f"{s.before:.5g}", f"{s.after:.5g}", _change(s.before, s.after)) for s in comparison.gains]
    yield table("Gains that differ", ("gain", "A", "B", "change"), gains)
    seconds = " and ".join(f"{part:.1f} s" for part in comparison.seconds)
    rows = [
        (f"{name} [{unit}]" if unit not in ("", "1") else name, f"{a:.5g}", f"{b:.5g}", _change(a, b))
        for name, unit, a, b in comparison.measures
    ]
    yield table(f"The same manoeuvre, {seconds}", ("measure", "A", "B", "change"), rows)


def _change(a: float, b: float) -> str:
    if not a:
        return "-"
    percent = 100 * (b / a - 1)
    return f"{b / a:.3g} x" if abs(percent) > _LARGEST_PERCENT else f"{percent:+.1f} %"
