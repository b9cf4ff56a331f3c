"""Makes docs/films/console.webp and console.png: a session with the console, filmed in headless Chromium.

    python -m docs.console_film

A real run, operated by clicks: taking control, arm, start, a larger error, a gain and its undo, hold; then logs, a
tuning session and a refused key of a new run. Nothing of it is drawn by hand but the pointer.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import sync_playwright

from benchmarks.console_runs import CHROMIUM, GRANITE, console, live_run, until

FILMS = Path(__file__).parent / "films"
#: of the page, and of the film [pixels]; time between two pictures at least [s]; longest of one [s]
WINDOW, SIZE, STEP_S, LONGEST_S = (1440, 900), (1008, 630), 0.2, 0.25
#: how much the pictures are compressed, 0 to 100
QUALITY = 52
TUNING = """
[tuning]
trials = 16
objectives = [{ of = "rms_error_m" }, { of = "propellant_n_s" }]

[[tuning.parameters]]
key = "controller.law.gains.base.stiffness_1_s2"

[[tuning.parameters]]
key = "controller.law.gains.base.damping_1_s"
"""


class Film:
    """Pictures of a page, each with the time for which it is shown."""

    def __init__(self, page: Any) -> None:
        self._page, self._at = page, (WINDOW[0] / 2, WINDOW[1] / 2)
        self.pictures: list[Image.Image] = []
        self.times_s: list[float] = []

    def watch(self, seconds: float) -> None:
        """Let the page go on."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._take()

    def until(self, holds: Callable[[], bool], limit_s: float = 60.0) -> None:
        """Watch until it holds."""
        end = time.monotonic() + limit_s
        while not holds():
            if time.monotonic() > end:
                raise RuntimeError("the page took too long")
            self._take()

    def click(self, selector: str) -> None:
        """Move the pointer there and click."""
        box = self._page.locator(selector).first.bounding_box()
        self._to(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self._page.mouse.click(*self._at)
        self._take()

    def drag(self, selector: str, first: float, last: float) -> None:
        """Drag along a part of the page: from one part of its width to another."""
        box = self._page.locator(selector).first.bounding_box()
        y = box["y"] + box["height"] / 2
        self._to(box["x"] + first * box["width"], y)
        self._page.mouse.down()
        for i in range(1, 13):
            self._at = box["x"] + (first + (last - first) * i / 12) * box["width"], y
            self._page.mouse.move(*self._at)
            self._take()
        self._page.mouse.up()

    def save(self, path: Path) -> None:
        """Write it."""
        durations = [round(1000 * t) for t in self.times_s]
        first, *rest = self.pictures
        first.save(path, save_all=True, append_images=rest, duration=durations, loop=0, quality=QUALITY, method=4)

    def _to(self, x: float, y: float) -> None:
        begin = self._at
        for part in (0.5, 1.0):
            self._at = begin[0] + part * (x - begin[0]), begin[1] + part * (y - begin[1])
            self._page.mouse.move(*self._at)
            self._take()

    def _take(self) -> None:
        began = time.monotonic()
        picture = Image.open(io.BytesIO(self._page.screenshot())).convert("RGB")
        x, y = self._at
        ImageDraw.Draw(picture).polygon(
            [(x, y), (x, y + 23), (x + 6, y + 18), (x + 16, y + 17)], fill="#ffffff", outline="#000000"
        )
        self.pictures.append(picture.resize(SIZE, Image.Resampling.LANCZOS))
        time.sleep(max(0.0, began + STEP_S - time.monotonic()))
        self.times_s.append(min(time.monotonic() - began, LONGEST_S))


def operate(page: Any, film: Film) -> None:
    """Live: control, start, a closer look, a gain, hold."""
    film.watch(1.0)
    film.click("#control")
    for do, mode in (("arm", "armed"), ("start", "running")):
        film.until(lambda do=do: page.is_enabled(f"[data-do={do}]"))  # type: ignore[misc]
        while page.inner_text("#mode").lower() != mode:  # the estimate needs a moment
            film.click(f"[data-do={do}]")
            film.watch(0.6)
    film.watch(5.0)
    page.select_option("#magnify", "50")
    film.watch(1.5)
    for _ in range(2):
        film.click("[aria-label='+ base_x_stiffness']")
        film.watch(0.4)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(128).save(FILMS / "console.png", optimize=True)
    film.click("#undo")
    film.watch(1.0)
    film.click("[data-do=hold]")
    film.watch(1.8)


def look_back(page: Any, film: Film) -> None:
    """Logs, tuning, and a new run with a wrong key."""
    film.click("[data-tab=logs]")
    film.until(lambda: page.locator("#list li[data-path]").count() >= 2)
    film.watch(1.0)
    film.click("#list li:has-text('plain.mcap')")
    film.until(lambda: bool(page.evaluate("() => granite.logs.signals?.t.length")))
    film.drag("#slider", 0.01, 0.7)
    film.click("#list li:has-text('dead-thruster.mcap') .compare")
    film.until(lambda: page.locator("#log-compare table").count() == 1)
    film.watch(1.5)
    film.click("[data-tab=tune]")
    film.until(lambda: page.locator("#trials tbody tr").count() > 0)
    film.watch(1.0)
    film.click(".scatter .point.front")
    film.watch(1.2)
    film.click("[data-tab=new]")
    film.until(lambda: page.locator("#run-bed option").count() > 10)
    film.click("#run-add")
    page.type(".key", "loop.perid_s")
    page.type(".key-value", "0.01")
    film.until(lambda: page.locator(".key-row .refusal").inner_text() != "")
    film.watch(2.0)


def main() -> None:
    """Make both files."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        environment = {**os.environ, "XDG_RUNTIME_DIR": name, "GRANITE_KEYS": f"{name}/keys"}
        (folder / "tuning.toml").write_text(TUNING)
        dead = ["--set", "devices.thrusters.units.r1.failed=true"]
        tune = ["tune", "free-flyer", "--set", "loop.duration_s=8", "--tuning", f"{name}/tuning.toml"]
        for words, out in (
            (["sim", "free-flyer"], "plain.mcap"),
            (["sim", "free-flyer", *dead], "dead-thruster.mcap"),
            (tune, "base-gains"),
        ):
            command = [*GRANITE, *words, "--out", f"{name}/{out}"]
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        page = browser.new_page(viewport={"width": WINDOW[0], "height": WINDOW[1]})
        film = Film(page)
        with console(folder, environment) as (_, address):
            page.goto(address)
            with live_run(folder / "live.mcap", environment, 300, operator=True, silence_s=5.0):
                until(lambda: page.evaluate("() => (window.granite?.live.drawnFrames ?? 0) > 20"))
                page.evaluate("() => fetch('/api/testbeds')")
                operate(page, film)
                look_back(page, film)
        browser.close()
    film.save(FILMS / "console.webp")


if __name__ == "__main__":
    main()
