"""Faults through real ports: those of the table that a plant, a line or a board can have, and how they are noticed."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import granite
from granite.rt.logs.run_summary import RunSummary
from granite.rt.rehearsal import Rehearsal, rehearsal
from granite.rt.run import Run
from tests.rt.fault_table import MOVE, TABLE, Row
from tests.rt.rehearsal.killed import running
from tests.rt.rehearsal.tampered_line import tampered

AT_S = 2.5
#: of the drivers, the ports and a loaded machine
ALLOWANCE_S = 0.3
WATCHDOG_S = 0.1

#: faults of values, which the plant's process simulates behind the ports
OF_VALUES = ("frozen", "drift", "offset", "torque_factor", "stuck_open", "dead")
ROWS = [
    row
    for row in TABLE
    if (row.what in OF_VALUES and not row.fault.endswith(("N m", "opening of 2")))
    or (row.device == "vision" and row.what in ("silent", "not_finite"))
]


class PortFault(NamedTuple):
    """What is done to a port, a board or its input, and how the run must end."""

    fault: str
    what: Any  #: a tampering of the line, or a deed to the board
    noticed_by: tuple[str, ...]
    within_s: float


PORT_FAULTS = (
    PortFault("port unplugged", "unplug", ("actuator_fault", "sensor_stale"), 0.1),
    PortFault("every frame of the board damaged", "damage", ("actuator_fault", "sensor_stale"), 0.2),
    PortFault("bytes of both sides lost", "swallow", ("actuator_fault", "sensor_stale"), 0.2),
    PortFault("board killed", "kill", ("actuator_fault", "sensor_stale"), 0.2),
    PortFault("board suspended", "suspend", ("actuator_fault", "sensor_stale"), 0.2),
    PortFault("emergency stop pressed", "emergency_stop", ("actuator_fault",), 0.1),
)


class Noticed(NamedTuple):
    """How a rehearsal with a fault ended."""

    ended: str
    after_s: float
    text: str
    guard: dict[str, int]
    safe: bool  #: outputs of the board, some time after the end


def rehearse_row(row: Row, log: Path) -> Noticed:
    """Rehearse the free-flyer with the first fault of a row."""
    event: dict[str, Any] = {"kind": "fault", "at_s": AT_S, "device": row.device, "what": row.what}
    given = {"unit": row.units[-1], "value": row.values[0], "duration_s": row.duration_s}
    event |= {key: value for key, value in given.items() if value is not None}
    bed = granite.load(
        "free-flyer",
        {
            "behaviour.waypoints": MOVE,
            "simulation.events": [event],
            "loop.duration_s": AT_S + row.within_s + 1.0,
            "safety.age_s.joint_sensors": 0.5,  # a loaded machine delays bytes on their way
        },
    )
    with rehearsal(bed, WATCHDOG_S) as outside:
        summary = Run(bed, rehearsal=outside).record(log, realtime=True, overwrite=True)
        return _noticed(summary, AT_S, outside)


def rehearse_port_fault(fault: PortFault, log: Path) -> Noticed:
    """Rehearse the free-flyer on a line that is tampered with; its loop is in another process."""
    bed = granite.load("free-flyer", {"behaviour.waypoints": MOVE, "loop.duration_s": AT_S + 10.0})
    with rehearsal(bed, WATCHDOG_S) as outside:
        port = outside.bed.devices["motors"].driver.port
        with tampered(port) as line:
            on_board = [name for name, device in outside.bed.devices.items() if device.driver.kind == "board"]
            outside.bed = outside.bed.with_changes({f"devices.{name}.driver.port": line.path for name in on_board})
            with running(bed, outside, log) as run:
                time.sleep(1.0)
                at = outside.truth(0.0).t
                board = outside.boards["rehearsal-1"]
                if fault.what == "kill":
                    board.kill()
                elif fault.what == "suspend":
                    board.send_signal(signal.SIGSTOP)
                    threading.Timer(1.0, board.send_signal, [signal.SIGCONT]).start()
                elif fault.what == "emergency_stop":
                    outside.press_emergency_stop()
                else:
                    line.tampering = fault.what
                return _noticed(run.summary(), at, outside)


def _noticed(summary: RunSummary, at: float, outside: Rehearsal) -> Noticed:
    end = time.monotonic() + 3
    while time.monotonic() < end and not outside.outputs()[0, 1]:
        time.sleep(0.01)
    safe = bool(outside.outputs()[0, 1]) or outside.boards["rehearsal-1"].poll() is not None
    after = summary["ended_at_s"] - at
    return Noticed(summary["ended"], after, summary["text"], dict(summary.get("guard", {})), safe)
