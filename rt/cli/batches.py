"""What the commands of many runs have in common."""

from __future__ import annotations

from granite.config.testbed import Testbed
from granite.rt.cli.screen import err


def say_parts_in_python(bed: Testbed) -> None:
    """Say which parts keep the runs from being compiled, if any do: they take some ten times as long."""
    from granite.rt.many_runs import parts_in_python

    if parts := parts_in_python(bed):
        err.print(f"runs are not compiled as a whole, because of: {', '.join(parts)} (docs/tuning.md)", soft_wrap=True)
