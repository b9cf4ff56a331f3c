"""Runs in real time that pages of a console watch and operate, and a browser that shows them."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import granite as api
from granite.rt.operator.client import Operator
from granite.rt.process.run_register import registered_runs
from granite.rt.run import Run
from tests.support.console_server import ServedConsole
from tests.support.foxglove_client import free_port
from tests.support.operator_clients import free_address
from tests.support.unhurried import LIMITS

#: ten signs of life of a page, which a busy machine delays
SILENCE_S = 5.0
#: of a run, which a test ends before: as long as a plan is made for
DURATION_S = 300.0
#: nothing of it asks another host
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--ignore-certificate-errors",
]  # fmt: skip


class Running(threading.Thread):
    """A run in real time that can be watched and operated."""

    def __init__(self, log: Path, **changes: Any) -> None:
        super().__init__(daemon=True)
        operator = {"operator.address": free_address(), "operator.silence_s": SILENCE_S}
        # Beside a browser on a busy machine many ticks are late: arming would be refused.
        patient = {"safety.burst_overruns": 200}
        self.bed = api.load("free-flyer", {"loop.duration_s": DURATION_S, **operator, **LIMITS, **patient, **changes})
        self.log, self.summary = log, {}

    def run(self) -> None:
        options = {"realtime": True, "live": free_port(), "operator": True}
        self.summary = dict(Run(self.bed).record(self.log, **options))


@contextmanager
def waiting_run(log: Path, **changes: Any) -> Iterator[tuple[Running, int]]:
    """A run that waits for an operator, and its process; ended by a signal to its thread's operator where it lives."""
    running = Running(log, **changes)
    running.start()
    until = time.monotonic() + 60
    while not (runs := registered_runs()):
        assert time.monotonic() < until
        assert running.is_alive()
        time.sleep(0.05)
    try:
        yield running, runs[0].pid
    finally:
        if running.is_alive():
            with Operator(running.bed.operator.address) as operator:
                operator.ask("emergency_stop")
            running.join(30)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, by Playwright; the test is skipped where there is none."""
    path = next(
        (program for name in ("chromium", "chromium-browser", "google-chrome") if (program := shutil.which(name))), None
    )
    if path is None:
        pytest.skip("no Chromium on this machine: apt install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as made:
        browser = made.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def opened_page(browser: Any, served: ServedConsole, size: tuple[int, int] = (1440, 900), **more: Any) -> Any:
    """A page with a session; an error in a script of it fails the test, and so does a request to another host."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **more)
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.problems.append(request.url) if _is_foreign(request.url, served) else None)
    page.goto(f"http://{served.host}/#token={served.console.tokens.operating}")
    return page


def _is_foreign(url: str, served: ServedConsole) -> bool:
    return not url.startswith((f"http://{served.host}/", f"ws://{served.host}/", "data:", "blob:"))


def mode(page: Any) -> str:
    return str(page.inner_text("#mode").lower())


def take_control_and_start(page: Any) -> None:
    until(lambda: page.is_enabled("#control"))
    page.click("#control")
    until(lambda: "release" in page.inner_text("#control"))
    until(lambda: page.is_enabled("[data-do=arm]"))
    for do, wanted in (("arm", "armed"), ("start", "running")):  # the estimate needs a moment
        until(
            lambda do=do, wanted=wanted: (
                page.is_enabled(f"[data-do={do}]") and asked_by_click(page, do) and mode(page) == wanted
            )
        )


def asked_by_click(page: Any, do: str) -> bool:
    page.click(f"[data-do={do}]")
    until(lambda: "asked" not in page.inner_text("#answer"))
    time.sleep(0.6)  # the next status
    return True


def wait_in_run(page: Any, seconds: float) -> None:
    """Until the run has gone on for so long by its own clock, as the page shows it."""
    end = page.evaluate("() => granite.live.status.t_s") + seconds
    until(lambda: page.evaluate("() => granite.live.status.t_s") >= end)


def until(holds: Any, limit_s: float = 120.0) -> None:
    """Wait; a page that forbids eval can't be waited for by Playwright's own strings."""
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
