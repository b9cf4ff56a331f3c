"""The page beside a run: layout in both sizes and schemes, keyboard, links of boards; and what is made of a log."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import granite as api
from granite.rt.process.run_register import registered_runs
from tests.support.console_pages import mode, opened_page, take_control_and_start, until, waiting_run
from tests.support.foxglove_client import free_port
from tests.support.operator_clients import free_address

pytestmark = pytest.mark.slow

#: looks at the controls of the tab that is shown
LOOK = (Path(__file__).parents[1] / "support" / "look_at_page.js").read_text()
#: the parts of the page that a person can use now, each with a mark of its own
MARK = """() => {
  const parts = [...document.querySelectorAll("header *, #live *")].filter((e) => e.checkVisibility() && !e.disabled);
  const used = parts.filter((e) => e.matches("button, select, input, summary, a, canvas[tabindex]"));
  used.forEach((e, i) => { e.dataset.mark = i; });
  return used.map((e, i) => [String(i), e.id || e.getAttribute("aria-label") || e.textContent.trim()]);
}"""
MARKED = "() => document.activeElement.dataset.mark ?? ''"


@contextmanager
def rehearsed(log: Path) -> Iterator[None]:
    """A rehearsal with emulated boards, which waits for an operator."""
    changes = {"operator.address": free_address(), "safety.burst_overruns": 100_000, "loop.watchdog_s": 5.0}
    command = [sys.executable, "-m", "granite.cli", "rehearse", "free-flyer", "--patient", "--yes", "--operator"]
    command += ["--live", "--live-port", str(free_port()), "--out", str(log), "--duration", "60"]
    command += [f"--set={key}={json.dumps(value)}" for key, value in changes.items()]
    with subprocess.Popen(command, env=os.environ.copy(), stdout=subprocess.DEVNULL) as process:
        until(lambda: registered_runs() or process.poll() is not None)
        try:
            yield
        finally:
            process.terminate()


@pytest.mark.parametrize("size", [(1440, 900), (820, 1180)])
def test_beside_a_run_nothing_is_cut_and_all_is_reached_by_keyboard(browser, served, tmp_path, size):
    with waiting_run(tmp_path / "run.mcap", behaviour={"kind": "on_demand"}) as (running, _):
        pages = [
            opened_page(browser, served, size, color_scheme=scheme, has_touch=size[0] < 1000)
            for scheme in ("dark", "light")
        ]
        for page in pages:
            page.bring_to_front()
            until(lambda page=page: page.evaluate("() => (window.granite?.live.drawnFrames ?? 0) > 5"))
            until(lambda page=page: page.locator("#gains input").count() > 4 and page.is_enabled("#control"))
            until(lambda page=page: page.locator("#health table").count() > 0)
        pages[0].click("#control")
        until(lambda: "release" in pages[0].inner_text("#control"))
        until(lambda: pages[0].is_visible("#goals-card"))
        for page in pages:
            page.bring_to_front()
            layout = page.evaluate(LOOK)
            assert (layout["cut"], layout["overlapping"], layout["pale"]) == ([], [], [])
            if size[0] < 1000:
                assert layout["small"] == []
        # Every part that can be used now gets the focus, and the next one by Tab.
        page = pages[0]
        page.bring_to_front()
        page.evaluate("() => document.activeElement.blur()")
        parts = dict(page.evaluate(MARK))
        reached = set()
        for _ in range(3 * len(parts)):
            page.keyboard.press("Tab")
            reached.add(page.evaluate(MARKED))
        assert {name for mark, name in parts.items() if mark not in reached} == set()
        # The table moves by keys.
        page.focus("#views canvas")
        before = page.evaluate("() => ({ ...granite.live.views[0].view })")
        for key in ("ArrowLeft", "ArrowUp", "+"):
            page.keyboard.press(key)
        after = page.evaluate("() => ({ ...granite.live.views[0].view })")
        assert (after["x"] < before["x"], after["y"] > before["y"]) == (True, True)
        assert after["zoom"] == pytest.approx(1.25 * before["zoom"])
        # On another tab a key starts nothing, and stops what there is.
        page.click("[data-tab=logs]")
        page.evaluate("() => document.activeElement.blur()")
        page.keyboard.press("a")
        page.wait_for_timeout(500)
        assert page.inner_text("#mode").lower() == "disarmed"
        page.keyboard.press("Escape")
        until(lambda: page.inner_text("#mode").lower() == "over")
        running.join(30)
        assert [page.problems for page in pages] == [[], []]


def test_the_links_of_boards_are_shown_with_status_and_rate(browser, served, tmp_path):
    with rehearsed(tmp_path / "run.mcap"):
        page = opened_page(browser, served)
        until(lambda: "board rehearsal-1" in page.inner_text("#health"), 120)
        row = page.locator("#health tr", has_text="board rehearsal-1")
        until(lambda: int(row.locator("td").nth(3).inner_text()) > 20)
        assert row.locator("td").nth(1).inner_text() == "ok"
        assert "pose stream" in page.inner_text("#health")
        assert page.problems == []


def test_plot_film_export_and_replay_check_are_made_by_clicks(browser, served, tmp_path):
    api.simulate(api.load("free-flyer", {"loop.duration_s": 1.0}), tmp_path / "run.mcap")
    page = opened_page(browser, served)
    page.click("[data-tab=logs]")
    page.locator("#list li", has_text="run.mcap").click()
    until(lambda: page.evaluate("() => granite.logs.frames?.length") == 1)
    page.click("#make-plot")
    until(lambda: page.evaluate("() => document.querySelector('#log-result img')?.naturalWidth > 400"), 120)
    page.click("#make-movie")
    until(lambda: page.evaluate("() => document.querySelector('#log-result video')?.readyState > 0"), 240)
    assert page.evaluate("() => document.querySelector('#log-result video').duration") == pytest.approx(1.0, abs=0.2)
    page.click("#make-export")
    link = page.locator("#log-result a", has_text="run.csv")
    until(lambda: link.count() == 1, 120)
    with page.expect_download() as download:
        link.click()
    with open(download.value.path(), newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 201
    page.click("#make-replay")
    until(
        lambda: (
            page.inner_text("#log-result").startswith("replay: ") and "running" not in page.inner_text("#log-result")
        ),
        120,
    )
    assert "identical" in page.inner_text("#log-result")
    assert page.problems == []


PILLAR = {"name": "pillar", "disc": {"position_m": [1.9, 0.9], "radius_m": 0.1}}
SHOWN = "() => granite.live.goals.shown"
PLAN = "() => granite.live.views[0].plan"


def test_a_path_around_a_zone_is_planned_drawn_and_flown_by_clicks(browser, served, tmp_path):
    changes = {"behaviour": {"kind": "on_demand"}, "safety.keep_out": [PILLAR], "operator.silence_s": 60.0}
    with waiting_run(tmp_path / "run.mcap", **changes) as (running, _):
        page = opened_page(browser, served)
        take_control_and_start(page)
        until(lambda: page.is_visible("#goals-card") and page.is_enabled("#goal-place"))
        answer = lambda: page.inner_text("#goal-answer")  # noqa: E731
        # Behind the pillar: go leads through it, and says so before it is sent; a plan leads around it.
        page.click("#goal-place")
        box, at = (
            page.locator("#views canvas").bounding_box(),
            page.evaluate("() => granite.live.views[0].toPage([2.6, 1.2])"),
        )
        page.mouse.click(box["x"] + at[0], box["y"] + at[1])
        until(lambda: answer().startswith("refused:") and "pillar" in answer())
        assert (page.is_disabled("#goal-go"), page.is_enabled("#goal-plan")) == (True, True)
        page.click("#goal-plan")
        until(lambda: "being planned" not in answer(), 300)
        assert answer().startswith("planned: "), answer()
        path = np.array(page.evaluate(SHOWN)["path"])
        assert len(path) > 20
        assert np.hypot(*(path - PILLAR["disc"]["position_m"]).T).min() > PILLAR["disc"]["radius_m"]
        assert path[-1] == pytest.approx([2.6, 1.2], abs=0.02)
        assert page.evaluate(PLAN) == []
        # While it is flown every page draws it, until something else is done.
        page.click("#goal-go")
        until(lambda: page.inner_text("#answer").startswith("follow: done"))
        until(lambda: np.shape(page.evaluate(PLAN)) == path.shape)
        assert np.array(page.evaluate(PLAN)) == pytest.approx(path)
        other = opened_page(browser, served)
        until(
            lambda: (
                other.evaluate("() => window.granite?.live.views.length")
                and np.shape(other.evaluate(PLAN)) == path.shape
            )
        )
        other.close()
        # Plans begin at rest, and end outside of zones: the sentences of the channel.
        page.bring_to_front()
        x, y = (page.locator(f"[data-key=base_{axis}_m]") for axis in "xy")
        x.fill("2.0")
        y.fill("1.4")
        page.keyboard.press("Tab")
        until(lambda: page.is_enabled("#goal-plan"))
        page.click("#goal-plan")
        until(lambda: "the robot moves, expected a robot at rest" in answer())
        assert page.is_disabled("#goal-go")
        page.click("[data-do=hold]")
        until(lambda: mode(page) == "holding" and page.evaluate(PLAN) == [])
        page.click("#emergency")
        running.join(30)
        assert page.problems == []
    log = api.read_log(tmp_path / "run.mcap")
    followed = np.column_stack([log["/reference"].base_x_m, log["/reference"].base_y_m])
    assert np.hypot(*(followed - PILLAR["disc"]["position_m"]).T).min() > PILLAR["disc"]["radius_m"]
    assert api.replay(log).first is None
