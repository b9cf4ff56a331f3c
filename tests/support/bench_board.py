"""A board on a bench: the host build of the firmware with the actuators of a testbed, on a pseudo-terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import granite
from granite.sim.emulation.wiring import wire
from tests.firmware.emulated import EmulatedBoard, running


@contextlib.contextmanager
def bench_board(
    bed: granite.Testbed, folder: Path, watchdog_s: float = 1.0
) -> Iterator[tuple[EmulatedBoard, dict[str, Any]]]:
    """The running board, and the driver of each actuator on it as changes of the testbed."""
    devices = [device for board in wire(bed) for device in board.devices if device.is_actuator]
    layout = folder / "bench.layout"
    layout.write_text("\n".join(["board bench", *(w.line for device in devices for w in device.wires), ""]))
    with running("host", folder, layout) as board:
        yield (
            board,
            {
                f"devices.{device.name}.driver": {
                    "kind": "board",
                    "port": board.port,
                    "board": "bench",
                    "watchdog_s": watchdog_s,
                    "channels": {w.signal: f"{w.kind.name.lower()} {w.name}" for w in device.wires},
                }
                for device in devices
            },
        )
