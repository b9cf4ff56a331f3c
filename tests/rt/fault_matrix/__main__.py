"""Run the fault matrix and print `docs/measurements/fault-matrix.csv`: `python -m tests.rt.fault_matrix [TEXT]`.

With a text, only the cases that have it in their name. Exit code 1 where one does not end as declared.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.rt.fault_matrix.cases import Case, cases
from tests.rt.fault_matrix.in_rehearsal import rehearse
from tests.rt.fault_matrix.in_sim import simulate
from tests.rt.fault_matrix.judged import FaultEnding
from tests.rt.fault_matrix.page import table


def happen(case: Case, folder: Path) -> FaultEnding:
    """Let a case happen in its world."""
    return simulate(case, folder) if case.where == "sim" else rehearse(case, folder)


def main() -> None:
    """Let every case happen, say so on standard error, and print the table."""
    text, ended = " ".join(sys.argv[1:]), []
    for case in cases():
        if text in str(case):
            with tempfile.TemporaryDirectory() as folder:
                ending = happen(case, Path(folder))
            ended.append((case, ending))
            print(f"{case}: {ending.complaint or ending}", file=sys.stderr, flush=True)
    print(table(ended))
    failed = [ending for _, ending in ended if ending.complaint]
    print(f"{len(ended)} cases, {len(failed)} not as declared", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
