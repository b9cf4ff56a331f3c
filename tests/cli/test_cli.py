"""The command line as a person meets it, also a careless one: what it prints, how it ends, what it leaves behind."""

import importlib.metadata
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import foxglove
import numpy as np
import pytest
from foxglove import Context

from granite.cli.endings import AUDIT_FAILED, BAD_INPUT, COLLIDED, DIFFERS, DONE, FAULT, NOT_DONE, OWN_CODE, STOPPED
from granite.cli.recorded_run import new_log
from granite.config import loader
from granite.config.errors import InputError
from granite.config.loader import load, to_json
from granite.controllers.estimation.kalman import KalmanEstimator
from granite.logs import mcap_file
from granite.logs.log import read_log
from granite.logs.mcap_file import McapFile
from granite.logs.unfinished import unfinished_name
from granite.rt.checks import doctor
from granite.rt.checks.preflight_checks import CheckResult
from granite.rt.replay import COMPARED
from granite.rt.run import simulate
from tests.support.command_line import Said, left_in, sentence_of
from tests.support.command_line import granite as granite
from tests.support.unhurried import OPTIONS
from tests.support.waiting import until

PRESET = (Path(loader.__file__).parent / "testbeds" / "free-flyer.toml").read_text()
SHORT = ("--duration", "0.1")
COMMANDS = ("list", "new", "show", "sim", "runs", "compare", "replay", "plot", "modes", "schema", "doctor")
RUN = ("ended", "tracking_error", "propellant", "overruns", "rows_lost", "timing", "final_state")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """A log of a short run."""
    path = tmp_path_factory.mktemp("recorded") / "run.mcap"
    simulate(load("free-flyer", ["loop.duration_s=1.5"]), path)
    return path


# What is offered.


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)], ids=str)
def test_help_names_every_command_whole_and_every_exit_code(granite, arguments):
    said = granite(*arguments)
    assert (said.code, said.err) == (0, "")
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\S", said.out, re.MULTILINE)
    assert "..." not in said.out.partition("Commands:")[2]
    codes = {int(code): text for code, text in re.findall(r"^ +(\d)  (.+)$", said.out, re.MULTILINE)}
    assert set(codes) == {DONE, FAULT, BAD_INPUT, STOPPED, DIFFERS, AUDIT_FAILED, OWN_CODE, COLLIDED, NOT_DONE}
    assert "bad input" in codes[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(granite, command):
    said = granite(command, "--help")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Usage: granite {command}")


def test_a_quiet_command_prints_errors_alone(granite, tmp_path):
    said = granite("-q", "sim", "free-flyer", "--duration", "0.5", "--out", str(tmp_path / "run.mcap"))
    assert (said.code, said.out) == (0, "")
    assert "no command 'sin'" in granite("-q", "sin").err
    assert "granite" in granite("--version").out


def test_a_verbose_run_says_when_it_begins_and_ends(granite, caplog, tmp_path):
    with caplog.at_level("INFO", "granite"):
        granite("-v", "sim", "free-flyer", "--duration", "0.5", "--out", str(tmp_path / "run.mcap"))
    assert [record.message.split()[-1] for record in caplog.records if "ended" in record.message] == ["completed"]


def test_the_version_is_that_of_the_package(granite):
    assert granite("--version") == (0, f"granite {importlib.metadata.version('granite-robotics')}\n", "")


def test_the_lists_for_people_name_what_can_be_typed(granite):
    listed = granite("list")
    assert (listed.code, listed.err) == (0, "")
    assert {"two-arm-free-flyer", "perfect-sensors"} <= set(listed.out.replace(",", " ").split())
    shown = granite("show", "two-arm-free-flyer", "--set", "seed=77")
    assert (shown.code, shown.err) == (0, "")
    assert {"left_shoulder", "right_shoulder", "77", "[kg]", "[1/s]"} <= set(shown.out.split())


@pytest.mark.slow
def test_a_run_says_where_its_log_is_in_a_line_that_is_never_wrapped(granite, tmp_path):
    folder = tmp_path / ("a-long-name-" * 10)
    folder.mkdir()
    said = granite("sim", "two-arm-free-flyer", *SHORT, "--out", folder / "run.mcap")
    assert (said.code, said.err) == (0, "")
    assert f"log: {folder / 'run.mcap'}\n" in said.out
    assert {"left_shoulder", "right_shoulder"} <= set(said.out.split())
    assert left_in(folder) == ["run.mcap"]
    plotted = granite("plot", folder / "run.mcap")
    assert plotted == (0, f"plot: {folder / 'run.png'}\n", "")


def test_recommended_commands_quote_names_with_spaces(granite, tmp_path):
    said = granite("sim", "free-flyer", *SHORT, "--out", "l2 \u00fc.mcap")
    assert "see it: granite plot 'l2 \u00fc.mcap', or open it" in said.out
    (tmp_path / "cut off.mcap").write_bytes((tmp_path / "l2 \u00fc.mcap").read_bytes()[:-2000])
    assert "granite recover 'cut off.mcap' --out NEW.mcap makes a whole one" in granite("replay", "cut off.mcap").err


def test_without_a_name_logs_are_numbered_in_runs(granite, tmp_path):
    assert granite("sim", "free-flyer/ideal", *SHORT).code == 0
    assert granite("sim", "free-flyer/ideal", *SHORT, "--seed", "9", "--set", "recording.ring_rows=64").code == 0
    assert left_in(tmp_path / "runs") == ["free-flyer-ideal-001.mcap", "free-flyer-ideal-002.mcap"]
    log = read_log(tmp_path / "runs" / "free-flyer-ideal-002.mcap")
    assert (log.bed.seed, log.bed.recording.ring_rows, len(log.rows)) == (9, 64, 20)


def test_runs_started_together_take_different_names(granite):
    with new_log("bed") as one, new_log("bed") as two, new_log("../x y") as odd:
        assert (str(one), str(two)) == ("runs/bed-001.mcap", "runs/bed-002.mcap")
        assert odd.parent == Path("runs")
    assert not Path("runs").exists()


def test_a_log_is_replaced_only_on_request(granite, tmp_path):
    assert granite("sim", "free-flyer", *SHORT, "--out", "a.mcap").code == 0
    before = (tmp_path / "a.mcap").read_bytes()
    assert "a.mcap' exists: expected a new name, or --overwrite" in sentence_of(
        granite("sim", "free-flyer", *SHORT, "--out", "a.mcap")
    )
    assert (tmp_path / "a.mcap").read_bytes() == before
    assert granite("sim", "free-flyer", "--duration", ".2", "--out", "a.mcap", "--overwrite").code == 0
    assert len(read_log("a.mcap").rows) == 40
    assert left_in(tmp_path) == ["a.mcap"]


# For scripts.


def test_the_lists_are_json_for_scripts(granite, monkeypatch):
    wake_ups = doctor._wake_ups
    monkeypatch.setattr(doctor, "_wake_ups", lambda: wake_ups(20))
    beds = {bed["bed"]: bed for bed in granite("list", "--json").json}
    assert "ideal" in beds["free-flyer"]["variants"]
    shown = granite("show", "free-flyer", "--set", "loop.duration_s=7", "--json")
    assert shown.json["loop"]["duration_s"] == 7
    findings = granite("doctor", "--json")
    assert {"compiler", "timer"} <= {finding["name"] for finding in findings.json}
    assert shown.err == findings.err == ""


@pytest.mark.parametrize("realtime", [(), ("--realtime",)], ids=["virtual", "realtime"])
def test_a_run_is_json_for_scripts(granite, realtime):
    said = granite(
        "sim", "free-flyer", "--duration", "0.3", "--seed", "5", *realtime, *OPTIONS, "--out", "a.mcap", "--json"
    )
    assert (said.code, said.err) == (0, "")
    run = said.json
    assert (run["bed"], run["seed"], run["log"]) == ("free-flyer", 5, "a.mcap")
    assert (run["mode"], run["ended"]) == ("realtime" if realtime else "virtual", "completed")
    assert run["model"] in ("compiled", "interpreted")
    names = ["base_x", "base_y", "base_heading", "shoulder", "elbow"]
    units = ["m", "m", "rad", "rad", "rad"]
    for table in ("tracking_error", "final_state"):
        assert list(run[table]) == names
        assert [entry["unit"] for entry in run[table].values()] == units
    assert run["final_state"]["base_x"]["value"] == pytest.approx(1.0, abs=0.05)
    assert set(run["propellant"]) == {"impulse_n_s", "mass_g", "pulses", "by_thruster_n_s"}
    assert (run["rows_lost"], run["log_failure"]) == (0, None)
    assert isinstance(run["overruns"], int)
    for step in ("read", "estimate", "decide", "control", "allocate", "guard", "write", "record", "tick"):
        assert 0 <= run["timing"][step]["median_us"] <= run["timing"][step]["max_us"]
    assert {key: run[key] for key in RUN} == {key: read_log("a.mcap").summary[key] for key in RUN}


def test_a_replay_is_json_for_scripts(granite, recorded):
    said = granite("replay", recorded, "--json")
    assert (said.code, said.err) == (0, "")
    assert said.json["identical"] is True
    assert said.json["ticks"] == 300


# Bad input: one sentence, code 2, nothing left behind.


class Slip(NamedTuple):
    right: str
    wrong: str
    said: tuple[str, ...]


IN_FILE = {
    "misspelt key": Slip("mass_kg = 50.0", "mas_kg = 50.0", ("bodies.base.mas_kg = 50.0", "did you mean 'mass_kg'?")),
    "missing key": Slip("mass_kg = 50.0\n", "", ("bodies.base.mass_kg is missing", "expected a number")),
    "wrong type": Slip("mass_kg = 50.0", 'mass_kg = "50"', ('bodies.base.mass_kg = "50"', "expected a number")),
    "wrong unit": Slip("mass_kg = 50.0", "mass_g = 50e3", ("bodies.base.mass_g = 50000.0", "expected mass_kg")),
    "negative mass": Slip("mass_kg = 50.0", "mass_kg = -1", ("bodies.base.mass_kg = -1", "at least 0")),
    "singular inertia": Slip("inertia_kg_m2 = 1.44", "inertia_kg_m2 = 0", ("base.inertia_kg_m2 = 0", "greater than 0")),
    "joint loop": Slip('parent = "upper_arm"', 'parent = "forearm"', ("joints", "joint loop through forearm", "tree")),
    "no direction": Slip("direction = [-1, 0], ", "", ("thrusters.units.r1.direction is missing", "expected a list")),
    "not TOML": Slip("[loop]", "[loop", ("not valid TOML", "line")),
    # These are found only when the run is put together.
    "unmeasured joint": Slip(
        'joints = ["shoulder", "elbow"]',
        'joints = ["elbow"]',
        ("devices: no joint sensor measures 'shoulder'",),
    ),
    "bad name in the log": Slip('name = "r1"', 'name = "r__1"', ("called 'applied_thrusters_r__1_opening'", "rename")),
}


@pytest.mark.parametrize("slip", IN_FILE.values(), ids=IN_FILE)
def test_a_bad_file_is_refused_with_file_key_value_and_what_was_expected(granite, tmp_path, slip):
    assert slip.right in PRESET
    (tmp_path / "mine.toml").write_text(PRESET.replace(slip.right, slip.wrong, 1))
    said = granite("sim", "mine.toml", *SHORT)
    sentence = sentence_of(said)
    assert sentence.startswith("granite: mine.toml")
    for part in slip.said:
        assert part in sentence
    assert said.out == ""
    assert left_in(tmp_path) == ["mine.toml"]


TYPED = {
    "unknown command": (("simm", "free-flyer"), ("no command 'simm'", "did you mean 'sim'?")),
    "unknown option": (("sim", "free-flyer", "--overite"), ("--overite", "--overwrite", "granite sim --help")),
    "unknown option of all": (("--frob",), ("--frob", "granite --help")),
    "missing argument": (("sim",), ("missing argument 'BED'", "granite sim --help")),
    "missing log": (("replay",), ("missing argument 'LOG'",)),
    "missing value": (("sim", "free-flyer", "--set"), ("'--set' requires an argument",)),
    "an argument too many": (("list", "all"), ("unexpected extra argument", "all")),
    "unknown preset": (("sim", "free-flier"), ("no preset 'free-flier'", "expected 'free-flyer'")),
    "no preset": (("show", ""), ("no preset ''", "granite list")),
    "unknown variant": (("show", "free-flyer/idle"), ("no variant 'idle'", "ideal")),
    "missing file": (("sim", "mine.toml"), ("mine.toml", "no such file")),
    "line break": (("show", "a\nb"), ("no preset 'a b'",)),
    "control characters": (("show", "\x1b[31m\udcff"), ("no preset '?[31m?'",)),
    "unknown override": (("sim", "free-flyer", "--set", "loop.perid_s=1"), ("loop.perid_s = 1", "'period_s'")),
    "malformed override": (("sim", "free-flyer", "--set", "loop"), ("--set loop", "expected key=value")),
    "override refused late": (
        ("sim", "free-flyer/pulse-width", *SHORT, "--set", "controller.allocation.sharing=best_pattern"),
        ("free-flyer/pulse-width", 'controller.allocation.modulation = "pulse_width"', "expected 'threshold'"),
    ),
    "negative duration": (("sim", "free-flyer", "--duration", "-1"), ("--duration -1", "greater than 0")),
    "no duration": (("sim", "free-flyer", "--duration", "0"), ("--duration 0", "greater than 0")),
    "duration of nan": (("sim", "free-flyer", "--duration", "nan"), ("--duration nan", "finite")),
    "duration in words": (("sim", "free-flyer", "--duration", "5s"), ("--duration 5s", "expected a number")),
    "duration below a period": (
        ("sim", "free-flyer", "--duration", "1e-3"),
        ("--duration 1e-3", "loop.duration_s = 0.001", "at least period_s = 0.005"),
    ),
    "negative seed": (("sim", "free-flyer", "--seed", "-1"), ("--seed -1", "seed = -1", "at least 0")),
    "half a seed": (("sim", "free-flyer", "--seed", "1.5"), ("--seed 1.5", "expected a whole number")),
    "no trials": (("tune", "free-flyer", "--trials", "0"), ("--trials 0: expected a number of at least 1", "--help")),
    "half a run": (("montecarlo", "free-flyer", "--runs", "1.5"), ("--runs 1.5: expected a whole number", "--help")),
    "out in no directory": (("sim", "free-flyer", "--out", "no/a.mcap"), ("'no/a.mcap'", "no directory 'no'")),
    "out below a file": (("sim", "free-flyer", "--out", "text/a.mcap"), ("'text/a.mcap'", "no directory 'text'")),
    "out is a directory": (("sim", "free-flyer", "--out", "dir.mcap", "--overwrite"), ("'dir.mcap'", "a directory")),
    "out would replace a bed": (("sim", "free-flyer", "--out", "bed.toml", "--overwrite"), ("'bed.toml'", ".mcap")),
    "out exists": (("sim", "free-flyer", "--out", "text.mcap"), ("'text.mcap' exists", "--overwrite")),
    "out of no name": (("sim", "free-flyer", "--out", ""), ("expected a name that ends in .mcap",)),
    "out of odd bytes": (("sim", "free-flyer", "--out", "\udcff.mcap"), ("'?.mcap'", "printable")),
    "out that the system refuses": (("sim", "free-flyer", *SHORT, "--out", "/proc/a.mcap"), ("'/proc/a.mcap' can't",)),
    "replay of nothing": (("replay", "none.mcap"), ("'none.mcap' can't be read: No such file",)),
    "replay of a directory": (("replay", "dir.mcap"), ("'dir.mcap' can't be read: Is a directory",)),
    "replay of a text": (("replay", "text.mcap"), ("'text.mcap' is not an MCAP file",)),
    "replay of nothing at all": (("replay", "empty.mcap", "--json"), ("'empty.mcap' is empty",)),
    "replay of another's": (("replay", "theirs.mcap"), ("'theirs.mcap' is an MCAP file, but not one that Granite",)),
    "replay of another version": (("replay", "newer.mcap"), ("'newer.mcap' has format 99, expected format",)),
    "replay of a stump": (("replay", "stump.mcap"), ("'stump.mcap' is cut off before its configuration",)),
    "plot of nothing": (("plot", "none.mcap"), ("'none.mcap' can't be read",)),
    "plot of a preset": (("plot", "free-flyer"), ("expected a log, as granite runs lists them",)),
    "plot of a text": (("plot", "text.mcap"), ("'text.mcap' is not an MCAP file",)),
    "plot as a JPEG": (("plot", "good.mcap", "--out", "a.jpg"), ("plot 'a.jpg'", ".png or .svg or .pdf")),
    "plot of a panel": (("plot", "good.mcap", "--panels", "valve", "--out", "a.png"), ('panels = "valve"', "valves")),
    "plot that exists": (("plot", "good.mcap", "--out", "old.png"), ("plot 'old.png' exists", "--overwrite")),
    "plot beside that exists": (("plot", "good.mcap"), ("plot 'good.png' exists", "--overwrite")),
    "plot in no directory": (("plot", "good.mcap", "--out", "no/a.png"), ("'no/a.png'", "no directory 'no'")),
    "plot on a directory": (("plot", "good.mcap", "--out", "dir.png", "--overwrite"), ("'dir.png'", "a directory")),
}


@pytest.fixture(scope="module")
def clutter(recorded, tmp_path_factory) -> dict[str, bytes | None]:
    """Files by name, and directories as None, that a careless person may point at."""
    folder = tmp_path_factory.mktemp("clutter")
    whole, bed = recorded.read_bytes(), load("free-flyer")
    with foxglove.open_mcap(folder / "theirs.mcap", context=Context()) as writer:
        writer.write_metadata("theirs", {"a": "b"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mcap_file, "FORMAT", "99")
        McapFile(str(folder / "newer.mcap"), read_log(recorded).channels, to_json(bed), {}, 0).close()
    text = dict.fromkeys(("text", "text.mcap", "old.png", "good.png", "bed.toml"), b"text\n")
    made = {path.name: path.read_bytes() for path in folder.iterdir()}
    stump = whole[: whole.index(b"testbed.json") + 50]
    return {
        **text,
        **made,
        "good.mcap": whole,
        "empty.mcap": b"",
        "stump.mcap": stump,
        "dir.mcap": None,
        "dir.png": None,
    }


@pytest.mark.parametrize(("arguments", "parts"), TYPED.values(), ids=TYPED)
def test_what_is_typed_wrongly_is_answered_in_one_sentence(granite, tmp_path, clutter, arguments, parts):
    for name, content in clutter.items():
        (tmp_path / name).mkdir() if content is None else (tmp_path / name).write_bytes(content)
    said = granite(*arguments)
    sentence = sentence_of(said)
    for part in parts:
        assert part in sentence
    assert said.out == ""
    assert left_in(tmp_path) == sorted(clutter)
    for name, content in clutter.items():
        assert content is None or (tmp_path / name).read_bytes() == content


def test_a_folder_for_logs_that_can_not_be_made_is_reported(granite, tmp_path):
    (tmp_path / "runs").write_text("a file")
    assert "log 'runs' can't be written" in sentence_of(granite("sim", "free-flyer", *SHORT))


# The other ways to end.


def test_the_guard_ends_a_run_with_code_3(granite):
    limit = "safety.table_m=[0.99,0.3,1.001,2.0]"
    said = granite(
        "sim", "free-flyer", "--set", limit, "--set", "behaviour.check_moves=false", "--out", "a.mcap", "--json"
    )
    sentence = sentence_of(said, STOPPED)
    assert "last: a base left the area of safety.table_m: base_x was 1.00" in sentence
    assert sentence.endswith(" m, limit 1.001 m\n")
    assert said.json["ended"] == "table_edge"
    log = read_log("a.mcap")
    assert log.summary["ended"] == "table_edge"
    assert log.summary["text"] in sentence
    assert any("a base left the area of safety.table_m" in event["text"] for event in log.events)
    assert granite("replay", "a.mcap").code == 0


OWN_LAWS = """
import numpy as np
import granite


class Raising:
    def __init__(self, options, model):
        self.inverse = model.compile_inverse()

    def control(self, state, reference):
        if state.t > 0.01:
            self.inverse(state.q, state.u[:2], state.u)
        return granite.Demand(state.t, *self.inverse(state.q, state.u, 0.0 * state.u))


class Short(Raising):
    def control(self, state, reference):
        demand = super().control(state, reference)
        return demand._replace(force=demand.force[:2])


class Ragged(Raising):
    def control(self, state, reference):
        return super().control(state, reference)._replace(force=[[1.0], 2.0])


class Unbuilt:
    def __init__(self, options, model):
        self.inverse = model.inverse_of_all

    def control(self, state, reference):
        pass
"""


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("Raising", "by an exception in your law, laws.py:12, "),
        ("Short", "in your law, laws.py:17, WrongResultError: '{}:Short' gave force of shape (2,), expected (5,)"),
        ("Ragged", "in your law, laws.py:23, WrongResultError: '{}:Ragged' gave force that is no array of numbers"),
    ],
)
def test_an_exception_in_a_law_of_ones_own_is_named_with_its_line_and_has_a_code_of_its_own(
    granite, tmp_path, law, said
):
    file = tmp_path / "laws.py"
    file.write_text(OWN_LAWS)
    answer = granite("sim", "free-flyer", "--set", f"controller.law=laws.py:{law}", "--out", "a.mcap")
    assert said.format(file) in sentence_of(answer, OWN_CODE)
    assert "in your law, laws.py:" in " ".join(granite("info", "a.mcap").out.split())


def test_a_part_that_fails_while_it_is_built_is_refused_with_its_line(granite, tmp_path):
    (tmp_path / "laws.py").write_text(OWN_LAWS)
    said = granite("sim", "free-flyer", "--set", "controller.law=laws.py:Unbuilt", "--out", "a.mcap")
    assert "no attribute 'inverse_of_all' (at laws.py:29)" in sentence_of(said, BAD_INPUT)


def test_a_fault_inside_ends_a_run_with_code_1_and_leaves_its_traceback_in_the_log(granite, monkeypatch):
    estimate = KalmanEstimator.estimate

    def broken(self, sample):
        if sample.t > 0.1:
            raise RuntimeError("no more\nestimates")
        return estimate(self, sample)

    monkeypatch.setattr(KalmanEstimator, "estimate", broken)
    monkeypatch.delattr(KalmanEstimator, "compiled_form")
    said = granite("sim", "free-flyer", "--out", "a.mcap")
    sentence = sentence_of(said, FAULT)
    assert "internal fault, RuntimeError: no more estimates" in sentence
    assert "granite info a.mcap shows the traceback" in sentence
    log = read_log("a.mcap")
    assert log.complete
    assert log.summary["ended"] == "fault"
    assert "in broken" in log.summary["traceback"]
    assert len(log.rows) == 21
    shown = granite("info", "a.mcap").out
    assert re.search(r"test_cli\.py\", line \d+, in broken", shown)
    assert shown.endswith("RuntimeError: no more\nestimates\n")
    assert granite("info", "a.mcap", "--json").json["traceback"] == log.summary["traceback"]


@pytest.mark.slow
def test_a_fault_in_the_first_tick_is_reported_too(granite, monkeypatch):
    monkeypatch.setattr(KalmanEstimator, "estimate", lambda self, sample: 1 / 0)
    monkeypatch.delattr(KalmanEstimator, "compiled_form")
    for as_json in ((), ("--json",)):
        said = granite("sim", "free-flyer", *SHORT, *as_json)
        assert "ZeroDivisionError" in sentence_of(said, FAULT)
    assert said.json["ended"] == "fault"


def test_a_log_that_is_not_whole_is_a_fault_even_if_the_run_was_good(granite, monkeypatch):
    lost = {"ended": "completed", "text": "the run reached its end", "ended_at_s": 1.0, "log_failure": "disk full"}
    monkeypatch.setattr("granite.rt.run.simulate", lambda *_, **__: lost)
    assert "disk full" in sentence_of(granite("sim", "free-flyer"), FAULT)


def test_a_bug_while_building_is_one_sentence_with_its_line_and_leaves_no_log(granite, monkeypatch, tmp_path):
    def broken(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr("granite.rt.run.simulate", broken)
    said = sentence_of(granite("sim", "free-flyer"))
    assert re.search(r"free-flyer: it can't be prepared, RuntimeError: a bug \(at test_cli\.py:\d+\)", said)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_loop_ends_with_code_3_and_leaves_nothing(granite, monkeypatch, tmp_path, number):
    if signal.getsignal(number) is signal.SIG_IGN:  # a shell's background job is deaf to Ctrl-C, and so are its tests
        signal.signal(number, signal.default_int_handler)
    before = signal.getsignal(number)
    monkeypatch.setattr("granite.rt.run.simulate", lambda *_, **__: os.kill(os.getpid(), number))
    assert "operator" in sentence_of(granite("sim", "free-flyer"), STOPPED)
    assert left_in(tmp_path) == []
    assert signal.getsignal(number) is before


def rewritten(recorded: Path, path: Path, change) -> None:
    """The log again, with its rows changed."""
    log = read_log(recorded)
    rows = log.rows.copy()
    change(rows, log.channels)
    file = McapFile(str(path), log.channels, to_json(log.bed), log.info, 0)
    file.write(rows)
    file.close()


def test_a_flipped_bit_makes_a_replay_end_with_code_4(granite, recorded, tmp_path):
    def flip(rows, channels) -> None:
        bits = rows.view(np.uint64)
        bits[200, channels.column("/command", "motors_elbow_torque_n_m")] ^= np.uint64(1)

    rewritten(recorded, tmp_path / "same.mcap", lambda rows, channels: None)
    assert granite("replay", "same.mcap").code == 0
    rewritten(recorded, tmp_path / "a.mcap", flip)
    said = granite("replay", "a.mcap")
    assert (said.code, said.err) == (DIFFERS, "")
    assert said.out.startswith("first difference at tick 200 (t = 1.000000 s): /command motors_elbow_torque_n_m was ")
    as_json = granite("replay", "a.mcap", "--json")
    assert as_json.code == DIFFERS
    first = as_json.json["first_difference"]
    assert (first["tick"], first["topic"], first["key"]) == (200, "/command", "motors_elbow_torque_n_m")
    assert first["logged"] != first["replayed"]


def test_a_difference_that_is_no_number_is_null_for_scripts(granite, recorded, tmp_path):
    def spoil(rows, channels) -> None:
        rows[100, channels.column("/command", "motors_elbow_torque_n_m")] = np.nan

    rewritten(recorded, tmp_path / "a.mcap", spoil)
    said = granite("replay", "a.mcap", "--json")
    assert said.code == DIFFERS
    assert said.json["first_difference"]["logged"] is None


def test_a_log_that_is_cut_is_replayed_up_to_the_cut(granite, recorded, tmp_path):
    log = read_log(recorded)
    path = tmp_path / "cut.mcap"
    file = McapFile(str(path), log.channels, to_json(log.bed), log.info, 0)
    sizes = []
    for rows in np.split(log.rows, 3):
        file.write(rows)
        file.flush()
        sizes.append(path.stat().st_size)
    file.close()
    path.write_bytes(path.read_bytes()[: (sizes[1] + sizes[2]) // 2])
    said = granite("replay", "cut.mcap")
    assert "is cut off or damaged" in sentence_of(said, FAULT)
    compared = sum(topic.stop - topic.start for topic in log.channels.topics if topic.name in COMPARED)
    assert said.out.splitlines() == [
        f"identical to the bit: 200 ticks, {200 * compared} values",
        "the log is truncated: it was replayed up to its last complete row",
    ]
    replayed = granite("replay", "cut.mcap", "--json").json
    assert (replayed["complete"], replayed["identical"], replayed["ticks"]) == (False, True, 200)
    assert granite("plot", "cut.mcap").code == FAULT


# In a shell of its own.

COMMAND = (sys.executable, "-m", "granite.cli")


def in_shell(*arguments: str, **environment: str) -> Said:
    env = {**os.environ, "PYTHONPATH": str(Path(mcap_file.__file__).parents[2]), **environment}
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=env, timeout=300, check=False)
    return Said(done.returncode, done.stdout, done.stderr)


def test_in_a_pipe_of_60_columns_nothing_is_cut_and_nothing_is_coloured():
    said = in_shell("show", "two-arm-free-flyer", COLUMNS="60", NO_COLOR="1")
    assert (said.code, said.err) == (0, "")
    assert re.search(r"[^\n -~─]", said.out) is None
    assert {"left_shoulder", "right_shoulder", "base_heading", "right_upper_arm"} <= set(said.out.split())
    *lines, file = said.out.splitlines()
    assert max(map(len, lines)) <= 60
    assert file.startswith("file: ")  # a path is left whole, to be copied


def test_a_reader_that_has_seen_enough_is_no_fault():
    command = f"{' '.join(COMMAND)} show free-flyer --json; echo $? >&2"
    env = {**os.environ, "PYTHONPATH": str(Path(mcap_file.__file__).parents[2])}
    done = subprocess.run(["sh", "-c", f"({command}) | true"], capture_output=True, text=True, env=env, check=False)
    assert done.stderr == "0\n"


_WHILE_IMPORTING = """
import os, signal, sys
from importlib.abc import MetaPathFinder
from granite.cli import main

class CtrlC(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, CtrlC())
main()
"""


def test_ctrl_c_while_the_command_is_imported_ends_with_code_3_and_no_traceback():
    done = subprocess.run([sys.executable, "-c", _WHILE_IMPORTING], capture_output=True, text=True, check=False)
    assert "operator" in sentence_of(Said(done.returncode, done.stdout, done.stderr), STOPPED)


@pytest.mark.slow
def test_a_running_loop_is_ended_by_signals_and_leaves_a_whole_log(tmp_path):
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    env = {**os.environ, "PYTHONPATH": str(Path(mcap_file.__file__).parents[2])}
    logs = {number: tmp_path / f"{number.name}.mcap" for number in signals}
    started = {
        number: subprocess.Popen(
            [*COMMAND, "sim", "free-flyer", "--realtime", "--json", *OPTIONS, "--out", str(log)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        for number, log in logs.items()
    }
    try:
        for number, process in started.items():
            log = unfinished_name(logs[number])
            until(lambda log=log: log.exists() and log.stat().st_size > 30_000, 180.0)  # rows were flushed
            process.send_signal(number)
        said = {number: Said(-1, *process.communicate(timeout=300)) for number, process in started.items()}
    finally:
        for process in started.values():
            process.kill()
    for number in (signal.SIGINT, signal.SIGTERM):
        ended = said[number]._replace(code=started[number].returncode)
        assert "operator_stop: the operator stopped the run" in sentence_of(ended, STOPPED)
        assert ended.json["ended"] == "operator_stop"
    assert started[signal.SIGKILL].returncode == -signal.SIGKILL
    ends = {signal.SIGINT: "operator_stop", signal.SIGTERM: "operator_stop", signal.SIGKILL: "loop_died"}
    for number, path in logs.items():
        until(lambda path=path: is_whole(path), 180.0)  # the recorder outlives a loop that was killed
        log = read_log(path)
        assert log.summary["ended"] == ends[number]
        assert len(log.rows) >= 10
    assert left_in(tmp_path) == sorted(path.name for path in logs.values())


def is_whole(path: Path) -> bool:
    try:
        return read_log(path).complete
    except InputError:
        return False


@pytest.mark.parametrize(("failed", "said"), [(1, "1 check failed: a b: c"), (2, "2 checks failed: a b: c; a b: c")])
def test_one_failed_check_before_a_run_is_one_check(granite, monkeypatch, failed, said):
    results = [CheckResult("a", "b", False, "c")] * failed
    monkeypatch.setattr("granite.rt.checks.preflight.preflight", lambda *_: results)
    assert f"nothing was armed, {said}" in sentence_of(
        granite("run", "free-flyer", "--simulate", ",".join(load("free-flyer").devices)), STOPPED
    )


def test_a_device_without_a_driver_is_refused_with_the_option_that_simulates_it(granite):
    alone = sentence_of(granite("test-device", "free-flyer", "vision"))
    assert "devices.vision.driver is missing, expected the driver of the real device, or --simulate vision\n" in alone
    beside = sentence_of(granite("run", "free-flyer", "--check", "--simulate", "joint_sensors,vision,thrusters"))
    assert "devices.motors.driver is missing" in beside
    assert beside.endswith("or --simulate joint_sensors,vision,thrusters,motors\n")
