"""Gains that may change during a run, and the response to every fault, as tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from granite.config.responses import FAULTS
from granite.config.testbed import Testbed
from granite.views.table import table


def operation_tables(bed: Testbed) -> Iterator[Table]:
    """Nothing without a controller: then every fault ends the run at once."""
    if bed.controller is None:
        return
    gains = [
        (gain.name, gain.unit, f"{gain.value:g}", f"{gain.lower:g} to {gain.upper:g}")
        for gain in bed.controller.law.live_gains(bed)
    ]
    if gains:
        yield table("Gains that may change in a run", ("gain", "unit", "value", "bounds"), gains)
    columns = "fault", "response", "noticed when"
    yield table("Faults, and who clears a hold or a float", columns, _faults(bed), sentences=2)


def _faults(bed: Testbed) -> Iterator[tuple[str, ...]]:
    for name, fault in FAULTS.items():
        answer = bed.safety.answer(name)
        clears = f" ({answer.cleared_by})" if answer.response in ("hold", "float") else ""
        lasting = f" after {answer.lasting_s:g} s" if answer.lasting_s else ""
        yield name, f"{answer.response}{clears}{lasting}", fault.noticed
