"""Tables show every name, number and unit whole, on a narrow terminal as in a pipe."""

import io
import re

import pytest
from rich.console import Console

from config import coordinates
from config.loader import load, presets
from rt import report
from rt.doctor import Finding
from rt.replay import Difference, Replay
from rt.session import simulate_in_memory
from rt.summary import Summary

WIDTHS = [40, 60, 80, 200]
BED = load("two-arm-free-flyer", ["loop.duration_s=0.2"])
NAMES = [c.name for c in coordinates.positions(BED.robot)]
LONG = "a_joint_with_a_name_that_nobody_would_want_to_type"


def printed(tables, width: int = 80, **options) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False, **options)
    report.put(console, tables)
    return console.file.getvalue()


def words(text: str) -> list[str]:
    return text.split()


@pytest.fixture(scope="module")
def summary() -> dict:
    gathered = Summary(BED)
    log = simulate_in_memory(BED)
    gathered.update(log.rows)
    told = {"wall_s": 1.0, "real_time_factor": 30.0, "model": "compiled"}
    asked = {"priority": "in force", "lock_memory": "refused: [Errno 12] Cannot allocate memory"}
    return {**log.summary, **gathered.result(), **told, "asked_of_the_system": asked}


@pytest.mark.parametrize("width", WIDTHS)
def test_a_run_is_shown_with_whole_names_numbers_and_units(summary: dict, width: int):
    text = printed(report.run_tables(summary), width)
    assert "…" not in text
    shown = words(text)
    for name in NAMES:
        assert name in shown
        for number in (summary["tracking_error"][name]["max"], summary["estimation_error"][name]["max"]):
            assert f"{number:.2e}" in shown
    for step, times in summary["timing"].items():
        assert step in shown
        assert f"{times['p99_us']:.1f}" in shown
    assert shown.count("[us]") == 3
    assert "against the truth" in " ".join(shown)
    assert "refused: [Errno 12] Cannot allocate memory" in " ".join(shown)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_bed_is_shown_with_whole_names_and_units(width: int):
    text = printed(report.bed_tables(BED), width)
    assert "…" not in text
    shown = words(text)
    assert {*NAMES, *(body.name for body in BED.robot.bodies)} <= set(shown)
    said = " ".join(shown)
    for part in ("[kg]", "[kg m2]", "[1/s2]", "[1/s]", "along [-1, 0] at [0.13, 0.13] m", "left_elbow_rad"):
        assert all(word in shown or word in said for word in part.split()), part


@pytest.mark.parametrize("width", WIDTHS)
def test_every_bed_that_can_be_run_is_listed_as_it_is_typed(width: int):
    shown = words(printed([report.beds_table(presets())], width))
    for name, _, variants in presets():
        assert name in shown
        assert {f"{name}/{variant}" for variant, _ in variants} <= set(shown)


def test_a_table_that_fits_is_as_wide_as_the_terminal_at_most(summary: dict):
    tables = [*report.run_tables(summary), *report.bed_tables(BED), report.beds_table(presets())]
    for width in (60, 80, 120):
        assert max(map(len, printed(tables, width).splitlines())) <= width


def test_a_name_longer_than_the_terminal_makes_the_table_wider(summary: dict):
    error = {LONG: summary["tracking_error"]["base_x"]}
    estimate = {LONG: summary["estimation_error"]["base_x"]}
    text = printed(report.run_tables({**summary, "tracking_error": error, "estimation_error": estimate}), 40)
    row = next(line for line in text.splitlines() if LONG in line)
    assert f"{error[LONG]['rms']:.2e}" in row


def test_brackets_are_not_taken_for_markup():
    bed = BED.model_copy(update={"title": "[bold]mine[/bold] :apple:"})
    assert "[bold]mine[/bold] :apple:" in printed(report.bed_tables(bed))


def test_a_run_without_a_row_or_with_numbers_gone_wild_is_still_shown(summary: dict):
    text = printed(report.run_tables({"ended": "fault", "text": "an exception was raised inside the loop", "ticks": 0}))
    assert "fault: an exception was raised inside the loop" in text
    wild = {name: {"unit": "m", "max": None, "rms": None, "max_in_last_5_s": None} for name in NAMES}
    propellant = {**summary["propellant"], "impulse_n_s": None, "mass_g": None}
    shown = words(printed(report.run_tables({**summary, "tracking_error": wild, "propellant": propellant})))
    assert shown.count("-") >= 3 * len(NAMES)


def test_without_truth_there_is_no_column_for_the_error_of_the_estimate(summary: dict):
    hardware = {**summary, "measured_against": "estimate", "estimation_error": {}}
    text = printed(report.run_tables(hardware))
    assert "Tracking error against the estimate" in text
    assert "of the estimate" not in text


def test_in_a_pipe_there_are_no_control_characters_and_without_colour_no_colour():
    table = report.doctor_table([Finding("compiler", "missing", "no cc", "Install a C compiler.")])
    assert re.search(r"[^\n -~─]", printed([table])) is None
    assert "\x1b[31mmissing" in printed([table], force_terminal=True, color_system="standard", _environ={})
    plain = printed([table], force_terminal=True, color_system="standard", _environ={"NO_COLOR": "1"})
    assert "\x1b[3" not in plain
    assert "Install a C compiler." in plain


def test_a_replay_says_where_it_differs_where_it_ended_and_that_the_log_is_cut():
    found = Difference(150, 0.75, "/command", "elbow_torque_n_m", 0.1, 0.30000000000000004)
    assert list(report.replay_lines(Replay(151, 1510, found, None), True)) == [
        "first difference at tick 150 (t = 0.750000 s): /command elbow_torque_n_m was 0.1, is now 0.30000000000000004"
    ]
    assert list(report.replay_lines(Replay(100, 1000, None, None), True)) == [
        "identical to the bit: 100 ticks, 1000 values"
    ]
    assert "after tick 99" in list(report.replay_lines(Replay(100, 1000, None, 99), True))[1]
    assert "is cut" in list(report.replay_lines(Replay(100, 1000, None, None), False))[1]
    assert "is cut" in list(report.replay_lines(Replay(151, 1510, found, None), False))[1]
    assert list(report.replay_lines(Replay(0, 0, None, -1), True)) == [
        "nothing replayed: the first rows of the run are missing in the log"
    ]
