"""One exchange with a board on a pseudo-terminal: our link beside bare reads and writes of as many bytes."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.drivers.board.frame import encode
from granite.drivers.board.handshake import LinkOptions
from granite.drivers.board.link import BoardLink
from granite.drivers.board.wire import FrameKind
from granite.rt.process.realtime import real_time

FIRMWARE = Path(__file__).parents[1] / "firmware"
_ROUNDS = 5000
NAME = "serial exchange on a pty: command, firmware, report"


def measure() -> Iterator[Result]:
    if not shutil.which("cc") or not shutil.which("make"):
        print("serial_exchange is left out: the board's program needs make and a C compiler")
        return
    subprocess.run(["make", "-s", "-C", str(FIRMWARE), "host"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        port = Path(folder) / "port"
        command = [str(FIRMWARE / "build/granite-board"), "--port", str(port), "--world", f"{folder}/world"]
        board = subprocess.Popen([*command, "--with-parent", "--priority", "20"], stderr=subprocess.DEVNULL)
        try:
            while not port.exists() and board.poll() is None:
                time.sleep(0.01)
            yield from _compare(str(port))
        finally:
            board.terminate()
            board.wait()


def _compare(port: str) -> Iterator[Result]:
    link = BoardLink(LinkOptions(port=port, board="free-flyer"), 0.001)
    link.open()
    line = link.line
    assert line is not None
    descriptor = line.port.fileno()
    counts = np.arange(len(link.description.actuators), dtype=np.int32)
    # The same commands, encoded before the measurement: bare reads and writes of the same bytes.
    command = link._layout + counts.tobytes()
    encoded = [encode(FrameKind.COMMAND, sequence, 1, command) for sequence in range(1 << 16)]

    def drain() -> None:
        """Take what has arrived, so that an exchange waits for the report of its own command."""
        with contextlib.suppress(BlockingIOError):
            while os.read(descriptor, 4096):
                pass

    def ours() -> None:
        link.command(0.0, counts)
        select.select([descriptor], [], [])
        while link.poll(0.0) is None:
            pass

    def bare() -> None:
        line.sequence = (line.sequence + 1) & 0xFFFF
        os.write(descriptor, encoded[line.sequence])
        select.select([descriptor], [], [])
        received = 0
        while received < answer_bytes:
            with contextlib.suppress(BlockingIOError):
                received += len(os.read(descriptor, 4096))

    ours()
    answer_bytes = len(encode(FrameKind.REPORT, 1, 1, bytes(28 + 4 * len(link.description.channels))))
    with real_time(load("free-flyer").loop):  # as a loop runs; the board has priority, too
        times = np.array([[_elapsed(call, drain) for call in (ours, bare)] for _ in range(_ROUNDS)])
    took, by_bare = np.median(times, axis=0).tolist()
    goal = "at most 1.5 times bare descriptors"
    yield Result(NAME, "us", took * 1e6, by_bare * 1e6, "bare descriptor", goal, took <= 1.5 * by_bare)
    link.close()


def _elapsed(call: Callable[[], None], drain: Callable[[], None]) -> float:
    """Time of a call with all that it waits for: the board's answer is a part of the exchange [s]."""
    drain()
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
