"""A stranger's log or session names files of this machine: they are read without them, and run only trusted ones."""

import json
from pathlib import Path
from typing import Any

import pytest

import granite as api
from granite.config.errors import InputError
from granite.config.loader import load, to_json
from granite.config.parts import fingerprint
from granite.logs.mcap_file import McapFile
from granite.tuning.driver import drive
from granite.tuning.session import Session
from tests.support.analytic_studies import Bowl, table
from tests.support.command_line import Call, sentence_of
from tests.support.command_line import granite as granite

EVIL = """
from pathlib import Path

Path(__file__).with_suffix(".ran").touch()
from granite.controllers.laws.computed_torque import ComputedTorque as Law


def path(t):
    return {"base_x_m": 0.1 * t}
"""
SHORT = {"loop.duration_s": 0.2}


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A file that leaves another one when it is imported."""
    file = tmp_path / "evil.py"
    file.write_text(EVIL)
    return file


def has_run(evil: Path) -> bool:
    """Whether it was imported since the last time."""
    ran = evil.with_suffix(".ran").exists()
    evil.with_suffix(".ran").unlink(missing_ok=True)
    return ran


def forge(genuine: api.Log, path: Path, changes: dict[str, Any], sources: dict[str, str] | None = None) -> Path:
    """The log with another testbed, and fingerprints that fit it."""
    content = json.loads(to_json(genuine.bed))
    for key, value in changes.items():
        table = content
        *above, last = key.split(".")
        for name in above:
            table = table[name]
        table[last] = value
    info = {**genuine.info, "sources": json.dumps(sources or {})}
    file = McapFile(path, genuine.channels, json.dumps(content), info, int(genuine.info["start_ns"]))
    file.write(genuine.rows)
    file.close()
    return path


@pytest.fixture
def genuine(tmp_path: Path) -> api.Log:
    return api.simulate(load("free-flyer", SHORT), tmp_path / "genuine.mcap")


def test_a_forged_log_is_replayed_only_with_trust(granite: Call, genuine: api.Log, evil: Path, tmp_path: Path):
    kind = {"controller.law.kind": f"{evil}:Law"}
    unknown = forge(genuine, tmp_path / "unknown.mcap", kind)
    other = forge(genuine, tmp_path / "other.mcap", kind, {str(evil): "0" * 64})
    assert "evil.py' has no SHA-256 there" in granite("replay", unknown).err
    assert "evil.py' changed since, expected the file as it was, or --trust" in granite("replay", other).err
    assert granite("replay", other).code == 2
    assert not has_run(evil)
    said = granite("replay", other, "--trust")
    assert said.code == 0
    assert f"granite: runs the code of {evil}\n" in said.err
    assert "evil.py changed since the run" in said.out
    assert has_run(evil)


def test_a_forged_log_never_runs_a_file_of_the_current_folder(
    granite: Call, genuine: api.Log, evil: Path, tmp_path: Path
):
    kind = {"controller.law.kind": "evil.py:Law"}
    log = forge(genuine, tmp_path / "relative.mcap", kind, {"evil.py": fingerprint(str(evil))})
    assert (Path.cwd() / "evil.py").samefile(evil)
    for more in ([], ["--trust"]):
        said = granite("replay", log, *more)
        assert said.code == 2
        assert "it names the code 'evil.py' without its folder, expected an absolute path" in said.err
    assert not has_run(evil)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("info", ()),
        pytest.param("plot", ("--out", "plot.png"), marks=pytest.mark.slow),
        ("export", ("--out", "table.csv")),
        ("export", ("--out", "scene.mcap")),
        ("export", ("--layout", "foxglove", "--out", "layout.json")),
        ("recover", ("--out", "whole.mcap")),
    ],
)
def test_a_forged_log_is_shown_written_anew_and_recovered_without_its_code(
    command: str, options: tuple[str, ...], granite: Call, genuine: api.Log, evil: Path, tmp_path: Path
):
    kind = {"controller.law.kind": f"{evil}:Law"}
    log = forge(genuine, tmp_path / "forged.mcap", kind, {str(evil): fingerprint(str(evil))})
    assert granite(command, log, *options).code == 0
    assert not has_run(evil)
    if options:
        assert (tmp_path / options[-1]).stat().st_size > 100


@pytest.mark.parametrize("command", ["info", "plot", "export", "replay"])
def test_a_path_that_a_forged_log_has_no_samples_of_is_not_run(
    command: str, granite: Call, genuine: api.Log, evil: Path, tmp_path: Path
):
    behaviour = {"kind": "follow", "path": f"{evil}:path", "duration_s": 1.0}
    log = forge(genuine, tmp_path / "path.mcap", {"behaviour": behaviour}, {str(evil): fingerprint(str(evil))})
    assert "does not run here" in sentence_of(granite(command, log))
    assert not has_run(evil)


def test_an_own_part_that_is_as_it_was_is_named_and_replayed(granite: Call, evil: Path, tmp_path: Path):
    bed = load("free-flyer", {**SHORT, "controller.law.kind": f"{evil}:Law"})
    api.simulate(bed, tmp_path / "own.mcap")
    said = granite("replay", tmp_path / "own.mcap")
    assert said.code == 0
    assert f"granite: runs the code of {evil}\n" in said.err


def session_of(evil: Path, folder: Path) -> Session:
    """A session whose law is the file's, with its trials."""
    bed = load("free-flyer", {**SHORT, "controller.law.kind": f"{evil}:Law"})
    made = Session.create(folder, bed, table(trials=4))
    drive(made.bed, made.table, made.study(), Bowl())
    return made


@pytest.mark.slow
def test_a_session_is_shown_compared_and_reported_without_the_code_of_its_parts(
    granite: Call, evil: Path, tmp_path: Path
):
    session_of(evil, tmp_path / "s")
    evil.write_text(EVIL + "# another content, so that it is imported anew\n")
    has_run(evil)
    assert granite("tune", "show", tmp_path / "s").code == 0
    assert granite("tune", "show", tmp_path / "s", "--plot", tmp_path / "s.png").code == 0
    assert granite("tune", "compare", tmp_path / "s", tmp_path / "s").code == 0
    assert granite("tune", "report", tmp_path / "s").code == 0
    assert not has_run(evil)
    promote = "tune", "promote", tmp_path / "s", "--out", tmp_path / "new.toml"
    assert "evil.py' changed since" in granite(*promote).err
    assert not has_run(evil)
    assert granite(*promote, "--trust").code == 0
    assert has_run(evil)


@pytest.mark.parametrize("kind", ["evil.py:Law", "{evil}:Law"])
def test_a_forged_session_runs_nothing_when_it_is_read(kind: str, granite: Call, evil: Path, tmp_path: Path):
    made = session_of(evil, tmp_path / "s")
    stored = made.folder / "session.json"
    text = stored.read_text().replace(f"{evil}:Law", kind.format(evil=evil))
    stored.write_text(json.dumps({**json.loads(text), "sources": {}}))
    evil.write_text(EVIL + f"# {kind}\n")
    has_run(evil)
    for words in (["show", "s"], ["report", "s"], ["compare", "s", "s"]):
        assert granite("tune", *words).code == 0
    assert granite("tune", "promote", "s").code == 2
    assert not has_run(evil)


def test_a_session_goes_on_with_other_code_only_where_that_is_trusted(evil: Path, tmp_path: Path):
    made = session_of(evil, tmp_path / "s")
    read = Session.read(made.folder)
    assert read.resumed(made.bed, made.table).parameters == made.parameters
    evil.write_text(EVIL + "# changed\n")
    with pytest.raises(InputError, match=r"session '.*evil\.py' changed since"):
        read.resumed(made.bed, made.table)
    assert read.resumed(made.bed, made.table, trust=True).sources == {str(evil): fingerprint(str(evil))}
