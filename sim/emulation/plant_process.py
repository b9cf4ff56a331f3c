"""The process of the plant in a rehearsal: it moves in real time behind emulated boards and pose streams.

When it is ready it holds the robot at its start, until a message releases it with the time at which the run starts.
"""

from __future__ import annotations

import gc
import json
import os
import select
import sys
import time
from collections.abc import Iterator
from typing import Any

from granite.config.errors import PlantLostError
from granite.config.loader import from_json
from granite.drivers.ordered_process import carry_out, request_priority
from granite.drivers.pose_stream.sockets import open_sender
from granite.sim.emulation.board_line import BoardLine
from granite.sim.emulation.camera_line import CameraLine
from granite.sim.emulation.emulated_lab import EmulatedLab
from granite.sim.emulation.shared_truth import SharedTruth
from granite.sim.emulation.wiring import wire

#: a plant that is later than this catches up before it is measured [s]
_BEHIND_S = 0.003
#: below the loop and the boards
_LOWER_PRIORITY = 20


def work(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Build the plant, and move it until standard input ends."""
    plant = PlantProcess(order)
    yield {"ready": True, "sizes": plant.sizes}
    try:
        plant.run()
    except (PlantLostError, OSError) as error:  # of a board that is gone, which the loop notices by itself
        yield {"failure": str(error)}


class PlantProcess:
    """The plant with its lines.

    Parameters
    ----------
    order
        `bed` (JSON), `worlds` (the socket of each board), `streams` (the address of each pose sensor's stream),
        `cameras` (the socket of each camera's renderer), `truth` (descriptor of the shared memory), `real` (the
        devices that are real, each with the time of its watchdog [s]).
    """

    def __init__(self, order: dict[str, Any]) -> None:
        bed = from_json(order["bed"])
        boards = wire(bed, order["real"])
        self._lines = [BoardLine(board, path) for board, path in zip(boards, order["worlds"], strict=True)]
        streams = {name: open_sender(address) for name, address in order["streams"].items()}
        cameras = {name: CameraLine(path) for name, path in order["cameras"].items()}
        self._lab = EmulatedLab(bed, self._lines, streams, cameras, order["real"])
        self._said = b""
        self._shared = SharedTruth(order["truth"])
        self._boards = [(0.0, 1.0)] * len(self._lines)
        self._zero_s: float | None = None
        self._t = 0.0
        truth = self._lab.truth(0.0)
        #: of the arrays of the truth
        self.sizes = [len(part) for part in truth[1:]]
        self._shared.put(truth, self._boards)
        request_priority(bed.loop.priority - _LOWER_PRIORITY)
        gc.collect()
        gc.freeze()
        gc.disable()
        os.set_blocking(sys.stdin.fileno(), False)

    def run(self) -> None:
        """Measure once per period; between that, take over changes of the boards as they come."""
        period = self._lab.period_s
        began = due = time.monotonic()
        while self._is_wanted():
            left = due - time.monotonic()
            ready = select.select([*self._lines, sys.stdin], [], [], left)[0] if left > 0 else self._lines
            for line in self._lines:
                if line in ready:
                    self._take(line)
            now = time.monotonic()
            if now < due:
                continue
            if self._zero_s is None:
                self._lab.measure(now - began, now)
                due += period * max(1, round((now - due) / period))
                continue
            t = self._moved_to(now)
            self._lab.apply(t)
            self._lab.advance(t)
            if time.monotonic() - now > _BEHIND_S:
                continue
            self._lab.measure(t, now)
            self._shared.put(self._lab.truth(t), self._boards)
            due = self._zero_s + (int((now - self._zero_s) / period) + 1) * period

    def _take(self, line: BoardLine) -> None:
        """Apply the changes of a board, each at its own time, or as soon as it is known."""
        for change in line.receive():
            safe = float(not change.counts[line.acting].any())
            self._boards[self._lines.index(line)] = float(change.board_us), safe
            if self._zero_s is not None:
                self._lab.change(line, change, self._moved_to(change.board_us * 1e-6))

    def _moved_to(self, now: float) -> float:
        """Time of the run at a time of the monotonic clock; it never goes back [s]."""
        assert self._zero_s is not None
        self._t = max(self._t, now - self._zero_s)
        return self._t

    def _is_wanted(self) -> bool:
        """Obey the lines on standard input; False when it has ended."""
        try:
            said = os.read(sys.stdin.fileno(), 4096)
        except BlockingIOError:
            return True
        *lines, self._said = (self._said + said).split(b"\n")
        for text in lines:
            self._obey(json.loads(text))
        return bool(said)

    def _obey(self, said: dict[str, Any]) -> None:
        if "release_ns" in said:
            # The loop's clock is the time since boot; that of boards and plant is the monotonic one.
            ahead = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
            self._zero_s = (said["release_ns"] - ahead) * 1e-9
            self._lab.release()
        if "applied" in said and self._zero_s is not None:
            self._lab.take(said["device"], said["applied"], self._moved_to(time.monotonic()))
        if "emergency_stop" in said:
            for line in self._lines:
                line.emergency_stop = said["emergency_stop"]


if __name__ == "__main__":
    carry_out(work)
