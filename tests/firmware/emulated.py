"""Boards to test against: the host build, and the ARM builds in QEMU; each has a port and an outside."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import re
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from granite.drivers.board.frame import Decoder, encode
from granite.drivers.board.handshake import LinkOptions
from granite.drivers.board.link import BoardLink
from granite.drivers.board.report import Report
from granite.drivers.board.wire import FrameKind

FIRMWARE = Path(__file__).parents[2] / "firmware"
BUILD = FIRMWARE / "build"
#: QEMU's machine of each image
MACHINES = {"stm32f405-qemu": "netduinoplus2", "mps2-qemu": "mps2-an385"}
#: what each target of the Makefile needs
COMPILERS = {"host": "cc", "arm": "arm-none-eabi-gcc", "build/fuzz": "clang", "build/fuzz-random": "cc"}
ACTUATORS, SENSORS = 12, 8
SHOULDER, ELBOW, WHEEL, GRIP = 8, 9, 10, 11
#: long enough for a test that is not about the watchdog, on a loaded machine
LONG_S = 1.0


@functools.cache
def build(target: str) -> None:
    """Make a target of `firmware/Makefile`; the test is skipped where a tool is missing."""
    need("make", COMPILERS[target])
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "lock").open("w") as lock:  # tests may run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "-s", "-C", str(FIRMWARE), target], check=True, timeout=300)


def need(*tools: str) -> None:
    """Skip the test by the name of the first tool that is missing."""
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")


class Outside:
    """The sensors, the emergency stop and the outputs of an emulated board. Board times are in microseconds."""

    def __init__(self, path: Path) -> None:
        self._socket = _connected(path)
        self._decoder = Decoder()
        self.changes: list[tuple[int, tuple[int, ...]]] = []
        self._is_closed = False
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def set(self, sensors: tuple[int, ...] = (0,) * SENSORS, emergency_stop: bool = False) -> None:
        """Give every sensor its counts."""
        payload = struct.pack(f"<B3x{len(sensors)}i", emergency_stop, *sensors)
        self._socket.sendall(encode(FrameKind.WORLD_INPUTS, 0, 0, payload))

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(timeout=5)
        self._socket.close()

    def _drain(self) -> None:
        """An outside that is not read would stall QEMU."""
        with contextlib.suppress(OSError):
            while received := self._socket.recv(4096):
                for frame in self._decoder.feed(received):
                    n = (len(frame.payload) - 8) // 4
                    t, *outputs = struct.unpack(f"<Q{n}i", frame.payload)
                    self.changes.append((t, tuple(outputs)))


class EmulatedBoard:
    """A running board: the path of its port, and its outside."""

    def __init__(self, port: str, outside: Outside, process: subprocess.Popen[str]) -> None:
        self.port, self.outside, self.process = port, outside, process

    def link(self, **options: object) -> BoardLink:
        """An open link, for a tick of 5 ms."""
        made = BoardLink(
            LinkOptions(**{"port": self.port, "board": "free-flyer", "watchdog_s": LONG_S} | options), 0.005
        )
        made.open()
        return made


@contextlib.contextmanager
def running(name: str, folder: Path, layout: Path | None = None, fresh_ms: int = 0) -> Iterator[EmulatedBoard]:
    """A board of this build; the host build answers only while the inputs of its outside are so fresh, if not 0."""
    world = folder / "world"
    if name == "host":
        build("host")
        port = folder / "port"
        command = [str(BUILD / "granite-board"), "--port", str(port), "--world", str(world), "--with-parent"]
        command += ["--priority", "90", "--fresh-ms", str(fresh_ms)] + (["--layout", str(layout)] if layout else [])
    else:
        need("qemu-system-arm")
        build("arm")
        command = [
            "qemu-system-arm",
            "-machine",
            MACHINES[name],
            "-kernel",
            str(BUILD / f"{name}.elf"),
            "-display",
            "none",
        ]
        command += ["-monitor", "none", "-serial", "pty", "-serial", f"unix:{world},server=on,wait=off"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        outside = Outside(world)
        if name != "host":
            assert process.stdout is not None
            said = process.stdout.readline()
            match = re.search(r"/dev/\S+", said)
            assert match, said
            port = Path(match.group())
        made = EmulatedBoard(str(port), outside, process)
        yield made
        made.outside.close()
    finally:
        process.kill()
        process.wait(timeout=10)
        if process.stdout:
            process.stdout.close()


def exchange(link: BoardLink, counts: dict[int, int] | None = None, patience_s: float = 30.0) -> Report:
    """One command, at rest but for these slots, and its report."""
    link.refusal = None
    link.command(time.monotonic(), slots(counts))
    return answered(link, patience_s)


def answered(link: BoardLink, patience_s: float = 30.0) -> Report:
    """The report that answers the frame sent last."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        if report := link.poll(time.monotonic()):
            return report
        assert link.refusal is None, link.refusal
        time.sleep(0.0005)
    raise AssertionError(f"no report: {link.cause or link.counts}")


def slots(counts: dict[int, int] | None = None) -> np.ndarray:
    made = np.zeros(ACTUATORS, np.int32)
    for i, count in (counts or {}).items():
        made[i] = count
    return made


def arm(link: BoardLink, patience_s: float = 60.0) -> Report:
    """Steady commands at rest, then a reset; on a loaded machine more than once."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        for _ in range(6):
            report = exchange(link)
        if report.is_armed:
            return report
        link.reset(time.monotonic())
        while time.monotonic() < until and link.refusal is None:
            if (report := link.poll(time.monotonic())) and report.is_armed:  # type: ignore[assignment]
                return report
            time.sleep(0.0005)
        link.refusal = None
    raise AssertionError("it never armed")


def _connected(path: Path) -> socket.socket:
    end = time.monotonic() + 30
    while True:
        try:
            made = socket.socket(socket.AF_UNIX)
            made.connect(str(path))
            return made
        except OSError:
            made.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
