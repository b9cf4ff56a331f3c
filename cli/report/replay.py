"""Result of a replay, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from granite.rt.replay import Replay


def replay_lines(result: Replay, complete: bool) -> Iterator[str]:
    """Result of a replay."""
    if result.first is not None:
        d = result.first
        yield (
            f"first difference at tick {d.tick} (t = {d.t:.6f} s): {d.topic} {d.key} was {d.logged!r}, "
            f"is now {d.replayed!r}"
        )
    elif result.ticks == 0:
        yield "nothing replayed: the first rows of the run are missing in the log"
    else:
        yield f"identical to the bit: {result.ticks} ticks, {result.values} values"
        if result.gap is not None:
            yield f"rows are missing in the log after tick {result.gap}: replayed up to there"
    for file in result.changed:
        yield f"the file {file} changed since the run: differences may come from that"
    if not complete:
        yield "the log is truncated: it was replayed up to its last complete row"
