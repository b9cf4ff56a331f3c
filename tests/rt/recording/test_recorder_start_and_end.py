"""How a recorder starts and ends: names, locks, closed streams, a full disk, a terminal that vanishes."""

import contextlib
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.logs.channels import Channels
from granite.logs.log import read_log
from granite.logs.unfinished import unfinished_name
from granite.rt import run as run_module
from granite.rt.recording import recorder as recorder_module
from granite.rt.recording.recorder import Recorder
from granite.rt.run import Run
from tests.support.recorded_ticks import make_tick

BED = load("free-flyer")
DONE = {"ended": "completed", "text": "the run reached its end"}
GRANITE = [sys.executable, "-m", "granite.cli"]


def start(path, **options):
    recorder = Recorder.start(BED, Channels.of(BED), path, info={}, virtual=True, **options)
    recorder.begin(0)
    return recorder


def record(recorder, n=3):
    for k in range(n):
        recorder.record(recorder.channels.pack(*make_tick(BED, k)))


def test_a_second_run_into_the_same_log_is_refused_and_the_first_one_is_whole(tmp_path):
    path = tmp_path / "same.mcap"
    first = start(path, overwrite=True)
    with pytest.raises(InputError, match=r"being recorded by another run, into 'same\.part\.mcap'"):
        start(path, overwrite=True)
    record(first)
    assert first.close(DONE).failure is None
    assert read_log(path).ticks == 3
    assert os.listdir(tmp_path) == ["same.mcap"]


def test_the_log_that_is_replaced_stays_until_the_run_has_ended(tmp_path):
    path = tmp_path / "run.mcap"
    before = start(path)
    record(before, 5)
    before.close(DONE)
    after = start(path, overwrite=True)
    record(after, 2)
    assert read_log(path).ticks == 5
    after.close(DONE)
    assert read_log(path).ticks == 2


def test_a_killed_run_leaves_its_log_beside_and_the_next_one_does_not_replace_it(tmp_path):
    path = tmp_path / "run.mcap"
    killed = start(path)
    killed._process.kill()
    killed.close(DONE)
    assert os.listdir(tmp_path) == ["run.part.mcap"]
    assert unfinished_name(path).stat().st_size > 0
    with pytest.raises(InputError, match=r"run\.part\.mcap' exists, of a run that was killed.*granite recover"):
        start(path)
    again = start(path, overwrite=True)
    record(again)
    again.close(DONE)
    assert os.listdir(tmp_path) == ["run.mcap"]


def test_a_log_that_appears_during_the_run_is_not_replaced(tmp_path):
    path = tmp_path / "run.mcap"
    recorder = start(path)
    record(recorder)
    path.write_text("dear to someone")
    assert "exists" in recorder.close(DONE).failure
    assert path.read_text() == "dear to someone"
    assert read_log(unfinished_name(path)).ticks == 3


def test_a_link_to_a_log_stays_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "run.mcap"
    link.symlink_to(tmp_path / "disk" / "real.mcap")
    recorder = start(link)
    record(recorder)
    recorder.close(DONE)
    assert link.is_symlink()
    assert read_log(link).ticks == 3


def test_a_summary_larger_than_a_pipe_is_handed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder_module, "_CLOSE_LIMIT", 20.0)
    recorder = start(tmp_path / "run.mcap")
    record(recorder)
    recorded = recorder.close({**DONE, "text": "long " * 50_000})
    assert recorded.failure is None
    assert len(recorded.summary["text"]) == 250_000


def test_a_recorder_that_does_not_finish_is_waited_for_with_a_word(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(recorder_module, "_CLOSE_LIMIT", 1.0)
    monkeypatch.setattr(recorder_module, "_SILENT_S", 0.1)
    recorder = start(tmp_path / "run.mcap")
    record(recorder)
    os.kill(recorder.pid, signal.SIGSTOP)
    assert recorder.close(DONE).failure == "the recorder did not finish in 1 s"
    os.kill(recorder.pid, signal.SIGKILL)
    assert "the recorder finishes the log, for 1 s at most" in capfd.readouterr().err


def test_a_fifo_is_refused_and_no_process_is_left(tmp_path):
    path = tmp_path / "run.mcap"
    os.mkfifo(path)
    with pytest.raises(InputError, match="is not a file"):
        start(path, overwrite=True)
    done = subprocess.run(
        [*GRANITE, "sim", "free-flyer", "--duration", "0.1", "--out", str(path), "--overwrite"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, "is not a file" in done.stderr) == (2, True)
    with pytest.raises(InputError, match="is not a file"):
        read_log(path)


def test_a_disk_that_is_full_at_the_start_is_refused_and_leaves_no_file(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    bed = BED.model_copy(update={"recording": BED.recording.model_copy(update={"ring_rows": 16}), "note": "x" * 40_000})
    resource.setrlimit(resource.RLIMIT_FSIZE, (35_000, hard))  # enough for the ring, not for the head of a log
    try:
        with pytest.raises(InputError, match="can't be written"):
            Recorder.start(bed, Channels.of(bed), tmp_path / "run.mcap", info={}, virtual=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", pytest.param("<&-", marks=pytest.mark.slow)])
def test_closed_standard_streams_do_not_harm_the_log(tmp_path, closed):
    path = tmp_path / "run.mcap"
    command = f"{sys.executable} -m granite.cli sim free-flyer --duration 0.2 --out {path} {closed}"
    done = subprocess.run(["bash", "-c", command], timeout=300, check=False, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    log = read_log(path)
    assert (log.ticks, log.complete, log.summary["ended"]) == (40, True, "completed")


_VANISHING = """
import os, sys, json
sys.path.insert(0, sys.argv[2])
from test_recorder_start_and_end import DONE, record, start
recorder = start(sys.argv[1], progress=True)
record(recorder, 200)
sys.stdin.readline()
closed = recorder.close(DONE)
open(sys.argv[1] + ".closed", "w").write(json.dumps([closed.failure, closed.summary["ended"]]))
"""


@pytest.mark.slow
def test_a_terminal_that_vanishes_does_not_lose_the_summary(tmp_path):
    path, (master, slave) = tmp_path / "run.mcap", pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _VANISHING, str(path), str(Path(__file__).parent)],
        stdin=subprocess.PIPE, stderr=slave, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    os.close(slave)
    assert os.read(master, 1)  # the bar is drawn
    os.close(master)
    process.communicate("\n", timeout=300)
    assert json.loads(Path(f"{path}.closed").read_text()) == [None, "completed"]
    assert read_log(path).summary["ended"] == "completed"


def test_the_start_in_the_log_is_that_of_the_first_tick(tmp_path, monkeypatch):
    prepared, ticked = [], []

    @contextlib.contextmanager
    def real_time(*arguments, **options):
        with run_module.real_time_before(*arguments, **options) as granted:
            prepared.append(time.time_ns())
            yield granted

    monkeypatch.setattr(run_module, "real_time_before", run_module.real_time, raising=False)
    monkeypatch.setattr(run_module, "real_time", real_time)

    class Noting(Run):
        def loop(self, *arguments):
            loop = super().loop(*arguments)
            tick = loop.tick

            def noting(k, t, delay):
                ticked.append(time.time_ns())
                return tick(k, t, delay)

            loop.tick = noting
            return loop

    path = tmp_path / "run.mcap"
    Noting(load("free-flyer", ["loop.duration_s=0.05", "loop.priority=0"])).record(path, realtime=True)
    # The recorder starts, and the loop asks the system for priority, before the run starts.
    assert prepared[0] <= int(read_log(path).info["start_ns"]) <= ticked[0]


@pytest.mark.slow
def test_the_final_state_is_that_at_the_end_of_the_run(tmp_path):
    bed = load("mrds-1", ["loop.duration_s=0.5"])
    longer = load("mrds-1", ["loop.duration_s=0.55"])
    summary = Run(bed).record(tmp_path / "run.mcap")
    Run(longer).record(tmp_path / "longer.mcap")
    log = read_log(tmp_path / "longer.mcap")
    (row,) = np.flatnonzero(np.isclose(log.t, 0.5))
    assert summary["final_t_s"] == pytest.approx(0.5)
    for name, coordinate in ((c.name, c.key) for c in bed.positions):
        assert summary["final_state"][name]["value"] == log["/truth"][coordinate][row]
    for name, coordinate in ((c.name, c.key) for c in bed.velocities):
        assert summary["final_rate"][name]["value"] == log["/truth"][coordinate][row]


def test_a_run_that_was_stopped_before_its_first_tick_replaces_no_log(tmp_path):
    path = tmp_path / "run.mcap"
    before = start(path)
    record(before, 5)
    before.close(DONE)
    stopped = start(path, overwrite=True)
    assert stopped.close({"ended": "operator_stop", "text": "the operator stopped the run"}).failure is None
    assert read_log(path).ticks == 5
    assert os.listdir(tmp_path) == ["run.mcap"]
