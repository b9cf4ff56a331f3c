"""Films: what is in their frames, how long they are, and that nothing half-written is left behind."""

import sys
from pathlib import Path

import numpy as np
import pytest

import granite as api
from granite.logs.log import Log
from granite.views.movies.backdrop import Backdrop, Picture, build_backdrop
from granite.views.movies.frames import Frames
from granite.views.movies.instants import instants
from granite.views.movies.movie_file import film
from granite.views.plots.run import PlottedRun
from granite.views.plots.view import View, known_ticks
from tests.support.command_line import Call, left_in, sentence_of
from tests.support.command_line import granite as granite
from tests.support.quick_cases import quick

cv2 = pytest.importorskip("cv2", reason="OpenCV is missing: pip install granite-robotics[movie]")
ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="FFmpeg is missing: pip install granite-robotics[movie]")

HULL, PLUME = (143, 179, 213), (242, 140, 30)


@pytest.fixture(scope="module")
def log() -> Log:
    return api.simulate(api.load("free-flyer", {"loop.duration_s": 2.0}))


def frames_of(log: Log, fps: float = 10.0) -> tuple[Backdrop, list[Picture]]:
    run = PlottedRun(log)
    view = View(run, known_ticks(run.q))
    backdrop = build_backdrop(view)
    return backdrop, list(Frames(view, backdrop, instants(log, run, fps, 1.0)))


@pytest.fixture(scope="module")
def filmed(log: Log) -> tuple[Backdrop, list[Picture]]:
    """The frames of the run."""
    return frames_of(log)


def area(frame: Picture, colour: tuple[int, int, int]) -> np.ndarray:
    """The pixels of about that colour: rows and columns."""
    return np.argwhere((np.abs(frame.astype(int) - colour) < 6).all(axis=2))


def test_the_robot_is_drawn_where_it_was(log: Log, filmed: tuple[Backdrop, list[Picture]]):
    backdrop, frames = filmed
    assert len(frames) == 20
    for i in (0, 10, 19):
        x, y = log["/truth"].base_x_m[20 * i], log["/truth"].base_y_m[20 * i]
        above = area(frames[i], HULL)
        rows, columns = above[above[:, 0] < backdrop.panels[0][1]].T
        middle = backdrop.at(np.array([x, y]))
        extent = [(columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2]
        np.testing.assert_allclose(extent, middle, atol=4.0)


def test_jets_are_drawn_while_thrusters_are_open(log: Log, filmed: tuple[Backdrop, list[Picture]]):
    backdrop, frames = filmed
    view_ends = backdrop.panels[0][1]
    opened = log.columns(list(range(log.channels.width))[log.channels.columns("/applied", "thrusters.values")])
    for i in range(1, 20):
        is_open = (opened[20 * (i - 1) + 1 : 20 * i + 1] > 0.5).any()
        assert is_open == bool((area(frames[i], PLUME)[:, 0] < view_ends).any()), i


def test_signals_appear_as_time_passes(filmed: tuple[Backdrop, list[Picture]]):
    backdrop, frames = filmed
    left, top, right, bottom = backdrop.panels[0]
    for i in (5, 15):
        now = round(backdrop.time[0] + backdrop.time[1] * i / 10)
        past, future = slice(left, now), slice(now + 1, right)
        np.testing.assert_array_equal(frames[i][top:bottom, past], backdrop.picture[top:bottom, past])
        np.testing.assert_array_equal(frames[i][top:bottom, future], backdrop.to_come[top:bottom, future])


@pytest.mark.parametrize(("name", "n"), [("run.mp4", 60), ("run.gif", 30)])
def test_other_programs_play_every_frame(log: Log, tmp_path: Path, name: str, n: int):
    assert film(log, tmp_path / name) == n
    video = cv2.VideoCapture(str(tmp_path / name))
    shown = sum(1 for _ in iter(lambda: video.read()[0], False))
    assert n - 1 <= shown <= n + 1  # a reader may count the last frame of a GIF twice
    assert left_in(tmp_path) == [name]


def test_speed_shortens_the_film(log: Log, tmp_path: Path):
    assert film(log, tmp_path / "run.mp4", fps=10, speed=2) == 10


def test_an_estimate_is_filmed_where_there_is_no_truth(log: Log):
    rows = log.rows.copy()
    rows[:, log.channels.columns("/truth", "q")] = np.nan
    without = Log(log.bed, log.info, log.channels, rows, log.events, log.summary, True)
    _, frames = frames_of(without)
    assert len(area(frames[-1], HULL)) > 1000


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("bed", quick(["mrds-6a", "spatial-dual-arm/open-loop", "flexible-arm"], "mrds-6a"))
def test_every_kind_of_testbed_has_a_film(bed: str):
    backdrop, frames = frames_of(api.simulate(api.load(bed, {"loop.duration_s": 0.2})))
    assert (frames[-1] != backdrop.to_come).any()


@pytest.mark.slow
def test_the_command_films_and_refuses_what_it_can_not(granite: Call, tmp_path: Path):
    api.simulate(api.load("free-flyer", {"loop.duration_s": 0.2}), "run.mcap")
    assert "film: run.mp4, 6 frames" in granite("movie", "run.mcap").out
    assert "film 'run.mp4' exists" in sentence_of(granite("movie", "run.mcap"))
    assert "ends in .mp4 or .gif" in sentence_of(granite("movie", "run.mcap", "--out", "a.avi"))
    for option, value in (("fps", "0"), ("fps", "nan"), ("speed", "-1"), ("panels", "torgues")):
        assert option in sentence_of(granite("movie", "run.mcap", "--out", "a.mp4", f"--{option}", value))
    many = sentence_of(granite("movie", "run.mcap", "--out", "a.mp4", "--fps", 120, "--speed", 0.001))
    assert "speed" in many
    assert left_in(tmp_path) == ["run.mcap", "run.mp4"]


def test_a_film_with_too_many_frames_is_refused(log: Log, tmp_path: Path):
    with pytest.raises(api.InputError, match=r"would have 24000 frames.*greater --speed"):
        film(log, tmp_path / "run.mp4", fps=120, speed=0.01)


def test_a_missing_package_is_named(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(api.InputError, match=r"imageio_ffmpeg is not installed.*granite-robotics\[movie\]"):
        film(log, tmp_path / "run.mp4")


def test_nothing_is_left_of_a_film_that_was_interrupted(log: Log, tmp_path: Path):
    def interrupt(done: int, of: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        film(log, tmp_path / "run.mp4", progress=interrupt)
    assert left_in(tmp_path) == []


def test_an_encoder_that_fails_is_quoted(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    failing = tmp_path / "ffmpeg"
    failing.write_text("#!/bin/sh\necho 'No space left on device' >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(ffmpeg, "get_ffmpeg_exe", lambda: str(failing))
    with pytest.raises(api.InputError, match=r"film '.*' can't be written: No space left on device"):
        film(log, tmp_path / "run.mp4")
    assert left_in(tmp_path) == ["ffmpeg"]
