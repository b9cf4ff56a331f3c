import dataclasses
import json
import os
import stat

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

from config.errors import InputError
from config.loader import from_json, load, to_json
from rt import plot
from rt.log import Log
from rt.plot import DPI, SIZE_IN, plot_log
from rt.session import simulate_in_memory

PIXELS = (round(SIZE_IN[1] * DPI), round(SIZE_IN[0] * DPI))


def fixed_arm():
    """The arm of the free-flyer, on the ground: no base to track, no vision, no thrusters."""
    content = json.loads(to_json(load("free-flyer", ["loop.duration_s=0.3"])))
    content["modules"][0]["base"] = "fixed"
    content["devices"] |= {"thrusters": None, "vision": None}
    content["controller"]["allocation"] = None
    content["behaviour"]["waypoints"][0]["target"] = {"shoulder_rad": 1.2}
    content["safety"]["table_m"] = None
    content["simulation"]["initial"] = {}
    content["title"] = "An arm for $5 or $6_{each}"
    return from_json(json.dumps(content))


@pytest.fixture(scope="module")
def flown() -> Log:
    return simulate_in_memory(load("free-flyer", ["loop.duration_s=1"]))


def with_rows(log: Log, rows, **changes) -> Log:
    return dataclasses.replace(log, rows=rows, **changes)


def drawn(log: Log) -> Figure:
    """The page, drawn to the last pixel."""
    with matplotlib.style.context(["default", plot._STYLE]):
        figure = plot._figure(log)
        figure.canvas.draw()
    return figure


def texts(figure: Figure) -> list[str]:
    """All that can be read on the page."""
    return [text.get_text() for text in figure.findobj(Text)]


@pytest.mark.parametrize("bed", ["free-flyer/ideal", "two-arm-free-flyer"])
def test_a_short_run_becomes_a_picture(bed, tmp_path):
    before = dict(matplotlib.rcParams)
    plot_log(simulate_in_memory(load(bed, ["loop.duration_s=0.3"])), tmp_path / "run.png")
    picture = imread(tmp_path / "run.png")
    assert picture.shape[:2] == PIXELS
    assert picture[..., :3].std() > 0.02
    assert dict(matplotlib.rcParams) == before


def test_the_page_says_what_was_run(flown):
    seen = texts(drawn(flown))
    assert flown.bed.title in seen
    assert "Tracking error: truth − reference" in seen
    units = (
        "x [m]",
        "position [mm]",
        "heading [mrad]",
        "joints [mrad]",
        "torque [N m]",
        "time [µs]",
        "time [s]",
    )
    assert set(units) <= set(seen)
    facts = next(text for text in seen if "seed" in text)
    for fact in ("free-flyer", "virtual time", "seed 1", "1 s, 200 ticks of 5 ms"):
        assert fact in facts


def test_a_fixed_arm_is_drawn_without_the_panels_it_has_nothing_for():
    figure = drawn(simulate_in_memory(fixed_arm()))
    assert "An arm for $5 or $6_{each}" in texts(figure)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert [label for label in labels if label] == ["y [m]", "joints [mrad]", "torque [N m]"]
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text():
            box = text.get_window_extent()
            assert box.x0 >= 0, text
            assert box.y0 >= 0, text
            assert box.x1 <= PIXELS[1], text
            assert box.y1 <= PIXELS[0], text


def test_a_cut_log_without_truth_shows_the_estimate(flown):
    rows = flown.rows[:100].copy()
    rows[:, flown.channels.place("/truth", "q")] = np.nan
    seen = texts(drawn(with_rows(flown, rows, complete=False, summary=None)))
    assert "Tracking error: estimate − reference" in seen
    assert "the log is cut: the run went on" in seen


@pytest.mark.parametrize("row", [0, 150], ids=["before the sensors reported", "in flight"])
def test_a_single_tick_is_drawn(row, flown):
    assert drawn(with_rows(flown, flown.rows[row : row + 1]))


def test_numbers_gone_wild_do_not_spoil_the_page(flown):
    rows = flown.rows.copy()
    wild = np.arange(rows.shape[1]) != flown.channels.place("/timing", "scheduled")
    rows[50:80, wild], rows[80:100, wild], rows[100:, wild] = np.inf, -1e300, np.nan
    assert drawn(with_rows(flown, rows))
    rows[:, wild] = np.nan
    assert "where the robot was is not known" in texts(drawn(with_rows(flown, rows)))


def test_a_long_run_keeps_its_peaks(flown):
    rows = np.tile(flown.rows, (100, 1))
    rows[:, flown.channels.place("/timing", "scheduled")] = np.arange(len(rows)) * flown.bed.loop.period_s
    rows[12345, flown.channels.column("/applied", "shoulder_torque_n_m")] = 0.19
    panel = next(axes for axes in drawn(with_rows(flown, rows)).axes if axes.get_ylabel() == "torque [N m]")
    lines = [np.asarray(line.get_ydata()) for line in panel.lines]
    assert max(len(line) for line in lines) < len(rows)
    assert max(line.max() for line in lines) == 0.19


def test_the_stop_of_the_guard_is_named_and_lined_through():
    log = simulate_in_memory(load("free-flyer", ["loop.duration_s=2", "safety.tracking_error_m=0.001"]))
    assert log.summary is not None
    assert log.summary["ended"] == "tracking_error"
    figure = drawn(log)
    assert "tracking error" in texts(figure)
    panel = next(axes for axes in figure.axes if axes.get_ylabel() == "position [mm]")
    at = [line.get_xdata()[0] for line in panel.lines if line.get_color() == plot._STOP]
    assert at == [log.summary["ended_at_s"]]


def test_events_are_named_once_however_often_they_happen(flown):
    def event(t, level, name):
        return {"t_s": t, "tick": 0, "level": level, "name": name, "text": ""}

    events = (
        *(event(0.3 + 0.02 * i, "warning", "torque_clamped") for i in range(30)),
        event(0.31, "warning", "overrun"),
        event(0.95, "error", "operator_stop"),
    )
    seen = texts(drawn(with_rows(flown, flown.rows, events=events)))
    assert seen.count("torque clamped (30 times)") == 1
    assert seen.count("overrun") == 1
    assert seen.count("operator stop") == 1


@pytest.fixture
def blank(monkeypatch):
    """An empty page, for what matters to the file only."""
    monkeypatch.setattr(plot, "_figure", lambda log: Figure(figsize=SIZE_IN))


@pytest.mark.usefixtures("blank")
def test_an_existing_picture_is_replaced_only_when_told_to(flown, tmp_path):
    path = tmp_path / "run.png"
    path.write_text("precious")
    with pytest.raises(InputError, match=r"run\.png' exists: expected a new name"):
        plot_log(flown, path)
    assert path.read_text() == "precious"
    plot_log(flown, path, overwrite=True)
    assert imread(path).shape[:2] == PIXELS
    assert os.listdir(tmp_path) == ["run.png"]


@pytest.mark.usefixtures("blank")
def test_a_picture_is_readable_for_whom_the_umask_lets(flown, tmp_path):
    before = os.umask(0o022)
    try:
        plot_log(flown, tmp_path / "run.png")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run.png").stat().st_mode) == 0o644


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_half_written_is_left(fault, flown, tmp_path, monkeypatch):
    def fail(self, file, **settings):
        file.write(b"half")
        raise fault

    monkeypatch.setattr(Figure, "savefig", fail)
    path = tmp_path / "run.png"
    path.write_text("precious")
    with pytest.raises((InputError, KeyboardInterrupt)) as raised:
        plot_log(flown, path, overwrite=True)
    if isinstance(fault, OSError):
        assert str(raised.value) == f"plot '{path}' can't be written: No space left on device"
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["run.png"]


@pytest.mark.usefixtures("blank")
def test_a_place_that_can_not_be_written_is_refused_in_a_sentence(flown, tmp_path):
    (tmp_path / "taken.png").mkdir()
    for path, overwrite, why in (
        (tmp_path / "nowhere" / "run.png", False, "can't be written: No such file or directory"),
        (tmp_path / "taken.png", True, "can't be written: Is a directory"),
        (tmp_path / "run.pdf", False, "expected a name that ends in .png"),
    ):
        with pytest.raises(InputError, match=why) as raised:
            plot_log(flown, path, overwrite=overwrite)
        assert "\n" not in str(raised.value)
    assert os.listdir(tmp_path) == ["taken.png"]
