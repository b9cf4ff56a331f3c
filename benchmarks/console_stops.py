"""The console when it matters: emergency stops, operators that are lost, and clients that never read.

Each emergency stop ends a run of its own, while an hour's log without extremes is opened and another command waits.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.console_runs import CHROMIUM, SIGNALS, console, is_done, live_run, process_of_run, session, until
from benchmarks.result import Result
from granite.logs.log import read_log
from granite.rt.operator.client import Operator

_STOPS, _LOSSES, _STALLED, _STALLED_S, _ALONE_S = 50, 3, 5, 300.0, 60.0
_NO_DELAYS = "() => { granite.live.delays = []; }"
_REQUEST = "GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {cookie}\r\n{more}\r\n"
_UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
#: {"kind": "drawn"} as a masked message
_DRAWN = b"\x81\x91\0\0\0\0" + b'{"kind": "drawn"}'
_SILENCE_S = 1.0
#: a log as Granite wrote it before there were extremes at its end
_OLDER = (
    "from granite.logs.extremes import ExtremesOfRows; ExtremesOfRows.result = lambda self: None\n"
    "from granite.cli import main; main()"
)
_READY = "() => (window.granite?.live.drawnFrames ?? 0) > 5 && !document.getElementById('control').disabled"
#: an older hour opens, a gain is on its way, and then the key; its answer is noted
_BUSY = """(log) => {
  const { operate } = granite.live, answered = operate.answered.bind(operate);
  operate.answered = (answer) => {
    answered(answer);
    if (answer.do === "emergency_stop") window.stopped = operate.lastAnswer;
  };
  granite.logs.show(log);
  operate.ask("set_gain", { gain: "elbow_stiffness", value: 110 });
}"""


def measure() -> Iterator[Result]:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        environment = {**os.environ, "XDG_RUNTIME_DIR": name, "GRANITE_KEYS": f"{name}/keys"}
        os.environ.update(environment)
        older = _older(folder / "older.mcap", environment)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        with console(folder, environment) as (_, address):
            yield from _opened(browser, address, older)
            yield from _stops(browser, address, folder, environment, older)
        for loss in ("tab closed", "browser stopped", "console killed"):
            yield _loss(playwright, folder, environment, loss)
        with console(folder, environment) as (server, address):
            yield from _stalled(browser, server, address, folder, environment)
        browser.close()


def _older(path: Path, environment: dict[str, str]) -> Path:
    command = [sys.executable, "-c", _OLDER, "sim", "free-flyer", "--duration", "3600", "--out", str(path), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return path


def _opened(browser: Any, address: str, older: Path) -> Iterator[Result]:
    """The time to the first drawn scene and signals of a log that has to be read whole, and whether that is told."""
    page = browser.new_page()
    page.goto(address)
    until(lambda: page.evaluate("() => Boolean(window.granite)"))
    page.click("[data-tab=logs]")
    page.evaluate("() => { window.parts = new Set(); }")
    page.evaluate("() => setInterval(() => parts.add(document.getElementById('notice').textContent), 100)")
    page.evaluate("(path) => { granite.logs.show(path); }", str(older))
    took = until(lambda: page.evaluate("() => Boolean(granite.logs.frames?.length && granite.logs.signals?.t.length)"))
    told = page.evaluate("() => [...parts].filter((text) => text.includes(' %')).length")
    note = f"progress told {told} times"
    yield Result("console, older log of an hour drawn", "s", took, None, note, "at most 10 s", took <= 10 and told > 0)
    page.close()


def _started(browser: Any, address: str) -> Any:
    """A page in control of a run that moves."""
    page = browser.new_page()
    page.goto(address)
    until(lambda: page.evaluate(_READY))
    page.click("#control")
    for do in ("arm", "start"):
        until(lambda do=do: is_done(page, do))  # type: ignore[misc]
    return page


def _stops(browser: Any, address: str, folder: Path, environment: dict[str, str], older: Path) -> Iterator[Result]:
    took = []
    for _ in range(_STOPS):
        with live_run(folder / "stop.mcap", environment, 600, operator=True) as process:
            process_of_run(folder)
            page = _started(browser, address)
            os.utime(older)  # another one, as far as the console knows
            page.evaluate(_BUSY, str(older))
            page.keyboard.press("Escape")
            until(lambda page=page: page.evaluate("() => Boolean(window.stopped)"))  # type: ignore[misc]
            answer = page.evaluate("() => window.stopped")
            if not answer["ok"]:
                raise RuntimeError(f"an emergency stop was {answer['text']}")
            took.append(answer["took"])
            process.wait()
            page.close()
        ended = read_log(folder / "stop.mcap").summary
        if not ended or ended["ended"] != "emergency_stop":
            raise RuntimeError(f"an emergency stop ended a run by {ended}")
    median, longest = float(np.median(took)), max(took)
    what = f"console, emergency stop confirmed, median of {_STOPS} runs"
    yield Result(what, "ms", median, longest, "longest", "at most 100 ms", median <= 100)


def _loss(playwright: Any, folder: Path, environment: dict[str, str], loss: str) -> Result:
    """The longest time from the loss to the row in which the run holds, while a client with another key polls."""
    times = []
    for _ in range(_LOSSES):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        before = set(_browsers()) if loss == "browser stopped" else set()
        log = folder / "loss.mcap"
        with (
            console(folder, environment) as (server, address),
            live_run(log, environment, 600, operator=True, silence_s=_SILENCE_S) as process,
        ):
            process_of_run(folder)
            page = _started(browser, address)
            with Operator(_address_of(folder), "operator") as other:
                began = time.time_ns()
                stopped = [pid for pid in _browsers() if pid not in before or loss == "browser stopped"]
                if loss == "tab closed":
                    page.close()
                elif loss == "browser stopped":
                    for pid in stopped:
                        os.kill(pid, signal.SIGSTOP)
                else:
                    server.kill()
                until(lambda other=other: other.ask("status")["mode"] == "holding", 30)  # type: ignore[misc]
                if loss == "browser stopped":
                    for pid in stopped:
                        os.kill(pid, signal.SIGCONT)
                other.ask("emergency_stop")
            process.wait()
        browser.close()
        read = read_log(log)
        [held] = [event for event in read.events if event["name"] == "holding"][:1]
        if "operator" not in held["text"]:
            raise RuntimeError(f"the run held by {held['text']}")
        times.append((int(read.info["start_ns"]) - began) * 1e-9 + held["t_s"])
    limit = _SILENCE_S + 0.5
    what = f"console, {loss}: holding by operator_lost, longest of {_LOSSES}"
    return Result(what, "s", max(times), None, "", f"at most {limit} s", max(times) <= limit)


def _browsers() -> list[int]:
    """Processes of Chromium that this process started."""
    found, waiting = [], [os.getpid()]
    while waiting:
        pid = waiting.pop()
        children = Path(f"/proc/{pid}/task/{pid}/children")
        waiting += [int(child) for child in children.read_text().split()] if children.exists() else []
        if b"chromium" in Path(f"/proc/{pid}/cmdline").read_bytes():
            found.append(pid)
    return found


def _address_of(folder: Path) -> str:
    import json

    [file] = (folder / "granite").glob("[0-9]*.json")
    return str(json.loads(file.read_text())["operator_address"])


def _stalled(
    browser: Any, server: subprocess.Popen[str], address: str, folder: Path, environment: dict[str, str]
) -> Iterator[Result]:
    """Clients that never read, beside a page that does: silent pages, pages that say that they draw, and requests."""
    with live_run(folder / "stalled.mcap", environment, _STALLED_S + _ALONE_S + 120, operator=True):
        pid = process_of_run(folder)
        page = _started(browser, address)
        page.evaluate("(names) => granite.live.choose(names)", SIGNALS)
        alone = _delays(page, _ALONE_S)
        memory = _memory(server.pid)
        host, cookie = session(address)
        clients = [_never_reading(host, cookie, f"/socket?run={pid}", _UPGRADE) for _ in range(2 * _STALLED)]
        clients += [_never_reading(host, cookie, "/page/style.css", "") for _ in range(_STALLED)]
        page.evaluate(_NO_DELAYS)
        request = _REQUEST.format(path="/page/style.css", host=host, cookie=cookie, more="").encode()
        grown, end = 0.0, time.monotonic() + _STALLED_S
        while time.monotonic() < end:
            for client in clients[:_STALLED]:
                _send_unread(client, _DRAWN)
            for client in clients[2 * _STALLED :]:
                _send_unread(client, request)
            time.sleep(1 / 30)
            grown = max(grown, (_memory(server.pid) - memory) / 1e6)
        times = _delays(page)
        for client in clients:
            client.close()
        page.close()
    beside = f"{len(clients)} clients that never read for {_STALLED_S:g} s"
    yield Result(f"console beside {beside}: memory", "MB", grown, None, "more", "below 20 MB", grown < 20)
    for time_ms, before, what, limit in zip(times, alone, ("median", "99 %"), (35, 80), strict=True):
        name = f"console beside {beside}: tick to frame, {what}"
        yield Result(name, "ms", time_ms, before, "before", f"at most {limit} ms", time_ms <= limit)


def _delays(page: Any, seconds: float = 0.0) -> list[float]:
    """Median and 99 % of the times from a tick to the drawn frame [ms], in these seconds or since they were cleared."""
    if seconds:
        page.evaluate(_NO_DELAYS)
        time.sleep(seconds)
    shares: list[float] = np.percentile(page.evaluate("() => granite.live.delays"), [50, 99]).tolist()
    return shares


def _never_reading(host: str, cookie: str, path: str, more: str) -> socket.socket:
    """A client with the smallest buffer that the system gives, after its first request."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    name, _, port = host.partition(":")
    client.connect((name, int(port)))
    client.sendall(_REQUEST.format(path=path, host=host, cookie=cookie, more=more).encode())
    client.setblocking(False)
    return client


def _send_unread(client: socket.socket, message: bytes) -> None:
    """As far as it goes: the console may have ended the connection, or wait until its answers are read."""
    with contextlib.suppress(OSError):
        client.send(message)


def _memory(pid: int) -> int:
    """Resident [bytes]."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
