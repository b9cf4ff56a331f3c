"""The matrix as the table of `docs/faults.md`: a row for each fault of a device, with both worlds side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tests.rt.fault_matrix.cases import Case, Where
from tests.rt.fault_matrix.judged import Found

HEAD = """| fault | device | in the simulation | in a rehearsal | response |
|---|---|---|---|---|"""
WORLDS: tuple[Where, ...] = ("sim", "rehearse")


def table(ended: Sequence[tuple[Case, Found]]) -> str:
    """All rows, in the order of the cases."""
    by_name: dict[tuple[str, str], dict[Where, tuple[Case, Found]]] = defaultdict(dict)
    for case, found in ended:
        by_name[case.fault, case.device][case.where] = case, found
    rows = [HEAD]
    for (fault, device), cells in by_name.items():
        worlds = " | ".join(_noticed(*cells[where]) if where in cells else "" for where in WORLDS)
        responses = dict.fromkeys(_response(case, each) for case, each in cells.values())
        rows.append(f"| {fault} | {device} | {worlds} | {'; '.join(responses)} |")
    return "\n".join(rows)


def has(page: str, case: Case) -> bool:
    """Whether the page has a case with its declared time."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if cells[1:3] == [case.fault, case.device] and len(cells) > 5:
            return cells[3 + WORLDS.index(case.where)].endswith(f"of {case.within_s:g} s")
    return False


def _noticed(case: Case, found: Found) -> str:
    return f"`{found.noticed_by}` {found.after_s:.3f} of {case.within_s:g} s"


def _response(case: Case, found: Found) -> str:
    took = f" in {found.complete_s:.2f} of {case.complete_s:g} s" if case.complete_s > 0.01 else ""
    return f"{found.response}{took}"
