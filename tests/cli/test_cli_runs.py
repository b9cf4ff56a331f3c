"""Many logs: what `granite runs` says of a folder of them, and what `granite compare` finds between some."""

import contextlib
import os
import re
import shutil
import time
from pathlib import Path
from random import Random

import pytest

from granite.cli.report.runs import runs_lines
from granite.config.errors import InputError
from granite.config.loader import load
from granite.logs.log import read_log
from granite.logs.overview import final_error, read_overview
from granite.logs.summary import metrics
from granite.rt.run import simulate
from granite.views.plots.comparison import build_comparison
from tests.support.command_line import granite, left_in, sentence_of
from tests.support.quick_cases import quick
from tests.support.unhurried import UNHURRIED

__all__ = ["granite"]

STIFFER = ["loop.duration_s=1.5", "controller.law.gains.base.stiffness_1_s2=1.44"]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: plain, stiffer, in real time, without a controller; and of files that are none."""
    folder = tmp_path_factory.mktemp("logs")
    simulate(load("free-flyer", ["loop.duration_s=1.5"]), folder / "plain.mcap")
    simulate(load("free-flyer", STIFFER), folder / "stiffer.mcap", changes=STIFFER)
    simulate(load("atmos", ["loop.duration_s=0.3", *UNHURRIED]), folder / "real.mcap", realtime=True)
    simulate(load("mrds-1", ["loop.duration_s=0.1"]), folder / "open.mcap")
    simulate(load("free-flyer", ["loop.duration_s=8"]), folder / "cut.mcap")
    whole = (folder / "cut.mcap").read_bytes()
    (folder / "cut.mcap").write_bytes(whole[: len(whole) // 2])
    (folder / "stump.mcap").write_bytes(whole[:100])
    (folder / "empty.mcap").touch()
    (folder / "text.mcap").write_text("no log")
    (folder / "notes.txt").write_text("no log either")
    return folder


def test_an_overview_is_what_the_whole_log_says(logs):
    for name in ("plain", "stiffer", "real", "open"):
        overview, log = read_overview(logs / f"{name}.mcap"), read_log(logs / f"{name}.mcap")
        assert (overview.info, overview.summary) == (log.info, log.summary)
    error = metrics(read_log(logs / "plain.mcap"))["tracking_error"]
    largest = max(error[name]["max_in_last_5_s"] for name in ("base_x", "base_y"))
    assert final_error(read_overview(logs / "plain.mcap").summary)["m"] == pytest.approx(largest)


def test_a_spoilt_log_is_never_a_traceback(logs, tmp_path):
    whole, random = (logs / "open.mcap").read_bytes(), Random(1)
    for _ in range(150):
        spoilt = bytearray(whole)
        for _ in range(random.choice((1, 5, 50))):
            # The front has the metadata, the end the index, and most of the file is rows.
            anywhere, front, end = random.randrange(len(whole)), random.randrange(600), -random.randrange(1, 900)
            at = random.choice((anywhere, front, end))
            spoilt[at] = random.randrange(256)
        path = tmp_path / "spoilt.mcap"
        path.write_bytes(spoilt[: random.choice((len(whole), random.randrange(len(whole))))])
        with contextlib.suppress(InputError):
            list(runs_lines([read_overview(path)], [], 80))


def test_a_run_in_real_time_has_the_time_of_its_start(logs):
    overview = read_overview(logs / "real.mcap")
    assert overview.when.timestamp() == pytest.approx(int(overview.info["start_ns"]) * 1e-9)
    assert 0 < time.time() - overview.when.timestamp() < 600


def test_runs_are_listed_the_newest_last_with_what_was_changed(granite, logs):
    said = granite("runs", logs)
    assert (said.code, said.err) == (0, "")
    names = re.findall(r"^(\w+)\.mcap ", said.out, re.MULTILINE)
    assert names[:3] == ["plain", "stiffer", "real"]
    line = r"^stiffer\.mcap .* 1\.5 s +completed +[\d.]+ mm, [\d.]+ mrad\n  free-flyer, "
    assert re.search(line, said.out, re.MULTILINE)
    assert STIFFER[1] in said.out
    assert max(map(len, said.out.partition("not readable")[0].splitlines())) <= 80


def test_what_is_no_log_is_named_with_why_and_a_cut_one_as_cut(granite, logs):
    said = granite("runs", logs)
    for name, why in (("stump", "cut off"), ("empty", "is empty"), ("text", "not an MCAP file")):
        assert re.search(rf"^not readable: .*{name}\.mcap.*{why}", said.out, re.MULTILINE)
    assert re.search(r"^cut\.mcap .* cut +-\n  free-flyer, cut off, or still being recorded", said.out, re.MULTILINE)
    assert "notes" not in said.out


def test_runs_are_json_for_scripts(granite, logs):
    runs = {Path(run["log"]).stem: run for run in granite("runs", logs, "--json").json}
    assert len(runs) == 8
    assert runs["stiffer"]["changes"] == STIFFER
    assert (runs["plain"]["ended"], runs["cut"]["ended"]) == ("completed", "cut")
    assert runs["plain"]["duration_s"] == 1.5
    assert set(runs["plain"]["final_error"]) == {"m", "rad"}
    assert runs["open"]["final_error"] == {}
    assert "is empty" in runs["empty"]["not_readable"]


def test_a_folder_that_is_not_there_is_refused_and_an_empty_one_is_not(granite, tmp_path):
    assert "no directory 'runs'" in sentence_of(granite("runs"))
    assert "no directory 'a'" in sentence_of(granite("runs", "a/b"))
    (tmp_path / "runs").mkdir()
    assert granite("runs") == (0, "no logs in runs\n", "")
    assert granite("runs", "--json").json == []
    os.mkfifo(tmp_path / "runs" / "pipe.mcap")  # reading it would wait for a writer
    assert granite("runs") == (0, "no logs in runs\n", "")


def test_a_comparison_names_the_keys_that_differ_with_both_values(granite, logs):
    said = granite("compare", logs / "plain.mcap", logs / "stiffer.mcap")
    assert (said.code, said.err) == (0, "")
    assert re.search(r"^controller\.law\.gains\.base\.stiffness_1_s2 +[0-9.]+ +1\.44", said.out, re.MULTILINE)
    assert {"base_x", "shoulder", "pulses", "rms", "completed"} <= set(said.out.split())
    assert "Time of each step" not in said.out


def test_a_comparison_is_json_for_scripts(granite, logs):
    files = [logs / f"{name}.mcap" for name in ("plain", "stiffer", "real", "cut", "open")]
    comparison = granite("compare", *files, "--json").json
    runs = comparison["runs"]
    assert [run["ended"] for run in runs.values()] == ["completed"] * 3 + ["cut", "completed"]
    assert "timing" in runs["C"]
    assert "timing" not in runs["A"]
    assert runs["A"]["tracking_error"]["base_x"]["rms"] > 0
    assert comparison["differences"]["loop.duration_s"] == {"A": 1.5, "B": 1.5, "C": 0.3, "D": 8.0, "E": 0.1}
    only = granite("compare", *files[:2], "--json").json["differences"]
    gains = load("free-flyer").control.law.gains["base"]
    assert only == {"controller.law.gains.base.stiffness_1_s2": {"A": gains.stiffness_1_s2, "B": 1.44}}


def test_step_times_are_compared_where_time_was_real(granite, logs):
    said = granite("compare", logs / "real.mcap", logs / "plain.mcap")
    assert "Time of each step, runs in real time" in said.out


@pytest.mark.parametrize("suffix", quick(["png", "svg", "pdf"], "svg"))
def test_the_errors_are_drawn_into_one_file_that_is_whole_or_not_there(granite, logs, tmp_path, suffix):
    said = granite("compare", logs / "plain.mcap", logs / "stiffer.mcap", "--plot", f"a.{suffix}")
    assert (said.code, said.err) == (0, "")
    assert f"plot: a.{suffix}" in said.out
    assert left_in(tmp_path) == [f"a.{suffix}"]
    exists = granite("compare", logs / "plain.mcap", logs / "stiffer.mcap", "--plot", f"a.{suffix}")
    assert "exists: expected a new name, or --overwrite" in sentence_of(exists)


def test_both_runs_are_in_the_axes_of_each_coordinate(logs):
    figure = build_comparison({name: read_log(logs / f"{name}.mcap") for name in ("plain", "stiffer", "real")})
    labels = [axes.get_ylabel().split("\n") for axes in figure.axes]
    assert [name for name, _ in labels] == ["base x", "base y", "base heading", "shoulder", "elbow"]
    assert [unit for _, unit in labels] == ["[mm]"] * 2 + ["[mrad]"] * 3
    curves = [sum(len(line.get_xdata()) > 2 for line in axes.get_lines()) for axes in figure.axes]
    assert curves == [3, 3, 3, 2, 2]


WRONG = {
    "one log": (("plain.mcap",), "expected two or more"),
    "the same twice": (("plain.mcap", "plain.mcap"), "expected two or more different"),
    "no such log": (("plain.mcap", "none.mcap"), "'none.mcap' can't be read"),
    "a text": (("plain.mcap", "text.mcap"), "'text.mcap' is not an MCAP file"),
    "a plot of another kind": (("plain.mcap", "stiffer.mcap", "--plot", "a.jpg"), ".png or .svg or .pdf"),
    "nothing to draw": (("open.mcap", "copy.mcap", "--plot", "a.png"), "no run has a reference"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_a_comparison_that_can_not_be_made_is_refused(granite, logs, tmp_path, arguments, said):
    for name in ("plain", "stiffer", "text", "open"):
        shutil.copy(logs / f"{name}.mcap", tmp_path)
    shutil.copy(logs / "open.mcap", tmp_path / "copy.mcap")
    assert said in sentence_of(granite("compare", *arguments))
    assert not list(tmp_path.glob("a.*"))


def test_the_line_of_zero_error_is_thinner_than_the_errors(logs):
    figure = build_comparison({"plain": read_log(logs / "plain.mcap")})
    for axes in figure.axes:
        zero, error, *_ = axes.get_lines()
        assert set(zero.get_ydata()) == {0}
        assert zero.get_linewidth() < error.get_linewidth()
