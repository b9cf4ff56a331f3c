"""The page in a browser, clicked as a person clicks: live, operation, logs, new runs, tuning."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import granite as api
from granite.config.tuning import TuningTable
from granite.tuning.driver import drive
from granite.tuning.session import Session
from granite.tuning.workers import workers
from tests.support.console_pages import (
    asked_by_click,
    mode,
    opened_page,
    take_control_and_start,
    until,
    wait_in_run,
    waiting_run,
)

pytestmark = pytest.mark.slow

#: looks at the controls of the tab that is shown
LOOK = (Path(__file__).parents[1] / "support" / "look_at_page.js").read_text()

TABLE = TuningTable.model_validate(
    {
        "trials": 6,
        "parameters": [
            {"key": "controller.law.gains.base.stiffness_1_s2"},
            {"key": "controller.law.gains.base.damping_1_s"},
        ],
        "objectives": [{"of": "rms_error_m"}, {"of": "propellant_n_s"}],
    }
)


def test_a_run_is_watched_and_operated_by_clicks(browser, served, tmp_path):
    with waiting_run(tmp_path / "run.mcap") as (running, _):
        page = opened_page(browser, served)
        until(lambda: mode(page) == "disarmed")
        # What the mode does not allow is off, and nobody is in control.
        for do in ("arm", "start", "restart", "hold", "float", "reset"):
            assert page.is_disabled(f"[data-do={do}]"), do
        until(lambda: page.is_enabled("#control"))
        page.click("#control")
        until(lambda: page.is_enabled("[data-do=arm]"))
        assert page.is_disabled("[data-do=start]")
        take_control = page.evaluate("() => granite.live.operate.ask('start')")
        assert take_control["text"].startswith("refused: the run is disarmed")
        assert "refused: the run is disarmed" in page.inner_text("#answer")
        for do, wanted in (("arm", "armed"), ("start", "running"), ("hold", "holding"), ("float", "floating")):
            until(
                lambda do=do, wanted=wanted: (
                    page.is_enabled(f"[data-do={do}]") and asked_by_click(page, do) and mode(page) == wanted
                )
            )
            assert "confirmed in" in page.inner_text("#answer")
        until(
            lambda: (
                page.is_enabled("[data-do=restart]") and asked_by_click(page, "restart") and mode(page) == "running"
            ),
            90,
        )
        # The view moves as the robot does, and the signals arrive.
        frame = "() => { const [f] = granite.live.views[0].frames; return [...f.points.slice(0, 2), f.at_ms]; }"
        before = page.evaluate(frame)
        until(lambda: np.hypot(*np.subtract(page.evaluate(frame), before)[:2]) > 0.01)
        x, shown = page.evaluate(
            "() => [granite.live.values['truth.base_x_m'].at(-1), granite.live.views[0].frames[0].points[0]]"
        )
        assert x == pytest.approx(shown, abs=1e-6)
        until(lambda: page.evaluate("() => granite.live.views[0].plan.length") > 10)
        # A gain: one step, another by the field, both undone to the bit.
        value = "() => granite.live.gains.gains.find(({ name }) => name === 'elbow_stiffness').value"
        first = page.evaluate(value)
        page.click("[aria-label='+ elbow_stiffness']")
        until(lambda: page.evaluate(value) == first * 1.05)
        page.fill("[aria-label='elbow_stiffness value']", "1e9")
        page.keyboard.press("Tab")
        until(lambda: page.evaluate(value) == 2 * (first * 1.05))  # at most to the double
        page.click("#ab")
        until(lambda: page.evaluate(value) == first)
        page.click("#ab")
        until(lambda: page.evaluate(value) == 2 * (first * 1.05))
        for expected in (first * 1.05, first):
            page.click("#undo")
            until(lambda expected=expected: page.evaluate(value) == expected)
        # Another page sees it, asks, and takes over; it may stop without control.
        other = opened_page(browser, served)
        until(lambda: mode(other) == "running" and other.inner_text("#control") == "ask for control")
        assert other.is_enabled("[data-do=hold]")
        assert other.is_disabled("[data-do=float]")
        other.click("#control")
        until(lambda: page.inner_text("#control") == "pass control on")
        other.click("#control")
        until(lambda: "release" in other.inner_text("#control") and page.inner_text("#control") == "ask for control")
        # Pause and zoom: the plots stand still while the run goes on.
        page.click("#pause")
        shown = page.evaluate("() => granite.live.plots.groups[0].plot.scales.x.max")
        time.sleep(1)
        assert page.evaluate("() => granite.live.plots.groups[0].plot.scales.x.max") == shown
        box = page.locator("#plots .u-over").first.bounding_box()
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 20, steps=5)
        page.mouse.up()
        until(lambda: page.evaluate("() => granite.live.plots.groups[0].plot.scales.x.max") < shown)
        page.fill("#filter", "armed")
        assert all("armed" in text.lower() for text in page.locator("#events li:visible").all_inner_texts())
        page.keyboard.press("Escape")
        until(lambda: mode(other) == "over")
        running.join(30)
        until(lambda: page.is_visible("#notice button"))
        page.click("#notice button")
        until(lambda: page.inner_text("#log-name").lower() == "run.mcap")
        assert page.problems == other.problems == []
    log = api.read_log(tmp_path / "run.mcap")
    gains = log["/operation"].elbow_stiffness_gain  # ramped
    assert gains.max() > 1.05 * first
    assert gains[-1] == first
    assert running.summary["ended"] == "emergency_stop"
    assert api.replay(log).first is None


def test_a_goal_is_dragged_judged_sent_and_jogged(browser, served, tmp_path):
    with waiting_run(tmp_path / "run.mcap", behaviour={"kind": "on_demand"}) as (running, _):
        page = opened_page(browser, served)
        take_control_and_start(page)
        until(lambda: page.is_visible("#goals-card") and page.is_enabled("#goal-place"))
        page.evaluate("() => { document.getElementById('goals-card').open = false; }")  # as on a tablet
        page.click("#goal-place")
        box = page.locator("#views canvas").bounding_box()
        at = page.evaluate("() => granite.live.views[0].toPage([1.6, 1.2])")
        page.mouse.move(box["x"] + at[0], box["y"] + at[1])
        page.mouse.down()
        page.mouse.move(box["x"] + at[0] + 12, box["y"] + at[1], steps=4)
        page.mouse.up()
        until(lambda: "possible in" in page.inner_text("#goal-answer"))
        assert float(page.input_value("[data-key=base_x_m]")) > 1.6
        # Beyond the table: refused before it is sent, and never sent.
        page.fill("[data-key=base_x_m]", "9")
        page.keyboard.press("Tab")
        until(lambda: page.inner_text("#goal-answer").startswith("refused:"))
        assert page.is_disabled("#goal-go")
        refused = page.evaluate("() => granite.live.operate.ask('go', { target: { base_x_m: 9 } })")
        assert not refused["ok"]
        assert refused["text"].partition(" by ")[0] == page.inner_text("#goal-answer").partition(" by ")[0]
        page.fill("[data-key=base_x_m]", "1.1")
        page.keyboard.press("Tab")
        until(lambda: page.is_enabled("#goal-go"))
        page.click("#goal-go")
        until(lambda: page.inner_text("#answer").startswith("go: done"))
        # A jog moves as long as the stick is held, and no longer.
        pad = page.locator("#jog-pad").bounding_box()
        page.mouse.move(pad["x"] + 56, pad["y"] + 56)
        page.mouse.down()
        page.mouse.move(pad["x"] + 110, pad["y"] + 56, steps=3)
        until(lambda: page.inner_text("#answer").startswith("jog: done"))
        wait_in_run(page, 1.5)
        page.mouse.up()
        wait_in_run(page, 4.0)
        page.click("#emergency")
        running.join(30)
        assert page.problems == []
    log = api.read_log(tmp_path / "run.mcap")
    speed = log["/reference"].base_x_m_s
    assert speed.max() > 0.02
    assert not speed[-200:-1].any()  # the last row is that of the stop
    assert api.replay(log).first is None


#: jogs of a page without a run are noted in place of being sent; a gamepad of the test's own
HAND = """() => {
  const { jog } = granite.live.goals, coordinates = ["base_x", "base_y", "base_heading"].map((name) => ({ name }));
  granite.live.goals.look = () => {};
  const buttons = Array.from({ length: 16 }, () => ({ pressed: false }));
  Object.assign(window, { sent: [], pad: { connected: true, axes: [1, 0.5, 0, 0], buttons } });
  Object.assign(jog, { send: (rates) => sent.push(rates) });
  navigator.getGamepads = () => [pad];
  jog.show(coordinates);
  jog.enable(true);
}"""
HELD = "(on) => { pad.buttons[4].pressed = on; sent.length = 0; }"


def test_a_jog_lasts_as_long_as_the_dead_man_or_the_key_is_held(browser, served):
    page = opened_page(browser, served)
    until(lambda: page.evaluate("() => Boolean(window.granite)"))
    page.evaluate(HAND)
    sent = lambda: page.evaluate("() => sent")  # noqa: E731

    def still_after(release):
        """At rest by the last jog, and nothing more comes."""
        release()
        until(lambda: sent() and not any(sent()[-1].values()))
        page.evaluate("() => { sent.length = 0; }")
        page.wait_for_timeout(500)
        assert sent() == []

    page.wait_for_timeout(500)
    assert sent() == []  # the stick is away from its middle, but nobody holds the dead man
    page.evaluate(HELD, True)
    until(lambda: len(sent()) > 2)
    assert sent()[-1] == pytest.approx({"base_x": 0.04, "base_y": -0.02, "base_heading": 0.0})
    still_after(lambda: page.evaluate("() => { pad.buttons[4].pressed = false; }"))
    # Keys: without Shift the table moves, with it the robot; whatever is let go stops.
    page.keyboard.press("ArrowRight")
    page.keyboard.down("Shift")
    page.keyboard.down("ArrowUp")
    until(lambda: len(sent()) > 2)
    assert sent()[-1] == pytest.approx({"base_x": 0.0, "base_y": 0.04, "base_heading": 0.0})
    still_after(lambda: page.keyboard.up("Shift"))
    page.keyboard.up("ArrowUp")
    # A window that loses the focus lets go.
    page.keyboard.down("Shift")
    page.keyboard.down("q")
    until(lambda: len(sent()) > 2)
    assert sent()[-1]["base_heading"] == pytest.approx(0.16)
    still_after(lambda: page.evaluate("() => dispatchEvent(new Event('blur'))"))
    assert page.problems == []


def test_logs_are_listed_scrubbed_overlaid_and_annotated(browser, served, tmp_path):
    for name, seed in (("a", 1), ("b", 7)):
        api.simulate(api.load("free-flyer", {"loop.duration_s": 6.0, "seed": seed}), tmp_path / f"{name}.mcap")
    page = opened_page(browser, served)
    page.click("[data-tab=logs]")
    until(lambda: page.locator("#list li").count() == 2)
    pictures = "() => [...document.querySelectorAll('#list canvas')].map((c) => c.toDataURL().length)"
    until(lambda: min(page.evaluate(pictures)) > 500)  # an empty one has less
    page.locator("#list li", has_text="a.mcap").click()
    until(
        lambda: (
            page.inner_text("#log-name").lower() == "a.mcap" and page.evaluate("() => granite.logs.frames?.length") == 1
        )
    )
    log, other = (api.read_log(tmp_path / f"{name}.mcap") for name in "ab")
    # The slider: the scene is that of the row.
    page.evaluate("() => granite.logs.seek(4.5)")
    until(lambda: page.evaluate("() => granite.logs.frames[0].t") == 4.5)
    x, y = page.evaluate("() => [...granite.logs.frames[0].points.slice(0, 2)]")
    assert (x, y) == pytest.approx((log["/truth"].base_x_m[900], log["/truth"].base_y_m[900]), abs=1e-6)
    # Playback keeps time.
    page.select_option("#speed", "2")
    page.evaluate("() => granite.logs.seek(0)")
    began = time.monotonic()
    page.click("#play")
    time.sleep(2.0)
    page.click("#play")
    assert page.evaluate("() => granite.logs.t") == pytest.approx(2 * (time.monotonic() - began), abs=0.5)
    # Two runs: the difference is that of the rows, and the table that of granite compare.
    page.locator("#list li", has_text="b.mcap").locator(".compare").click()
    until(lambda: page.locator("#log-compare table").count() == 1)
    page.click("#log-difference")
    until(lambda: page.evaluate("() => 'truth.base_x_m (difference)' in (granite.logs.signals?.values ?? {})"))
    low, high = page.evaluate(
        "() => granite.logs.signals.values['truth.base_x_m (difference)'].map((band) => band.filter((v) => v !== null))"
    )
    difference = log["/truth"].base_x_m - other["/truth"].base_x_m
    assert min(low) == pytest.approx(difference.min(), abs=1e-6)
    assert max(high) == pytest.approx(difference.max(), abs=1e-6)
    table = page.inner_text("#log-compare")
    assert "seed" in table
    assert f"{1e3 * log.summary['tracking_error']['base_x']['max_in_last_5_s']:.3g}" in table
    # Notes and tags stay beside the log.
    page.locator("#list li", has_text="a.mcap").locator(".edit").click()
    page.fill("#notes-text", "first light")
    page.fill("#notes-tags", "good, demo")
    page.click("#notes-save")
    until(lambda: page.locator("#list .tag").all_inner_texts() == ["good", "demo"])
    page.fill("#log-search", "demo")
    assert page.locator("#list li:visible").count() == 1
    page.click("#make-replay")
    until(lambda: "identical" in page.inner_text("#log-result") or "same" in page.inner_text("#log-result"), 60)
    page.click("#make-plot")
    until(lambda: page.locator("#log-result img").count() == 1, 60)
    assert (tmp_path / "a.png").exists()
    assert page.problems == []


def test_a_new_run_is_refused_at_the_key_and_then_made(browser, served, tmp_path):
    page = opened_page(browser, served)
    page.click("[data-tab=new]")
    until(lambda: page.locator("#run-bed option").count() > 10)
    page.select_option("#run-bed", "free-flyer")
    page.click("#run-add")
    page.fill(".key", "loop.perid_s")
    page.fill(".key-value", "0.005")
    until(lambda: "did you mean 'period_s'" in page.inner_text(".key-row .refusal"))
    assert page.is_disabled("#run-start")
    assert page.get_attribute(".key-value", "aria-invalid") == "true"
    page.fill(".key", "loop.period_s")
    page.fill("#run-duration", "2")
    until(lambda: page.is_enabled("#run-start") and "2 s" in page.inner_text("#run-summary"))
    page.click("#run-start")
    until(lambda: page.inner_text("#log-name").lower() == "free-flyer-001.mcap", 60)
    assert api.read_log(tmp_path / "free-flyer-001.mcap").ticks == 400
    assert page.problems == []


def test_a_trial_is_picked_by_mouse_and_promoted_as_by_the_command(browser, served, tmp_path):
    bed = api.load("free-flyer", {"loop.duration_s": 3.0})
    session = Session.create(tmp_path / "session", bed, TABLE)
    with workers(1, None) as made:
        drive(bed, TABLE, session.study(), made, lambda known: None)
    page = opened_page(browser, served)
    page.click("[data-tab=tune]")
    until(lambda: page.locator("#trials tbody tr").count() == 6)
    page.locator(".scatter .point").first.click(force=True)
    number = page.evaluate("() => granite.tune.chosen")
    assert page.inner_text("#trial-name") == f"trial {number}"
    assert page.locator(".parallel .line.chosen").count() == 1
    page.fill("#promote-name", "page.toml")
    page.click("#promote")
    until(lambda: "written" in page.inner_text("#promote-answer"), 60)
    command = [sys.executable, "-m", "granite.cli", "tune", "promote", str(tmp_path / "session"), str(number)]
    (tmp_path / "cli").mkdir()
    subprocess.run([*command, "--out", str(tmp_path / "cli" / "page.toml")], check=True, capture_output=True)
    assert (tmp_path / "page.toml").read_bytes() == (tmp_path / "cli" / "page.toml").read_bytes()
    # Monte Carlo, and its worst run by one click.
    page.fill("#mc-bed", "free-flyer")
    page.fill("#mc-runs", "3")
    page.click("#mc-form .primary")
    until(lambda: page.locator(".metric .worst").count() > 0, 120)
    page.locator("button.worst").first.click()
    until(lambda: page.inner_text("#log-name").lower().startswith("free-flyer-seed-"), 60)
    assert page.problems == []


MOVE = "(t) => { const e = document.getElementById('slider'); e.value = t; e.dispatchEvent(new Event('input')); }"


def test_a_log_that_is_gone_and_a_console_that_is_silent_are_told(browser, served, tmp_path):
    api.simulate(api.load("free-flyer", {"loop.duration_s": 1.0}), tmp_path / "a.mcap")
    page = opened_page(browser, served)
    page.click("[data-tab=logs]")
    assert [page.is_disabled(part) for part in ("#play", "#slider", "#log-whole", "#log-choose")] == [True] * 4
    page.click("#list li")
    until(lambda: page.evaluate("() => granite.logs.frames?.length") == 1)
    assert page.is_enabled("#play")
    (tmp_path / "a.mcap").unlink()
    page.evaluate(MOVE, 0.5)
    until(lambda: "can't be read" in page.inner_text("#notice"))
    page.context.set_offline(True)
    until(lambda: "does not answer" in page.inner_text("#notice"))
    page.context.set_offline(False)
    until(lambda: page.is_hidden("#notice"))
    assert page.problems == []


#: the widest number beside an axis, of steps of 1, 2, 2.5 and 5 times a power of ten, as it is drawn [pixels]
WIDEST = """async () => {
  const { digits } = await import("/page/dom.js"), pen = document.createElement("canvas").getContext("2d");
  pen.font = "11px system-ui, sans-serif";
  let widest = 0;
  for (let k = -9; k < 5; k += 1) for (const step of [1, 2, 2.5, 5]) for (let i = -10; i <= 10; i += 1)
    widest = Math.max(widest, pen.measureText(digits(i * step * 10 ** k, 5)).width);
  return widest;
}"""


def test_the_numbers_beside_an_axis_find_room(browser, served):
    page = opened_page(browser, served)
    until(lambda: page.evaluate("() => Boolean(window.granite)"))
    size = page.evaluate("() => fetch('/page/plots.js').then((file) => file.text())").split("...axis, size: ")[2]
    assert page.evaluate(WIDEST) < int(size.partition(",")[0]) - 9  # ticks and a gap


@pytest.mark.slow
def test_dark_and_light_are_those_of_the_system_until_one_is_chosen(browser, served):
    page = opened_page(browser, served, color_scheme="dark")

    def is_shown(theme: str) -> None:
        until(lambda: page.evaluate("() => document.documentElement.dataset.theme") == theme)

    is_shown("dark")
    page.emulate_media(color_scheme="light")
    is_shown("light")
    page.keyboard.press("t")
    is_shown("dark")
    page.emulate_media(color_scheme="dark")
    page.emulate_media(color_scheme="light")
    page.reload()
    is_shown("dark")


@pytest.mark.parametrize("size", [(1440, 900), (820, 1180)])
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_nothing_is_cut_or_overlaps_and_all_is_readable(browser, served, tmp_path, size, scheme):
    api.simulate(api.load("free-flyer", {"loop.duration_s": 2.0}), tmp_path / "a.mcap")
    page = opened_page(browser, served, size, color_scheme=scheme, has_touch=size[0] < 1000)
    for tab in ("live", "logs", "tune", "new"):
        page.click(f"[data-tab={tab}]")
        if tab == "logs":
            page.click("#list li")
            until(lambda: page.evaluate("() => granite.logs.frames?.length") == 1)
        time.sleep(0.5)
        layout = page.evaluate(LOOK)
        assert layout["cut"] == [], tab
        assert layout["overlapping"] == [], tab
        assert layout["pale"] == [], tab
        if size[0] < 1000:
            assert layout["small"] == [], tab
    # Everything is reached by the keyboard.
    page.click("[data-tab=live]")
    page.evaluate("() => document.activeElement.blur()")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("() => document.activeElement.id"))
    assert {"theme", "fit", "trail", "reference", "magnify", "filter", "span", "pause", "choose"} <= reached
    assert page.problems == []
