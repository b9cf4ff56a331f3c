"""Every fault that can be made through real ports ends in its response within its time, with safe outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

import granite
from tests.firmware.emulated import need
from tests.rt.fault_table import Row
from tests.rt.rehearsal.fault_cases import (
    ALLOWANCE_S,
    PORT_FAULTS,
    ROWS,
    PortFault,
    rehearse_port_fault,
    rehearse_row,
)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.fault)
def test_a_fault_of_the_table_is_noticed_through_the_ports(row: Row, tmp_path: Path):
    need("cc")
    found = rehearse_row(row, tmp_path / "run.mcap")
    names = [reason.name.lower() for reason in row.noticed_by]
    print(f"{row.fault}: {found.ended} after {found.after_s:.3f} s")
    if not row.ends:
        assert found.ended == "completed", found.text
        assert set(names) & set(found.guard)
        return
    assert found.ended in names, found.text
    assert 0.0 <= found.after_s <= row.within_s + ALLOWANCE_S
    assert found.safe


@pytest.mark.slow
@pytest.mark.parametrize("fault", PORT_FAULTS, ids=lambda fault: fault.fault)
def test_a_fault_of_a_port_or_a_board_is_noticed_by_name(fault: PortFault, tmp_path: Path):
    need("cc")
    found = rehearse_port_fault(fault, tmp_path / "run.mcap")
    print(f"{fault.fault}: {found.ended} after {found.after_s:.3f} s")
    assert found.ended in fault.noticed_by, found.text
    assert any(name in found.text for name in ("joint_sensors", "motors", "thrusters"))
    assert found.after_s <= fault.within_s + ALLOWANCE_S
    assert found.safe
    if fault.what == "damage":
        events = granite.read_log(tmp_path / "run.mcap").events
        assert any(event["name"] == "link_trouble" and "bad_" in event["text"] for event in events)
