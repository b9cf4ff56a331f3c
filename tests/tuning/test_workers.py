"""Workers: local processes and a Dask cluster give the same study, also when one of them is killed."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from granite.config.errors import InputError
from granite.tuning.driver import Progress, drive
from granite.tuning.session import Session
from granite.tuning.study import TrialResult
from granite.tuning.worker_processes import local_workers
from granite.tuning.workers import workers
from tests.support.analytic_studies import BED, table

TABLE = table(trials=8, seeds=[1, 2], objectives=[{"of": "rms_error_m"}, {"of": "propellant_n_s"}])


def die_once(file: str) -> str:
    """A work that kills its own process the first time."""
    if file and not Path(file).exists():
        Path(file).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return file


_KILLED_TRACKER = """
import os, signal
from multiprocessing import resource_tracker
from granite.tuning.worker_processes import local_workers
if __name__ == "__main__":
    with local_workers(2) as made:
        assert list(made.answers(abs, [-1, -2])) == [1, 2]
        tracker = resource_tracker._resource_tracker._pid
        os.kill(tracker, signal.SIGKILL)
        os.waitid(os.P_PID, tracker, os.WEXITED | os.WNOWAIT)  # dead, and left for its parent to notice
        assert list(made.answers(abs, [-3])) == [3]
"""


def test_a_killed_resource_tracker_leaves_no_word_on_the_terminal(tmp_path: Path):
    (script := tmp_path / "work.py").write_text(_KILLED_TRACKER)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_work_of_a_killed_process_is_done_again(tmp_path: Path):
    cases = ["", str(tmp_path / "died"), "", ""]
    with local_workers(2) as made:
        assert list(made.answers(die_once, cases)) == cases


@pytest.mark.slow
def test_work_that_is_given_up_leaves_no_process_and_no_thread():
    # In a process of its own: what the pool's thread says at the end of the interpreter is seen too.
    program = """
import threading, time
from granite.tuning.worker_processes import local_workers
if __name__ == "__main__":
    with local_workers(2) as made:
        answers = made.answers(time.sleep, [0.0] + 30 * [5.0])
        next(answers)
        del answers
    print(threading.active_count(), len(__import__("multiprocessing").active_children()))
"""
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("1 0\n", "", 0)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(("listens", "words"), [(False, "Timed out trying to connect"), (True, "nothing is said")])
def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch, listens: bool, words: str):
    pytest.importorskip("distributed", reason="distributed is not installed: pip install granite-robotics[dask]")
    monkeypatch.setattr("granite.tuning.workers._PATIENCE_S", 0.3)
    if listens:  # it accepts and says nothing: only the limit of the process ends that
        monkeypatch.setattr("granite.tuning.workers._START_S", 0.0)
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        if listens:
            port.listen()
        address = f"tcp://127.0.0.1:{port.getsockname()[1]}"
        said = rf"no Dask scheduler answers within 0.3 s \(.*{words}.*expected an address"
        with pytest.raises(InputError, match=said), workers(dask=address):
            pass


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    words = r"distributed is not installed, expected it: pip install granite-robotics\[dask\]"
    with pytest.raises(InputError, match=words), workers(dask="tcp://127.0.0.1:1"):
        pass


@pytest.fixture
def cluster() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers, each in its own process."""
    pytest.importorskip("distributed", reason="distributed is not installed: pip install granite-robotics[dask]")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    module = [sys.executable, "-m"]
    scheduler = [
        *module,
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--no-dashboard",
    ]
    worker = [*module, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    started = [subprocess.Popen(scheduler, env=environment, **quiet)]  # type: ignore[call-overload]
    started += [subprocess.Popen(worker, env=environment, **quiet) for _ in range(2)]  # type: ignore[call-overload]
    try:
        _wait_for(address, 2)
        yield address, started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


def _wait_for(address: str, n: int) -> None:
    import distributed

    for _ in range(60):
        try:
            with distributed.Client(address, timeout="5s", set_as_default=False) as client:
                client.wait_for_workers(n, timeout=120)
                return
        except (OSError, TimeoutError):
            time.sleep(0.5)
    raise TimeoutError(address)


def tuned(folder: Path, report: Any = lambda known: None, **where: Any) -> list[TrialResult]:
    session = Session.create(folder, BED, TABLE)
    with workers(**where) as made:
        drive(session.bed, session.table, session.study(), made, report)
    return session.study().results()


@pytest.mark.slow
def test_a_dask_cluster_gives_the_local_study_also_when_a_worker_is_killed(
    tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
):
    address, processes = cluster
    in_one = tuned(tmp_path / "one", processes=1)
    assert all(result.objectives for result in in_one[:4])
    assert tuned(tmp_path / "two", processes=2) == in_one

    killer = threading.Thread(target=_kill_when_busy, args=(address, processes[0]))

    def begin_to_kill(known: Progress) -> None:
        if known.told == 4:  # in mid-study
            killer.start()

    assert tuned(tmp_path / "dask", begin_to_kill, dask=address) == in_one
    killer.join()
    assert processes[0].wait(10) == -signal.SIGKILL
    assert processes[1].poll() is None


def _kill_when_busy(address: str, process: subprocess.Popen[bytes]) -> None:
    """Kill a worker while it makes a run."""
    import distributed

    with distributed.Client(address, set_as_default=False) as client:
        own = next(worker for worker, pid in client.run(os.getpid).items() if pid == process.pid)
        while not client.processing().get(own):
            time.sleep(0.01)
        process.kill()
