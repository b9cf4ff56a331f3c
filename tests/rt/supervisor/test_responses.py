"""Every row of the table of responses gets its declared response in time, and stands in the table of the page."""

from __future__ import annotations

import pytest

from granite.config.responses import FAULTS
from tests.support.measurements import measured
from tests.support.response_table import TABLE, Row, answer


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
def test_a_fault_gets_its_declared_response_in_time(row: Row) -> None:
    found = answer(row)
    print(f"{row.fault}: {found.after_s:.3f} s")
    assert (found.reason, found.response) == (row.reason, row.response)
    assert found.after_s <= row.within_s


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
def test_the_page_and_the_defaults_have_every_row(row: Row) -> None:
    name = row.reason.name.lower()
    declared = {"fault": row.fault, "reason": name, "response": row.response, "within": f"{row.within_s:g} s"}
    assert any(declared.items() <= said.items() for said in measured("responses"))
    assert name not in FAULTS or FAULTS[name].response == row.response
