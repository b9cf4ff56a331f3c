"""The recorder: what the loop hands over is in the log, whoever is killed."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from granite.config.errors import InputError
from granite.config.loader import load, to_json
from granite.config.reasons import Reason
from granite.config.verdict_subjects import subjects
from granite.logs.channels import Channels
from granite.logs.events import Events
from granite.logs.log import read_log
from granite.logs.mcap_file import McapFile
from granite.logs.summary import Summary
from granite.rt.process.posix_signals import TERMINATING
from granite.rt.recording.recorder import Recorder
from granite.rt.recording.recorder_process import Pause
from tests.support.recorded_ticks import bits, make_tick
from tests.support.waiting import is_alive, until

BED = load("free-flyer")
DONE = {"ended": "completed", "text": "the run reached its end"}


@pytest.fixture(autouse=True)
def _fail_instead_of_hanging():
    def give_up(number, frame):
        raise AssertionError("hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def start(path, bed=BED, virtual=True, start_ns=0, **options):
    made = Recorder.start(bed, Channels.of(bed), path, info={"execution": "compiled"}, virtual=virtual, **options)
    made.begin(start_ns)
    return made


def small_ring(rows):
    return BED.model_copy(update={"recording": BED.recording.model_copy(update={"ring_rows": rows})})


def record(recorder, tick):
    return recorder.record(recorder.channels.pack(*tick))


def waits():
    """How often this thread has waited for something so far: it gave the processor away by itself."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def closed_log(path):
    """The log once it is whole; the process that writes it is not ours to wait for."""

    def closed():
        try:
            return read_log(path).complete
        except InputError:
            return False

    until(closed)
    return read_log(path)


def test_a_run_comes_back_bit_for_bit_through_a_ring_far_smaller_than_it(tmp_path):
    path = tmp_path / "run.mcap"
    ticks = [make_tick(BED, k) for k in range(300)]
    recorder = start(path, small_ring(16))
    assert all(record(recorder, tick) == 0 for tick in ticks)
    recorded = recorder.close({**DONE, "wall_s": float("nan")})
    assert recorded[:3] == (300, 0, None)

    log = read_log(path)
    channels = Channels.of(BED)
    rows = [np.frombuffer(channels.pack(*tick)) for tick in ticks]
    np.testing.assert_array_equal(bits(log.rows), bits(rows))
    assert log.complete
    assert log.bed == small_ring(16).model_copy(update={"tuning": None})
    assert log.summary == recorded.summary
    assert log.summary["ticks"] == 300
    assert log.summary["ended"] == "completed"
    assert log.summary["wall_s"] is None
    assert log.events == ()
    assert log.info["execution"] == "compiled"


def test_an_independent_decoder_reads_the_same_numbers_by_name(tmp_path):
    path = tmp_path / "run.mcap"
    ticks = [make_tick(BED, k) for k in range(10)]
    recorder = start(path, virtual=False, start_ns=1_700_000_000_000_000_000)
    for tick in ticks:
        record(recorder, tick)
    recorder.close(DONE)

    channels = Channels.of(BED)
    seen = {topic.name: 0 for topic in channels.topics}
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()], validate_crcs=True)
        for schema, channel, message, decoded in reader.iter_decoded_messages(topics=list(seen)):
            tick = ticks[seen[channel.topic]]
            seen[channel.topic] += 1
            row = np.frombuffer(channels.pack(*tick))
            topic = next(t for t in channels.topics if t.name == channel.topic)
            assert re.fullmatch(rf"granite/msg/{topic.name[1:].capitalize()}[0-9A-F]{{8}}", schema.name)
            assert message.log_time == 1_700_000_000_000_000_000 + round(tick.sample.t * 1e9)
            for at, (_, value) in enumerate(topic.values, topic.start):
                assert bits([getattr(decoded, value.key)]) == bits([row[at]]), (topic.name, value.key)
    assert set(seen.values()) == {10}


def test_an_event_is_reported_once_with_its_name(tmp_path):
    path = tmp_path / "run.mcap"
    recorder = start(path)
    known = [subject.name for subject in subjects(BED)]
    clamped = {"subject": known.index("motors elbow_torque"), "value": -1.25, "limit": -1.0}
    stale = {"subject": known.index("vision"), "value": 0.51, "limit": 0.5}
    happenings = {
        3: {"reason": 2, **clamped},
        4: {"reason": 2},
        5: {"reason": 2, "lost": 2},
        6: {"lost": 2},
        7: {"lost": 2, "overruns": 1},
        8: {"lost": 2, "overruns": 1, "reason": 20, "stop": True, **stale},
    }
    for k in range(9):
        record(recorder, make_tick(BED, k, **happenings.get(k, {})))
    recorder.close({"ended": "operator_stop", "text": Reason.OPERATOR_STOP.text})
    events = read_log(path).events
    assert [(e["tick"], e["level"], e["name"]) for e in events] == [
        (3, "warning", "setpoint_clamped"),
        (5, "warning", "rows_lost"),
        (7, "warning", "overrun"),
        (8, "error", "sensor_stale"),
        (8, "error", "operator_stop"),
    ]
    assert events[0]["text"] == f"{Reason.SETPOINT_CLAMPED.text}: motors elbow_torque was -1.25 N m, limit -1 N m"
    assert events[3]["text"] == f"{Reason.SENSOR_STALE.text}: vision was 0.51 s, limit 0.5 s"
    assert events[1]["text"].startswith("2 rows lost")
    assert events[0]["t_s"] == 3 * BED.loop.period_s


def test_a_loop_with_deadlines_never_waits_for_a_recorder_that_hangs(tmp_path):
    path = tmp_path / "run.mcap"
    recorder = start(path, small_ring(16), virtual=False)
    os.kill(recorder.pid, signal.SIGSTOP)
    try:
        rows = [recorder.channels.pack(*make_tick(BED, k)) for k in range(300)]
        before = waits()
        lost = [recorder.record(row) for row in rows]
        assert waits() - before < 20
        assert lost[-1] >= 284 - 16  # one batch may have been under way
        assert lost == sorted(lost)
    finally:
        os.kill(recorder.pid, signal.SIGCONT)
    recorded = recorder.close(DONE)
    assert recorded.rows + recorded.lost == 300
    assert recorded.failure is None
    log = read_log(path)
    assert len(log.rows) == recorded.rows
    assert log.events[-1]["name"] == "rows_lost"


_LOOP = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from test_recorder import BED, make_tick, record, start
recorder = start(sys.argv[1])
print(recorder.pid, flush=True)
for k in range(500):
    record(recorder, make_tick(BED, k))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_loop_leaves_a_whole_log_and_no_shared_memory(tmp_path):
    path = tmp_path / "run.mcap"
    memory_before = set(os.listdir("/dev/shm"))
    loop = subprocess.run(
        [sys.executable, "-c", _LOOP, str(path), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    assert loop.returncode == -signal.SIGKILL
    log = closed_log(path)
    assert len(log.rows) == 500
    assert log.summary["ended"] == "loop_died"
    assert log.events[-1]["name"] == "loop_died"
    until(lambda: not is_alive(int(loop.stdout)))
    # Semaphores are those of other tests that run at the same time.
    left = set(os.listdir("/dev/shm")) - memory_before
    assert not [name for name in left if not name.startswith("sem.")]


@pytest.mark.parametrize("virtual", [True, False], ids=["virtual", "real time"])
def test_a_killed_recorder_leaves_what_was_flushed_and_an_unharmed_loop(tmp_path, virtual):
    path = tmp_path / "run.mcap"
    recorder = start(path, small_ring(32), virtual=virtual)
    ticks = [make_tick(BED, k) for k in range(20)]
    for tick in ticks:
        record(recorder, tick)

    def flushed():
        try:
            return len(read_log(path).rows) == 20
        except InputError:
            return False

    until(flushed)
    os.kill(recorder.pid, signal.SIGKILL)
    until(lambda: not recorder.alive)  # in virtual time the loop waits for one that is alive
    before = waits()
    for _ in range(1000):
        record(recorder, tick)
    assert waits() - before < 20
    assert recorder.lost >= 1000 - 32
    recorded = recorder.close(DONE)
    assert recorded.failure == "the recorder was killed by SIGKILL"
    assert recorded.lost >= 1000
    log = read_log(path)
    assert not log.complete
    assert len(log.rows) == 20
    assert log.bed == small_ring(32).model_copy(update={"tuning": None})
    rows = [np.frombuffer(recorder.channels.pack(*tick)) for tick in ticks]
    np.testing.assert_array_equal(bits(log.rows), bits(rows))


def test_signals_to_end_do_not_end_the_recorder_before_the_loop_is_done(tmp_path):
    path = tmp_path / "run.mcap"
    recorder = start(path)
    for k in range(50):
        record(recorder, make_tick(BED, k))
        if k == 20:
            for number in TERMINATING:
                os.kill(recorder.pid, number)
            time.sleep(0.05)
    assert os.getpgid(recorder.pid) != os.getpgid(0)
    assert recorder.close(DONE)[:3] == (50, 0, None)
    assert len(read_log(path).rows) == 50


def test_a_full_disk_is_reported_at_the_end_and_does_not_hold_up_the_loop(tmp_path):
    path = tmp_path / "run.mcap"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    try:
        recorder = start(path, small_ring(16))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for k in range(300):
        record(recorder, make_tick(BED, k))
    recorded = recorder.close(DONE)
    assert f"log '{path}' can't be written" in recorded.failure


@pytest.mark.parametrize("period_s", [0.001, 0.005, 0.02, 1 / 30])
def test_in_real_time_it_wakes_between_ticks_at_the_same_rate(period_s):
    pause, t, ends = Pause(1 / 30, 0.0, period_s), 0.0123, []
    for work_s in np.random.default_rng(5).uniform(0.0, 0.6 * period_s, 300):
        t += pause.until_a_tick_is_done(t)
        ends.append(t)
        t += work_s
    part = np.array(ends) / period_s % 1
    assert part.min() > 0.19
    assert part.max() < 0.21
    assert np.diff(ends).max() < 1 / 30 + 1.6 * period_s
    assert np.diff(ends).mean() == pytest.approx(1 / 30, abs=0.6 * period_s)


@pytest.mark.parametrize(("begun", "period_s"), [(None, 0.005), (0.0, 1.0)], ids=["virtual", "slow"])
def test_it_sleeps_as_long_as_it_should_where_no_tick_is_near(begun, period_s, monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    Pause(1 / 30, begun, period_s)()
    assert slept == [1 / 30]


def test_the_recorder_stands_behind_the_loop(tmp_path):
    recorder = start(tmp_path / "run.mcap")
    assert os.getpriority(os.PRIO_PROCESS, recorder.pid) >= 10
    assert os.sched_getscheduler(recorder.pid) == os.SCHED_OTHER
    recorder.close(DONE)


def test_an_existing_log_is_kept_without_a_request_to_replace_it(tmp_path):
    path = tmp_path / "run.mcap"
    path.write_text("dear to someone")
    with pytest.raises(InputError, match=f"log '{path}' exists"):
        start(path)
    assert path.read_text() == "dear to someone"
    recorder = start(path, overwrite=True)
    record(recorder, make_tick(BED, 0))
    recorder.close(DONE)
    assert len(read_log(path).rows) == 1


def test_a_log_that_can_not_be_written_is_refused_before_the_run(tmp_path):
    path = tmp_path / "nowhere" / "run.mcap"
    with pytest.raises(InputError, match=f"log '{path}' can't be written: No such file or directory"):
        start(path)


def test_what_reads_the_rows_does_not_grow_with_them(tmp_path: Path) -> None:
    """Blocks of their least and greatest values are in a file: of half an hour they are 10 MB."""
    channels = Channels.of(BED)
    row = np.nan_to_num(np.frombuffer(channels.pack(*make_tick(BED, 0))), posinf=1.0, neginf=-1.0)
    rows = np.tile(row, (128, 1))
    tick = channels.column("/timing", "tick")
    times = [channels.column("/sample", "t_s"), channels.column("/timing", "scheduled_s")]
    file = McapFile(str(tmp_path / "run.mcap"), channels, to_json(BED), {}, 0)
    readers = [file.write, Events(BED, channels, subjects(BED), file.event).look, Summary(BED, channels).update]
    sizes = []
    tracemalloc.start()
    for _ in range(50):
        for read in readers:
            read(rows)
        rows[:, tick] += len(rows)
        rows[:, times] += len(rows) * BED.loop.period_s
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    file.close()
    assert sizes[-1] - sizes[10] < 20e3
