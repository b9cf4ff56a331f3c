"""Trouble on the links to real devices, from their counters over time: damaged, missed, refused and lost frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

#: counts that stay at zero on a good link
TROUBLE = (
    "bad_crc", "bad_cobs", "short", "oversize", "bad_version", "missed", "repeated", "reordered", "blocked", "lost",
    "replugged", "refused", "damaged_at_board", "missed_at_board", "malformed", "untracked", "restarts", "clock_jumps",
)  # fmt: skip


def link_trouble(links: Mapping[str, Mapping[str, Sequence[float]]]) -> Iterator[tuple[float, str]]:
    """Time [s] and sentence of each change for the worse; the numbers are taken once a second."""
    for name, numbers in links.items():
        counts = [key for key in TROUBLE if key in numbers]
        before = dict.fromkeys(counts, 0.0)
        for i, t in enumerate(numbers["t_s"]):
            now = {key: numbers[key][i] for key in counts}
            worse = [f"{key} {now[key]:g}" for key in counts if now[key] > before[key]]
            if worse:
                yield t, f"{name}: {', '.join(worse)}"
            before = now
