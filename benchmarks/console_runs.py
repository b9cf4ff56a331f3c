"""Consoles, runs and sessions for the benchmarks of the page."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

GRANITE = [sys.executable, "-m", "granite.cli"]
CHROMIUM = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
SIGNALS = [
    "truth.base_x_m", "reference.base_x_m", "truth.base_heading_rad", "reference.base_heading_rad",
    "applied.motors_shoulder_torque_n_m", "applied.motors_elbow_torque_n_m",
]  # fmt: skip
_PATIENT = ["loop.longest_lateness_s=5", "loop.watchdog_s=5", "safety.burst_overruns=100000"]


@contextlib.contextmanager
def console(folder: Path, environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A new console, and its address."""
    command = [*GRANITE, "console", "--port", "0", "--folder", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().partition("console: ")[2].strip()
        finally:
            process.terminate()


@contextlib.contextmanager
def live_run(
    log: Path, environment: dict[str, str], seconds: float, operator: bool, silence_s: float = 2.0
) -> Iterator[subprocess.Popen[bytes]]:
    """A run in real time that can be watched."""
    port, address = _free_port(), f"tcp://127.0.0.1:{_free_port()}"
    changes = [*_PATIENT, f"operator.address={json.dumps(address)}", f"loop.duration_s={seconds}"]
    changes.append(f"operator.silence_s={silence_s}")
    command = [*GRANITE, "sim", "free-flyer", "--realtime", "--live", "--live-port", str(port), "--out", str(log)]
    command += [f"--set={change}" for change in changes] + (["--operator"] if operator else []) + ["--overwrite"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment) as process:
        try:
            yield process
        finally:
            if operator:
                process.terminate()


def until(holds: Callable[[], bool], limit_s: float = 120.0) -> float:
    """Wait; the time that it took [s]."""
    began = time.perf_counter()
    while not holds():
        if time.perf_counter() - began > limit_s:
            raise RuntimeError("the page took too long")
        time.sleep(0.005)
    return time.perf_counter() - began


def is_done(page: Any, do: str) -> bool:
    return bool(page.evaluate(f"async () => (await granite.live.operate.ask('{do}')).ok"))


def process_of_run(folder: Path) -> int:
    register = folder / "granite"
    until(lambda: bool(list(register.glob("[0-9]*.json"))))
    return int(next(register.glob("[0-9]*.json")).stem)


def session(address: str) -> tuple[str, str]:
    """Host and port of a console, and the cookie of a new session."""
    host, token = address.removeprefix("http://").partition("/#token=")[::2]
    connection = http.client.HTTPConnection(host)
    headers = {"origin": f"http://{host}", "content-type": "application/json"}
    connection.request("POST", "/api/session", json.dumps({"token": token}), headers)
    return host, connection.getresponse().headers["set-cookie"].partition(";")[0]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
