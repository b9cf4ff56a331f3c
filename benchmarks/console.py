"""The console: from a tick to the drawn frame, what pages cost loop and recorder, stops, logs of 30 s and an hour.

The page is in headless Chromium on the same machine, which takes a core: a calm machine has two to spare.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from websockets.sync.client import connect

from benchmarks.console_runs import (
    CHROMIUM,
    GRANITE,
    SIGNALS,
    console,
    is_done,
    live_run,
    process_of_run,
    session,
    until,
)
from benchmarks.result import Result
from granite.logs.log import read_log
from granite.rt.process.other_cores import core_of

_WATCHED_S, _ROUNDS, _ROUND_S, _STOPS = 60.0, 3, 15.0, 50
#: in the page: a log from nothing, a scene, a zoom and a hold with the time that each takes [ms]
_OPEN = "(path) => { Object.assign(granite.logs, { frames: null, signals: null }); granite.logs.show(path); }"
_SEEK = (
    "async (t) => { const begin = performance.now(); await granite.logs.seek(t); return performance.now() - begin; }"
)
_ZOOM = """async (t) => {
  const begin = performance.now();
  await granite.logs.range(t, t + 60);
  return performance.now() - begin;
}"""
_HOLD = """async (log) => {
  if (log) granite.logs.show(log);
  granite.live.operate.ask("set_gain", { gain: "elbow_stiffness", value: 110 });
  const begin = performance.now();
  await granite.live.operate.ask("hold");
  return performance.now() - begin;
}"""


def measure() -> Iterator[Result]:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        environment = {**os.environ, "XDG_RUNTIME_DIR": name, "GRANITE_KEYS": f"{name}/keys"}
        hour = _recorded(folder / "hour.mcap", 3600, environment)
        short = _recorded(folder / "short.mcap", 30, environment)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        with console(folder, environment) as (_, address):
            yield from _logs(browser, address, short, hour)
        with console(folder, environment) as (_, address):
            yield from _watched(browser, address, folder, environment, hour)
            yield from _costs(address, folder, environment)
        browser.close()


def _recorded(path: Path, seconds: float, environment: dict[str, str]) -> Path:
    command = [*GRANITE, "sim", "free-flyer", "--duration", str(seconds), "--out", str(path), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return path


def _logs(browser: Any, address: str, short: Path, hour: Path) -> Iterator[Result]:
    """Opening and scrubbing."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    page.click("[data-tab=logs]")
    until(lambda: page.locator("#list li[data-path]").count() == 2)
    time.sleep(5)  # the small pictures are drawn
    for path, name, limit in ((short, "30 s", 1.5), (hour, "an hour", 1.0)):
        page.evaluate(_OPEN, str(path))
        took = until(
            lambda: page.evaluate("() => Boolean(granite.logs.frames?.length && granite.logs.signals?.t.length)")
        )
        yield Result(f"console, log of {name} drawn", "s", took, None, "", f"at most {limit} s", took <= limit)
    times = [page.evaluate(_SEEK, t) for t in np.linspace(100, 3500, 20).tolist()]
    ms = float(np.median(times))
    yield Result("console, scene at any time of an hour", "ms", ms, None, "", "at most 400 ms", ms <= 400)
    zoom = [page.evaluate(_ZOOM, t) for t in np.linspace(100, 3400, 8).tolist()]
    ms = float(np.median(zoom))
    yield Result("console, zoom to any minute of an hour", "ms", ms, None, "", "at most 400 ms", ms <= 400)
    page.close()


def _watched(browser: Any, address: str, folder: Path, environment: dict[str, str], hour: Path) -> Iterator[Result]:
    """One page for a minute, then commands on the way of an emergency stop while an hour's log opens."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    with live_run(folder / "watched.mcap", environment, 600, operator=True):
        page.goto(address)
        until(lambda: page.evaluate("() => (window.granite?.live.drawnFrames ?? 0) > 20"))
        page.click("#control")
        for do in ("arm", "start"):
            until(lambda do=do: is_done(page, do))  # type: ignore[misc]
        page.evaluate("(names) => granite.live.choose(names)", SIGNALS)
        page.evaluate("() => { granite.live.delays = []; granite.live.drawnFrames = granite.live.receivedBytes = 0; }")
        time.sleep(_WATCHED_S)
        delays, frames, received = page.evaluate(
            "() => [granite.live.delays, granite.live.drawnFrames, granite.live.receivedBytes]"
        )
        median, p99 = np.percentile(delays, [50, 99]).tolist()
        yield Result("console, tick to drawn frame, median", "ms", median, None, "", "at most 35 ms", median <= 35)
        yield Result("console, tick to drawn frame, 99 %", "ms", p99, None, "", "at most 80 ms", p99 <= 80)
        yield Result(
            "console, frames a second", "1/s", frames / _WATCHED_S, None, "", "at least 25", frames / _WATCHED_S >= 25
        )
        rate = received / _WATCHED_S / 1e3
        yield Result("console, bytes to a page", "kB/s", rate, None, "", "at most 50 kB/s", rate <= 50)
        # A hold goes the way of an emergency stop and ends no run; refused in hold, it is answered by the loop too.
        took = [page.evaluate(_HOLD, str(hour) if i == 0 else None) for i in range(_STOPS)]
        ms = float(np.median(took))
        yield Result(f"console, hold confirmed, median of {_STOPS}", "ms", ms, None, "", "at most 100 ms", ms <= 100)
        page.keyboard.press("Escape")
        until(lambda: page.evaluate("() => granite.live.operate.lastAnswer?.what") == "emergency_stop")
        ms = page.evaluate("() => granite.live.operate.lastAnswer.took")
        yield Result("console, emergency stop confirmed", "ms", ms, None, "once", "at most 100 ms", ms <= 100)
    page.close()


def _costs(address: str, folder: Path, environment: dict[str, str]) -> Iterator[Result]:
    """The tick and the recorder without a page, with one and with ten, in turns.

    The pages only take frames, and stay off the core of the loop, as browsers of other machines do.
    """
    ticks: dict[int, list[float]] = {0: [], 1: [], 10: []}
    spent: dict[int, list[float]] = {0: [], 1: [], 10: []}
    for _ in range(_ROUNDS):
        for pages in ticks:
            log = folder / "cost.mcap"
            with live_run(log, environment, _ROUND_S, operator=False) as process:
                pid = process_of_run(folder)
                over = threading.Event()
                time.sleep(1.0)  # the loop has found its core
                cores = os.sched_getaffinity(0) - {core_of(pid) or 0} or {0}
                readers = [threading.Thread(target=_read, args=(address, pid, over, cores)) for _ in range(pages)]
                for reader in readers:
                    reader.start()
                time.sleep(3.0)
                recorder = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
                before, began = _processor_time(recorder), time.monotonic()
                time.sleep(_ROUND_S - 8.0)
                spent[pages].append(100 * (_processor_time(recorder) - before) / (time.monotonic() - began))
                process.wait()
                over.set()
                for reader in readers:
                    reader.join()
            steps = read_log(log).columns(
                list(range(*read_log(log).channels.columns("/timing", "steps").indices(10**6)))
            )  # type: ignore[union-attr]
            ticks[pages].append(1e6 * float(np.percentile(np.nansum(steps, axis=1)[600:], 99)))
    alone, one, ten = (float(np.median(ticks[pages])) for pages in (0, 1, 10))
    yield Result("tick with one page, 99 %", "us", one, alone, "without", "within 5 %", one <= 1.05 * alone)
    yield Result("tick with ten pages, 99 %", "us", ten, alone, "without", "within 5 %", ten <= 1.05 * alone)
    alone, one, ten = (float(np.median(spent[pages])) for pages in (0, 1, 10))
    yield Result("recorder with one page, of a core", "%", one, alone, "without", "at most 2 more", one <= alone + 2)
    yield Result("recorder with ten pages, of a core", "%", ten, alone, "without", "at most 2 more", ten <= alone + 2)


def _read(address: str, pid: int, over: threading.Event, cores: set[int]) -> None:
    """A page without a browser: it takes its frames until the run is over."""
    os.sched_setaffinity(0, cores)
    host, cookie = session(address)
    with (
        contextlib.suppress(Exception),
        connect(
            f"ws://{host}/socket?run={pid}", origin=f"http://{host}", additional_headers={"cookie": cookie}
        ) as page,
    ):  # type: ignore[arg-type]
        while not over.is_set():
            if isinstance(page.recv(timeout=5), bytes):
                page.send('{"kind": "drawn"}')


def _processor_time(process: int) -> float:
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) * 1e-9
