"""Runs that can be watched are found by other programs, as long as they last."""

import json
import os
import stat
from pathlib import Path

import pytest

from granite.config.errors import InputError
from granite.rt.process.run_register import RegisteredRun, register_folder, registered, registered_runs

RUN = RegisteredRun(os.getpid(), "free-flyer", "realtime", "/tmp/run.part.mcap", 8765, None)


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "granite"


def test_a_run_is_found_while_it_lasts(runtime: Path):
    assert registered_runs() == []
    with registered(RUN):
        assert registered_runs() == [RUN]
        [file] = runtime.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(runtime.stat().st_mode) == 0o700
    assert registered_runs() == []
    assert list(runtime.iterdir()) == []


def test_the_file_of_a_dead_run_goes_and_a_damaged_one_is_passed_over(runtime: Path):
    register_folder()
    (runtime / "999999999.json").write_text(json.dumps(RUN._replace(pid=999999999)._asdict()))
    (runtime / "1.json").write_text("{")
    (runtime / "2.json").write_text('{"other": 1}')
    assert registered_runs() == []
    assert {path.name for path in runtime.iterdir()} == {"1.json", "2.json"}


def test_a_folder_that_others_can_write_is_not_used(runtime: Path):
    register_folder()
    runtime.chmod(0o777)
    with pytest.raises(InputError, match="other users can write"):
        register_folder()
    with registered(RUN):  # the run goes on all the same
        assert registered_runs() == []
