"""A session: a folder that holds everything it needs, and refuses what it is not of."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from granite.cli.endings import STOPPED
from granite.config.errors import InputError
from granite.config.loader import load, presets, to_json
from granite.tuning.driver import drive
from granite.tuning.report.page import write_report
from granite.tuning.session import Session
from granite.tuning.toml_text import content_of, toml_text
from tests.support.analytic_studies import BED, STIFFNESS, Bowl, table
from tests.support.command_line import Call, sentence_of
from tests.support.command_line import granite as granite
from tests.support.quick_cases import quick


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    made = Session.create(tmp_path_factory.mktemp("sessions") / "first", BED, table(trials=12))
    drive(made.bed, made.table, made.study(), Bowl())
    return made


def test_the_best_trial_becomes_a_testbed_that_runs(session: Session, tmp_path: Path):
    best = session.trial(None)
    session.promote(best, tmp_path / "my-bed.toml")
    promoted = load(str(tmp_path / "my-bed.toml"))
    expected = BED.with_changes({**best.parameters, "name": "my-bed"})
    assert to_json(promoted) == to_json(expected)
    assert promoted.control.law.gain("base_x", False)[0] == best.parameters[STIFFNESS]  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="exists: expected a new name, or --overwrite"):
        session.promote(best, tmp_path / "my-bed.toml")


def test_the_testbed_as_it_was_is_in_the_session(session: Session):
    assert to_json(load(str(session.folder / "testbed.toml"))) == to_json(BED)
    again = Session.read(session.folder)
    assert (to_json(again.bed), again.table) == (to_json(BED), session.table)


@pytest.mark.parametrize("name", ["free-flyer", "fixed-dual-arm/carry", "mrds-6a"])
def test_a_testbed_is_the_same_after_it_was_written_as_toml(name: str, tmp_path: Path):
    file = tmp_path / "written.toml"
    file.write_text(toml_text(content_of(load(name))))
    assert to_json(load(str(file))) == to_json(load(name))


@pytest.mark.slow
def test_every_preset_is_the_same_after_it_was_written_as_toml(tmp_path: Path):
    for preset in presets():
        for name in (preset.name, *(f"{preset.name}/{variant}" for variant, _ in preset.variants)):
            test_a_testbed_is_the_same_after_it_was_written_as_toml(name, tmp_path)


@pytest.mark.slow
def test_the_report_is_one_file_with_figures_and_trials(session: Session, tmp_path: Path):
    session.folder.joinpath("notes.md").write_text("# Notes\nthe arm <shook>\n")
    write_report(session, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count('src="data:image/png;base64,') == 3
    assert not re.search(r'(src|href)="(?!data:)', page)  # nothing outside of the file
    assert "the arm &lt;shook&gt;" in page
    assert f"<td>{STIFFNESS}</td>" in page
    assert page.count("<tr>") > 12
    assert sorted(path.name for path in (session.folder / "logs").iterdir())[0] == "trial-0000.mcap"


@pytest.mark.parametrize(
    ("changed", "asked", "words"),
    [
        ({"loop.duration_s": 2.0}, {}, "is of another testbed, which differs in loop.duration_s"),
        ({}, {"seed": 9}, "was tuned otherwise: tuning.seed differs"),
    ],
)
def test_a_session_of_another_testbed_is_not_gone_on_with(session: Session, changed: Any, asked: Any, words: str):
    with pytest.raises(InputError, match=words):
        session.resumed(BED.with_changes(changed), table(**asked))
    session.resumed(BED, table(trials=1000))


def test_a_session_of_another_version_or_a_damaged_one_is_named(session: Session, tmp_path: Path):
    content = json.loads((session.folder / "session.json").read_text())
    other = tmp_path / "other"
    other.mkdir()
    for text, words in (
        (
            json.dumps({**content, "format": 99}),
            "has format 99: another version of Granite .*expected format 2",
        ),
        (json.dumps({**content, "tuning": "{}"}), "is damaged"),
        ("{", "is damaged"),
    ):
        (other / "session.json").write_text(text)
        with pytest.raises(InputError, match=words):
            Session.read(other)
    (other / "session.json").write_text(json.dumps({**content, "granite": "0.0.1"}))
    with pytest.raises(InputError, match=r"was begun by Granite 0\.0\.1, this is .*, expected the version"):
        Session.read(other).resumed(BED, table())
    (other / "session.json").write_text(json.dumps(content))
    (other / "study.db").write_text("no database")
    with pytest.raises(InputError, match=r"study\.db' can't be used \(file is not a database\)"):
        Session.read(other).study()


def test_the_best_ten_trials_of_one_objective_are_shown(granite: Call, tmp_path: Path):
    one = Session.create(tmp_path / "one", BED, table(trials=24, objectives=[{"of": "rms_error_m"}]))
    drive(one.bed, one.table, one.study(), Bowl())
    said = granite("tune", "show", "one").out
    shown = [int(number) for number in re.findall(r"^ +(\d+) +\d", said, re.MULTILINE)]
    results = one.results()
    best = sorted((r for r in results if r.objectives), key=lambda r: r.objectives[0])[:10]
    assert shown == list(dict.fromkeys([0, *(result.number for result in best)]))
    assert re.search("importance: the share that a parameter explains of the variation of rms_error_m *\n", said)


def test_the_table_says_what_best_and_importance_mean(granite: Call, session: Session):
    said = " ".join(granite("tune", "show", session.folder).out.split())
    front = len(granite("tune", "show", session.folder, "--json").json["front"])
    assert f"best: of the Pareto front ({front} of {front} trials) the nearest to the best value of each" in said
    assert "importance: the share that a parameter explains of the variation of rms_error_m / propellant_n_s" in said


@pytest.mark.parametrize(
    "content", [None, b"no database", "overwritten", *(pytest.param(c, marks=pytest.mark.slow) for c in (b"", "cut"))]
)
def test_a_session_without_its_trials_is_one_sentence_in_every_command(
    granite: Call, session: Session, tmp_path: Path, content: bytes | str | None
):
    other, whole = tmp_path / "other", (session.folder / "study.db").read_bytes()
    shutil.copytree(session.folder, other)
    if content is None:
        (other / "study.db").unlink()
    else:
        half = len(whole) // 2
        damaged = {"cut": whole[:half], "overwritten": whole[:4096] + b"\xff" * half}
        (other / "study.db").write_bytes(damaged[content] if isinstance(content, str) else content)
    words = r"'other/study.db' can't be used \([a-z ]+\), expected" if content else "session 'other' has no trial"
    for arguments in (["show"], ["show", "--json"], ["report"], ["promote"], ["compare", session.folder]):
        said = sentence_of(granite("tune", *arguments, "other"))
        assert re.search(words, said), said
        assert "sql" not in said.lower()
        assert "Error" not in said


def test_commands_show_compare_and_promote_a_session(granite: Call, session: Session):
    shown = granite("tune", "show", session.folder, "--json").json
    best = session.trial(None).number
    assert (shown["best"], len(shown["trials"])) == (best, 12)
    assert best in shown["front"]
    assert f"trial {best}" in granite("tune", "show", session.folder).out
    assert "propellant_n_s [N s]" in granite("tune", "compare", session.folder, session.folder).out
    promoted = granite("tune", "promote", session.folder, 3, "--out", "my.toml").out
    assert promoted.startswith("testbed: my.toml, with trial 3")
    assert "no such trial" in sentence_of(granite("tune", "promote", session.folder, 99, "--out", "b.toml"))
    assert "is not a session" in sentence_of(granite("tune", "show", "nothing"))
    Path("runs/mine").mkdir(parents=True)
    assert "made (did you mean 'runs/mine'?)" in sentence_of(granite("tune", "show", "mine"))


@pytest.mark.slow
def test_a_session_that_a_process_works_on_can_be_read_but_not_gone_on_with(
    granite: Call, session: Session, tmp_path: Path
):
    shutil.copytree(session.folder, tmp_path / "s")
    before = (tmp_path / "s/session.json").read_bytes()
    going_on = ["tune", "free-flyer", "--set", "loop.duration_s=1.0", "--resume", "s"]
    with Session.read(tmp_path / "s").alone():
        said = sentence_of(granite(*going_on, "--trials", 40))
        assert "another process works on session 's', expected the end of that process, or a new session" in said
        assert (tmp_path / "s/session.json").read_bytes() == before
        assert granite("tune", "show", "s").code == 0
        assert granite("tune", "compare", "s", session.folder).code == 0
        assert granite("tune", "promote", "s", "--out", "my.toml").code == 0
    assert len(granite(*going_on, "--json").json["trials"]) == 12  # all of them were there


def test_logs_are_recorded_once_where_a_report_is_written_during_the_session(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copytree(session.folder, tmp_path / "s", ignore=shutil.ignore_patterns("*.mcap"))
    recorded: list[Path] = []

    def simulated(bed: object, path: Path, **_: object) -> None:
        recorded.append(path)
        time.sleep(0.05)
        path.write_text("")

    monkeypatch.setattr("granite.tuning.session.simulate", simulated)
    with ThreadPoolExecutor(2) as both:
        first, second = both.map(lambda _: Session.read(tmp_path / "s").keep_logs(), range(2))
    assert first == second
    assert sorted(recorded) == sorted(first.values())


def test_a_process_that_is_killed_leaves_its_session_to_others(session: Session):
    program = f"""
from pathlib import Path
from granite.tuning.session import Session
with Session.read(Path({str(session.folder)!r})).alone():
    print("alone", flush=True)
    input()
"""
    other = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "alone\n"
    with pytest.raises(InputError, match="another process works on session"), session.alone():
        pass
    other.kill()
    other.communicate()
    with session.alone():
        pass


TABLE = """
[tuning]
parameters = [{ key = "controller.law.gains.base.stiffness_1_s2" }]
objectives = [{ of = "rms_error_m" }]
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (" }]", ", lower = 2.0, upper = 1.0 }]", "tuning.parameters.0.lower = 2.0: expected less than upper = 1"),
        (" }]", ", lower = 9.0 }]", "lower = 9.0: expected less than upper = 6.4"),
        (" }]", ", start = 99.0 }]", "start = 99.0: expected a start between lower = 0.032 and upper = 6.4"),
        ("stiffness_1_s2", "stiffnes", r"parameters.0.key = .*base.stiffnes.: unknown key, .*did you mean"),
        ("controller.law.gains.base.stiffness_1_s2", "loop.period_s", "tuning.parameters.0.lower is missing"),
        ("controller.law.gains.base.stiffness_1_s2", "title", "not a number, expected the key of a number"),
        ("rms_error_m", "rms_eror_m", "no metric or signal 'rms_eror_m', expected .*did you mean"),
        ("rms_error_m", "rms(truth.base_z_m)", "no metric or signal 'truth.base_z_m'"),
        ("rms_error_m", "-" * 980 + "rms_error_m", r'tuning.objectives.0.of = "-+\.\.\.: nested too deeply, expected'),
        ("rms_error_m", "rms_error_m + 1" + "0" * 400, r"tuning.objectives.0.of = .*: a number is too large, expected"),
        ("[tuning]", "[tuning]\nsampler = 'grid'", "tuning.sampler = .grid.: expected"),
        (
            "[tuning]",
            "[tuning]\nscore = 1.0",
            r"tuning.score = 1.0: expected 'mean', 'worst' or a quantile between 0 and 1",
        ),
        (
            "[tuning]",
            "[tuning]\nscore = 'best'",
            r"tuning.score = .best.: expected 'mean', 'worst' or a quantile .* 0.9$",
        ),
        ("[tuning]", "[tuning]\ntrails = 3", "tuning.trails = 3: unknown key, expected .*did you mean 'trials'"),
        ("[tuning]", "[tuning]\nscenarios.heavy.modules.vehicle.bodies.base.mass_k = 3", "tuning.scenarios.heavy"),
        (
            "[tuning]",
            "[tuning]\nscenarios.a.simulation.plant.modules.robot.bodies.base.mass_kg = 3",
            r"tuning.scenarios.a.simulation.plant.modules.robot.bodies.base.mass_kg = 3: "
            r"no 'robot' in simulation.plant.modules, expected vehicle$",
        ),
        (
            "[tuning]",
            "[tuning]\nscenarios.a = {}\nchanges.simulation.plant.modules.robot.bodies.base.mass_kg = 3",
            r"tuning.changes.simulation.plant.modules.robot.bodies.base.mass_kg = 3: no 'robot' .*, expected vehicle$",
        ),
        (
            "[tuning]",
            "[tuning]\nscenarios.a.simulation.plant.modules.vehicle.bodies.base.mass_kg = -3",
            r"tuning.scenarios.a.simulation.plant.modules.vehicle.bodies.base.mass_kg = -3: expected a number",
        ),
        (
            "[tuning]",
            "[tuning]\nscenarios.a.simulation.events = [{ kind = 'fault', what = 'silent', device = 'vison', at_s=1}]",
            r'tuning.scenarios.a.simulation.events.0.device = "vison": no such device, expected .*did you mean',
        ),
        (
            "[tuning]",
            "[tuning]\nplants = 2\nspread = [{ key = 'loop.period_s', relative = 0.1 }]",
            r'tuning.spread.0.key = "loop.period_s": not of the plant, expected a key of modules',
        ),
        (
            "[tuning]",
            "[tuning]\nplants = 2\nspread = [{ key = 'devices.thrusters.units.r1.direction_rad', relative = 0.1 }]",
            r"tuning.spread.0.key = .*: not a number of this testbed, expected",
        ),
        (
            "[tuning]",
            "[tuning]\nscenarios.a.controller.law.gains.base.stiffness_1_s2 = 5.0",
            r"tuning.scenarios.a.controller.law.gains.base.stiffness_1_s2 = 5.0: expected a key that is no parameter",
        ),
        (
            "[tuning]",
            "[tuning]\nscenarios.a = {}\nchanges.controller.law.gains.base = { stiffness_1_s2 = 5.0 }",
            r"tuning.changes.controller.law.gains.base.stiffness_1_s2 = 5.0: expected a key that is no parameter",
        ),
        (
            'parameters = [{ key = "controller.law.gains.base.stiffness_1_s2" }]',
            "scenarios.a.modules.0.bodies.0.mass_kg = 60.0\n"
            'parameters = [{ key = "modules.vehicle.bodies.base.mass_kg", lower = 40.0, upper = 60.0 }]',
            r"tuning.scenarios.a.modules.0.bodies.0.mass_kg = 60.0: expected a key that is no parameter",
        ),
        (
            'parameters = [{ key = "controller.law.gains.base.stiffness_1_s2" }]',
            "plants = 2\nspread = [{ key = 'modules.vehicle.bodies.base.mass_kg', relative = 0.1 }]\n"
            "parameters = [{ key = 'simulation.plant.modules.vehicle.bodies.base.mass_kg', "
            "lower = 40.0, upper = 60.0, start = 50.0 }]",
            r'tuning.spread.0.key = "modules.vehicle.bodies.base.mass_kg": expected a key that is no parameter',
        ),
        (
            " }]",
            ' }, { key = "controller.law.gains.base.stiffness_1_s2" }]',
            "tuning.parameters: key 'controller.law.gains.base.stiffness_1_s2' occurs twice, expected it once",
        ),
        (
            'parameters = [{ key = "controller.law.gains.base.stiffness_1_s2" }]',
            'parameters = [{ key = "modules.vehicle.bodies.base.mass_kg", lower = 40.0, upper = 60.0 }, '
            '{ key = "modules.0.bodies.base.mass_kg", lower = 40.0, upper = 60.0 }]',
            "tuning.parameters: key 'modules.vehicle.bodies.base.mass_kg' occurs twice, expected it once",
        ),
        (
            "[tuning]",
            "[tuning]\nplants = 2\nspread = [{ key = 'modules.vehicle.bodies.base.mass_kg', relative = 0.1 }, "
            "{ key = 'modules.vehicle.bodies.base.mass_kg', relative = 0.2 }]",
            "tuning.spread: key 'modules.vehicle.bodies.base.mass_kg' occurs twice, expected it once",
        ),
        (
            "[tuning]",
            "[tuning]\nplants = 2\nspread = [{ key = 'modules.vehicle.bodies.base.mass_kg', relative = 0.1 }, "
            "{ key = 'modules.0.bodies.0.mass_kg', relative = 0.2 }]",
            "tuning.spread: key 'modules.vehicle.bodies.base.mass_kg' occurs twice, expected it once",
        ),
        ("[tuning]", "[tuning]\nscenarios.a.seed = 3", "tuning.scenarios.a.seed = 3: expected no seed here, because"),
        ("[tuning]", "[tuning]\nscenarios.a = {}\nchanges.seed = 3", "tuning.changes.seed = 3: expected no seed here"),
        (
            'key = "controller.law.gains.base.stiffness_1_s2"',
            'key = "seed", lower = 1, upper = 9',
            r'tuning.parameters.0.key = "seed": expected another key, because every run has a seed of tuning.seeds',
        ),
        ("[tuning]", "[tuning]\nplants = 3", "tuning.spread is missing, expected what differs between the plants"),
        ("[tuning]", "[other]", "other = .*unknown key, expected tuning"),
    ],
)
def test_a_table_that_does_not_fit_is_one_sentence_and_leaves_nothing(
    granite: Call, tmp_path: Path, old: str, new: str, words: str
):
    (tmp_path / "table.toml").write_text(TABLE.replace(old, new, 1))
    said = sentence_of(granite("tune", "free-flyer", "--tuning", "table.toml", "--trials", 1, "--processes", 1))
    assert re.search(words, said), said
    assert said.startswith("granite: table.toml: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.toml"]


def test_a_sampler_that_does_not_fit_the_table_is_one_sentence(granite: Call, tmp_path: Path):
    said = sentence_of(granite("tune", "free-flyer", "--sampler", "cma_es"))
    assert "free-flyer: tuning.sampler = \"cma_es\": expected 'tpe' or 'nsga_ii'" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_session_by_a_file_is_gone_on_with_by_its_own_table(granite: Call, tmp_path: Path):
    (tmp_path / "table.toml").write_text(TABLE)
    few = ["--set", "loop.duration_s=0.5", "--processes", 1, "--json"]
    granite("tune", "free-flyer", "--tuning", "table.toml", "--trials", 2, "--out", "s", *few)
    assert len(granite("tune", "free-flyer", "--resume", "s", "--trials", 3, *few).json["trials"]) == 3
    said = sentence_of(granite("tune", "free-flyer", "--resume", "s", "--seed", 9, *few[:2]))
    assert "was tuned otherwise: tuning.seed differs" in said


def test_a_missing_testbed_and_a_missing_table_are_named(granite: Call):
    assert "BED is missing, expected a testbed, or one of start, show" in sentence_of(granite("tune"))
    said = sentence_of(granite("tune", "spot"))
    assert "spot: tuning is missing, expected a table, in the testbed or by --tuning FILE, such as those in" in said
    assert not Path("runs").exists()


def test_the_list_has_what_parts_declare_and_every_metric(granite: Call):
    said = granite("tune", "free-flyer", "--list").out
    for word in (STIFFNESS, "controller.estimator.joint_rad_s2_per_rthz", "propellant_n_s", "margin.table_edge"):
        assert word in said


@pytest.mark.parametrize("bed", quick(["free-flyer", "fixed-dual-arm/joint-pd"], "free-flyer"))
def test_no_part_is_named_where_runs_are_compiled(bed: str, granite: Call):
    assert "compiled" not in granite("tune", bed, "--list").err


def test_parts_that_keep_the_runs_from_being_compiled_are_named(granite: Call):
    assert "runs are not compiled: devices.vision " in granite("tune", "free-flyer/camera", "--list").err


@pytest.mark.slow
def test_a_session_is_made_by_the_command_and_gone_on_with(granite: Call, tmp_path: Path):
    few = ["--set", "loop.duration_s=0.5", "--processes", 1]
    made = granite("tune", "free-flyer", "--trials", 2, "--out", "s", *few, "--json").json
    assert [trial["number"] for trial in made["trials"]] == [0, 1]
    assert made["trials"][0]["parameters"][STIFFNESS] == 6.0
    assert "session 's' exists" in sentence_of(granite("tune", "free-flyer", "--out", "s", *few))
    gone_on = granite("tune", "free-flyer", "--resume", "s", "--trials", 3, *few, "--json").json
    assert gone_on["trials"][:2] == made["trials"]
    assert len(gone_on["trials"]) == 3
    said = sentence_of(granite("tune", "free-flyer/ideal", "--resume", "s", *few))
    assert "is of another testbed" in said


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_found(tmp_path: Path):
    command = [sys.executable, "-m", "granite.cli", "tune", "free-flyer", "--set", "loop.duration_s=0.5"]
    command += ["--trials", "400", "--out", "s"]
    began = subprocess.Popen(
        [*command, "--trials", "400", "--out", "s"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "s/study.db").exists() or Session.read(tmp_path / "s").study().kept < 8:
        assert began.poll() is None
        time.sleep(0.2)
    began.send_signal(signal.SIGINT)
    said = began.communicate(timeout=300)[1]
    assert began.returncode == STOPPED
    assert re.fullmatch(
        r"granite: stopped by the operator: \d+ trials are kept, go on by granite tune .* --resume s\n", said
    )
    assert Session.read(tmp_path / "s").study().kept % 4 == 0


def test_a_promotion_keeps_link_mode_and_line_ends_of_the_file(granite: Call, session: Session, tmp_path: Path):
    (tmp_path / "beds").mkdir()
    real, link = tmp_path / "beds/p.toml", tmp_path / "link.toml"
    preset = (Path(__file__).parents[2] / "config/testbeds/free-flyer.toml").read_text()
    text = f"# free-flyer with the gains of trial 1 of mine: no result\n{preset}"
    real.write_bytes(("\ufeff" + text.replace("\n", "\r\n")).encode())
    real.chmod(0o600)
    link.symlink_to(real)
    assert granite("tune", "promote", session.folder, 3, "--into", link).code == 0
    assert to_json(load(real)) == to_json(load("free-flyer", four_digits(session.trial(3).parameters)))
    written = real.read_bytes().decode()
    assert written.startswith("\ufeff# free-flyer with the gains of trial 3 of ")
    assert written.count("\r\n") == written.count("\n") == text.count("\n")
    assert granite("tune", "promote", session.folder, 2, "--out", link, "--overwrite").code == 0
    assert load(real).name == "link"
    assert (link.is_symlink(), real.stat().st_mode & 0o777) == (True, 0o600)
    real.unlink()
    assert "link.toml' exists" in sentence_of(granite("tune", "promote", session.folder, 3, "--out", link))
    (tmp_path / "one.urdf").write_text(
        '<robot name="one"><link name="hull"><inertial><mass value="12"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>'
    )
    assert granite("new", link, "--urdf", "one.urdf", "--overwrite").code == 0
    assert (link.is_symlink(), real.is_file(), load(link).name) == (True, True, "link")
    real.write_bytes(b"name = '\xff'")
    assert "not text in UTF-8" in sentence_of(granite("tune", "promote", session.folder, 3, "--into", link))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["beds", "link.toml", "one.urdf", "p.toml"]


@pytest.mark.slow
def test_the_command_that_goes_on_after_ctrl_c_works_as_it_is_printed(
    granite: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "my table.toml").write_text(TABLE)
    bed = tmp_path / "my bed.toml"
    bed.write_text((Path(__file__).parents[2] / "config/testbeds/free-flyer.toml").read_text())
    typed = ["--set", "loop.duration_s=0.3", "--set", "title=two words; one run"]
    typed += ["--tuning", "my table.toml", "--trials", "1", "--seed", "9", "--out", "my session"]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("granite.tuning.driver.drive", interrupted)
        said = sentence_of(granite("tune", "my bed.toml", *typed), STOPPED)
    words = shlex.split(said.partition("go on by ")[2])
    assert words[0] == "granite"
    assert len(granite(*words[1:], "--json").json["trials"]) == 1
    said = sentence_of(granite("tune", "my bed.toml", *typed))
    assert said.endswith("session 'my session' exists, expected a new name, or --resume 'my session'\n")


def four_digits(numbers: dict[str, float]) -> dict[str, float]:
    return {key: float(f"{number:.4g}") for key, number in numbers.items()}


def test_the_gains_of_a_trial_are_written_into_a_file_that_a_person_wrote(
    granite: Call, session: Session, tmp_path: Path
):
    mine = tmp_path / "mine.toml"
    text = (Path(__file__).parents[2] / "config/testbeds/free-flyer.toml").read_text()
    mine.write_text(text)
    said = granite("tune", "promote", session.folder, 3, "--into", mine).out
    assert said.strip().endswith("mine.toml, with 2 numbers of trial 3")
    assert to_json(load(mine)) == to_json(load("free-flyer", four_digits(session.trial(3).parameters)))
    assert sum(a != b for a, b in zip(text.splitlines(), mine.read_text().splitlines(), strict=True)) == 1
    granite("tune", "promote", session.folder, 3, "--out", "promoted.toml")
    head, *rest = Path("promoted.toml").read_text().splitlines()
    assert " with the gains of trial 3 of " in head
    granite("tune", "promote", session.folder, 4, "--into", "promoted.toml")
    again = Path("promoted.toml").read_text().splitlines()
    assert " with the gains of trial 4 of " in again[0]
    assert len(again) == 1 + len(rest)
    Path("promoted.toml").unlink()
    mine.write_text(text.replace("base = { stiffness_1_s2 = ", "base = { # broken", 1))
    before = mine.read_text()
    assert "is not TOML" in sentence_of(granite("tune", "promote", session.folder, 3, "--into", mine))
    assert (mine.read_text(), [path.name for path in tmp_path.iterdir()]) == (before, ["mine.toml"])
    assert "can't be read" in sentence_of(granite("tune", "promote", session.folder, 3, "--into", "none.toml"))
