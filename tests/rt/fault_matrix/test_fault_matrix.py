"""Every case of the fault matrix ends in its declared response in time, with safe outputs, named in log and screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.firmware.emulated import need
from tests.rt.fault_matrix.__main__ import happen
from tests.rt.fault_matrix.cases import Case, cases
from tests.rt.fault_matrix.page import has
from tests.support.measurements import measured

CASES = cases()
#: one of each world of devices, and one of the loop
FAST = (
    "sim: joint_sensors: missing",
    "sim: vision: pose jumps by 0.1 m",
    "sim: thrusters: reports NaN",
    "sim: loop: emergency stop by operator or keyboard",
)
ROWS = measured("fault-matrix")


def _cases_of_test_all() -> list[Any]:
    """All but the fast ones; of a fault that several devices have, the first is rehearsed, others in `make studies`."""
    params: list[Any] = []
    rehearsed = set()
    for case in CASES:
        again = case.where == "rehearse" and case.device != "loop" and case.fault in rehearsed
        rehearsed |= {case.fault} if case.where == "rehearse" else set()
        if str(case) not in FAST:
            params.append(pytest.param(case, marks=pytest.mark.study) if again else case)
    return params


@pytest.mark.parametrize("case", [case for case in CASES if str(case) in FAST], ids=str)
def test_a_fault_ends_as_declared(case: Case, tmp_path: Path) -> None:
    assert happen(case, tmp_path).complaint == ""


@pytest.mark.slow
@pytest.mark.parametrize("case", _cases_of_test_all(), ids=str)
def test_every_fault_ends_as_declared(case: Case, tmp_path: Path) -> None:
    if case.where == "rehearse":
        need("cc")
    ending = happen(case, tmp_path)
    print(f"{case}: {ending}")
    assert ending.complaint == ""


def test_there_are_enough_cases_in_both_worlds() -> None:
    assert len({str(case) for case in CASES}) == len(CASES)
    assert sum(case.where == "sim" for case in CASES) >= 80
    assert sum(case.where == "rehearse" for case in CASES) >= 80


def test_the_table_has_every_case() -> None:
    assert [str(case) for case in CASES if not has(ROWS, case)] == []
