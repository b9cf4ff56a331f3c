"""A plot is a PNG, SVG or PDF file that appears whole or not at all."""

import os
import re
import stat
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from granite.config.errors import InputError
from granite.config.loader import load
from granite.logs.log import Log
from granite.views.plots import SUFFIXES, page, plot_log
from granite.views.plots.style import DPI
from tests.support.drawn_pages import drawn, run


@pytest.fixture(scope="module")
def flown() -> Log:
    return run(load("two-arm-free-flyer", ["loop.duration_s=0.3"]))


def test_a_short_run_becomes_a_plot(flown, tmp_path):
    before = dict(matplotlib.rcParams)
    plot_log(flown, tmp_path / "run.png")
    pixels = imread(tmp_path / "run.png")
    width, height = (int(DPI * size) for size in drawn(flown).get_size_inches())
    assert pixels.shape[:2] == (height, width)
    assert pixels[..., :3].std() > 0.02
    assert dict(matplotlib.rcParams) == before


def test_text_in_an_svg_is_text(flown, tmp_path):
    plot_log(flown, tmp_path / "run.svg")
    content = (tmp_path / "run.svg").read_text()
    words = re.findall(r"<text[^>]*>([^<]*)</text>", content)
    assert {flown.bed.title, "valves", "x [m]", "time [s]", "0.3 s"} <= set(words)


@pytest.mark.slow
def test_text_in_a_pdf_is_of_a_font_that_can_be_searched(flown, tmp_path):
    plot_log(flown, tmp_path / "run.PDF")
    content = (tmp_path / "run.PDF").read_bytes()
    assert content.startswith(b"%PDF")
    assert b"/CIDFontType2" in content
    assert b"/Type3" not in content


@pytest.fixture
def blank(monkeypatch):
    """An empty page, for what matters to the file only."""
    monkeypatch.setattr(page, "build_page", lambda *_: Figure(figsize=(1, 1), dpi=100))


@pytest.mark.usefixtures("blank")
def test_an_existing_plot_is_replaced_only_on_request(flown, tmp_path):
    path = tmp_path / "run.png"
    path.write_text("precious")
    with pytest.raises(InputError, match=r"run\.png' exists: expected a new name"):
        plot_log(flown, path)
    assert path.read_text() == "precious"
    plot_log(flown, path, overwrite=True)
    assert imread(path).shape[:2] == (100, 100)
    assert os.listdir(tmp_path) == ["run.png"]


@pytest.mark.usefixtures("blank")
def test_a_plot_is_readable_for_whom_the_umask_lets(flown, tmp_path):
    before = os.umask(0o022)
    try:
        plot_log(flown, tmp_path / "run.png")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run.png").stat().st_mode) == 0o644


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_half_written_is_left(fault, suffix, flown, tmp_path, monkeypatch):
    def fail(self, file, **settings):
        file.write(b"half")
        raise fault

    monkeypatch.setattr(Figure, "savefig", fail)
    path = tmp_path / f"run{suffix}"
    path.write_text("precious")
    with pytest.raises((InputError, KeyboardInterrupt)) as raised:
        plot_log(flown, path, overwrite=True)
    if isinstance(fault, OSError):
        assert str(raised.value) == f"plot '{path}' can't be written: No space left on device"
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere/run.png", "can't be written: no directory '.*nowhere'"),
        ("taken.png", "is a directory: expected a file"),
        ("run.jpg", "expected a name that ends in .png or .svg or .pdf"),
    ],
)
def test_a_place_that_can_not_be_written_is_refused_in_a_sentence(name, why, flown, tmp_path):
    Path(tmp_path / "taken.png").mkdir()
    with pytest.raises(InputError, match=why) as raised:
        plot_log(flown, tmp_path / name, overwrite=True)
    assert "\n" not in str(raised.value)
    assert os.listdir(tmp_path) == ["taken.png"]
