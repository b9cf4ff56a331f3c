"""The matrix as `docs/measurements/fault-matrix.csv`: a row for each fault of a device, both worlds side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tests.rt.fault_matrix.cases import Case, Where
from tests.rt.fault_matrix.judged import FaultEnding
from tests.support.measurements import as_csv

#: the column of each world
WORLDS: dict[Where, str] = {"sim": "in the simulation", "rehearse": "in a rehearsal"}


def table(ended: Sequence[tuple[Case, FaultEnding]]) -> str:
    """All rows, in the order of the cases."""
    by_name: dict[tuple[str, str], dict[Where, tuple[Case, FaultEnding]]] = defaultdict(dict)
    for case, ending in ended:
        by_name[case.fault, case.device][case.where] = case, ending
    rows = [["fault", "device", *WORLDS.values(), "response"]]
    for (fault, device), cells in by_name.items():
        worlds = [_noticed(*cells[where]) if where in cells else "" for where in WORLDS]
        responses = dict.fromkeys(_response(case, each) for case, each in cells.values())
        rows.append([fault, device, *worlds, "; ".join(responses)])
    return as_csv(rows)


def has(rows: Sequence[Mapping[str, str]], case: Case) -> bool:
    """Whether the table has a case with its declared time."""
    for row in rows:
        if (row["fault"], row["device"]) == (case.fault, case.device):
            return row[WORLDS[case.where]].endswith(f"of {case.within_s:g} s")
    return False


def _noticed(case: Case, ending: FaultEnding) -> str:
    return f"{ending.noticed_by} {ending.after_s:.3f} of {case.within_s:g} s"


def _response(case: Case, ending: FaultEnding) -> str:
    allowed = case.complete_after(ending.noticed_by)
    took = f" in {ending.complete_s:.2f} of {allowed:g} s" if allowed > 0.01 else ""
    return f"{ending.response}{took}"
