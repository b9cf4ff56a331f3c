"""The console: from a tick to the drawn frame, what pages cost loop and recorder, stops, logs of 30 s and an hour.

The page is in headless Chromium on the same machine, which takes a core: a calm machine has two to spare.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
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
from granite.logs.channels import Channels
from granite.logs.log import read_log
from granite.rt.process.other_cores import core_of, threads_of

_WATCHED_S, _ROUNDS, _WINDOW_S, _SETTLED_S, _STOPS = 60.0, 5, 5.0, 2.5, 50
#: pages, whether a program wakes, and whether all of it is on the core of the loop
_COSTS = [(0, False, False), (1, False, False), (10, False, False), (0, True, False)]
_COSTS += [(0, False, True), (1, False, True), (10, False, True)]
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
        yield from _costs(folder, environment)
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


def _costs(folder: Path, environment: dict[str, str]) -> Iterator[Result]:
    """The tick and the recorder of one run without a page, with one and with ten, in turns.

    Pages only take frames; they, the console and the recorder are off the core of the loop, or all on it, where it
    goes first. A program that wakes a thousand times a second and does nothing else takes the place of pages, too.
    """
    log, windows = folder / "cost.mcap", []
    usable = os.sched_getaffinity(0)
    with live_run(log, environment, len(_COSTS) * _ROUNDS * (_SETTLED_S + _WINDOW_S + 2) + 10, operator=False) as run:
        pid = process_of_run(folder)
        time.sleep(2.0)
        recorder = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        core = core_of(pid) or 0
        _pin(pid, {core})
        for _ in range(_ROUNDS):
            for pages, wakes, is_on_core in _COSTS:
                cores = {core} if is_on_core else usable - {core} or {core}
                _pin(recorder, cores)
                os.sched_setaffinity(0, cores)
                with contextlib.ExitStack() as load:
                    if pages:
                        load.enter_context(_watching(folder, environment, pid, pages))
                    if wakes:
                        load.enter_context(_waking())
                    time.sleep(_SETTLED_S)
                    before, began = _processor_time(recorder), time.time()
                    time.sleep(_WINDOW_S)
                    ended = time.time()
                    spent = 100 * (_processor_time(recorder) - before) / (ended - began)
                os.sched_setaffinity(0, usable)
                windows.append((pages, wakes, is_on_core, began, ended, spent))
        run.terminate()
        run.wait()
    ticks, shares = defaultdict(list), defaultdict(list)
    read = read_log(log)
    columns = [read.channels.column("/sample", "t_s"), *_columns(read.channels, "/timing", "steps")]
    rows = read.columns(columns)
    t, steps = rows[:, 0] + 1e-9 * float(read.info["start_ns"]), np.nansum(rows[:, 1:], axis=1)
    for *of, began, ended, spent in windows:
        ticks[tuple(of)].append(1e6 * float(np.percentile(steps[(t >= began) & (t < ended)], 99)))
        shares[tuple(of)].append(spent)
    for is_on_core in (False, True):
        where = "on the core of the loop" if is_on_core else "on another core"
        alone = float(np.median(ticks[0, False, is_on_core]))
        for pages, wakes, on_core in _COSTS:
            if on_core == is_on_core and (pages or wakes):
                us = float(np.median(ticks[pages, wakes, on_core]))
                what = (
                    f"tick beside {pages} pages {where}, 99 %" if pages else "tick beside 1000 wake-ups a second, 99 %"
                )
                yield Result(what, "us", us, alone, "without", "within 5 %", us <= 1.05 * alone)
    alone, one, ten = (float(np.median(shares[pages, False, False])) for pages in (0, 1, 10))
    yield Result("recorder with one page, of a core", "%", one, alone, "without", "at most 2 more", one <= alone + 2)
    yield Result("recorder with ten pages, of a core", "%", ten, alone, "without", "at most 2 more", ten <= alone + 2)


def _columns(channels: Channels, topic: str, key: str) -> list[int]:
    return list(range(*channels.columns(topic, key).indices(10**6)))


def _pin(process: int, cores: set[int]) -> None:
    for thread in threads_of(process):
        with contextlib.suppress(OSError):  # it has ended
            os.sched_setaffinity(thread, cores)


@contextlib.contextmanager
def _watching(folder: Path, environment: dict[str, str], pid: int, pages: int) -> Iterator[None]:
    """A console with pages, on the cores of this thread."""
    over = threading.Event()
    with console(folder, environment) as (_, address):
        readers = [threading.Thread(target=_read, args=(address, pid, over)) for _ in range(pages)]
        for reader in readers:
            reader.start()
        try:
            yield
        finally:
            over.set()
            for reader in readers:
                reader.join()


@contextlib.contextmanager
def _waking() -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.001)"]) as process:
        try:
            yield
        finally:
            process.kill()


def _read(address: str, pid: int, over: threading.Event) -> None:
    """A page without a browser: it takes its frames."""
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
