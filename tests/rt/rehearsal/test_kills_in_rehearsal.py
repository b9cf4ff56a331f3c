"""Loop, recorder, plant or board killed or suspended in a rehearsal: outputs are safe in time, and it is said why."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import granite
from granite.drivers.board.handshake import LinkOptions
from granite.drivers.board.link import BoardLink
from granite.drivers.board.report import Report
from granite.drivers.board.wire import LatchReason
from granite.logs.unfinished import found_log
from granite.rt.rehearsal.rehearsal import Rehearsal, rehearsal
from tests.firmware.emulated import answered, need
from tests.support.killed_boards import PATIENT, children_of, running, waited_us
from tests.support.waiting import until

WATCHDOG_S = 0.05
MARGIN_US = 5000
BED = granite.load("free-flyer", PATIENT)


@pytest.fixture
def outside() -> Iterator[Rehearsal]:
    need("cc")
    with rehearsal(BED, WATCHDOG_S) as made:
        yield made


def report_of(outside: Rehearsal) -> Report:
    """What the board of a rehearsal says after its host is gone; nothing is commanded."""
    options = outside.bed.devices["motors"].driver
    link = BoardLink(LinkOptions(port=options.port, board=options.board, watchdog_s=WATCHDOG_S), 0.005)
    link.open()
    link.stop(time.monotonic())
    report = answered(link)
    link.close()
    return report


def is_safe(outside: Rehearsal) -> bool:
    return bool(outside.outputs()[0, 1])


@pytest.mark.slow
def test_a_killed_loop_leaves_the_board_safe_within_the_watchdog_time_and_5_ms(tmp_path: Path):
    """50 kills at random moments, each with its own log."""
    need("cc")
    random, limit_us, delays_us = Random(1), round(WATCHDOG_S * 1e6) + MARGIN_US, []
    while len(delays_us) < 50:
        log = tmp_path / f"{len(delays_us)}.mcap"
        with rehearsal(BED, WATCHDOG_S) as outside:
            board = outside.boards["rehearsal-1"].pid
            with running(BED, outside, log) as run:
                time.sleep(random.uniform(0.6, 0.9))  # rows are flushed twice in a second
                before, at = waited_us(board), outside.truth(0.0).t
                os.kill(run.pid, signal.SIGKILL)
                run.process.join()
            until(lambda outside=outside: is_safe(outside))
            report = report_of(outside)
            waited = waited_us(board) - before
        silent_us = (report.latched_us - report.commanded_us) & 0xFFFFFFFF
        if silent_us > 1 << 31:
            continue  # it was latched before: the machine had suspended the loop for longer than the watchdog allows
        assert (report.is_armed, report.reason) == (False, LatchReason.WATCHDOG)
        # A microcontroller has no other processes: what they took is not the firmware's.
        assert silent_us <= limit_us + waited
        delays_us.append(silent_us)
        until(lambda log=log: found_log(log).exists())
        until(lambda log=log: _is_readable(log))
        last = granite.read_log(found_log(log))["/sample"]["t_s"][-1]
        assert at - last < 0.1
        log.unlink(missing_ok=True)
    print(f"50 kills: safe {min(delays_us)} to {max(delays_us)} us after the last command, limit {limit_us} us")


def _is_readable(log: Path) -> bool:
    try:
        return bool(granite.read_log(found_log(log)).complete)
    except granite.InputError:
        return False


@pytest.mark.slow
def test_a_suspended_loop_finds_its_board_safe_and_does_not_resume_by_itself(outside: Rehearsal, tmp_path: Path):
    with running(BED, outside, tmp_path / "run.mcap") as run:
        time.sleep(0.3)
        os.kill(run.pid, signal.SIGSTOP)
        until(lambda: is_safe(outside))
        time.sleep(0.3)
        os.kill(run.pid, signal.SIGCONT)
        summary = run.summary()
        assert summary["ended"] in ("too_late", "actuator_fault"), summary["text"]
        assert is_safe(outside)
        changed_us = outside.outputs()[0, 0]
    time.sleep(0.2)
    assert outside.outputs()[0].tolist() == [changed_us, 1.0]


@pytest.mark.slow
def test_a_killed_plant_ends_the_run_by_name(outside: Rehearsal, tmp_path: Path):
    with running(BED, outside, tmp_path / "run.mcap") as run:
        assert outside.plant is not None
        outside.plant.kill()
        summary = run.summary()
    assert summary["ended"] in ("plant_lost", "sensor_frozen", "sensor_stale", "sensor_outliers"), summary["text"]
    assert any(word in summary["text"] for word in ("the plant of the rehearsal", "joint_sensors", "vision"))
    assert not report_of(outside).is_armed


@pytest.mark.slow
def test_a_killed_board_ends_the_run_by_name(outside: Rehearsal, tmp_path: Path):
    with running(BED, outside, tmp_path / "run.mcap") as run:
        outside.boards["rehearsal-1"].kill()
        summary = run.summary()
    assert summary["ended"] in ("actuator_fault", "sensor_stale"), summary["text"]
    assert any(name in summary["text"] for name in ("motors", "thrusters", "joint_sensors"))
    assert set(summary["not_stopped"]) == {"motors", "thrusters"}  # a board that is dead confirms nothing


@pytest.mark.slow
def test_a_killed_recorder_does_not_end_the_run_which_says_so(tmp_path: Path):
    need("cc")
    bed = granite.load("free-flyer", PATIENT | {"loop.duration_s": 3.0})
    with rehearsal(bed, 1.0) as outside, running(bed, outside, tmp_path / "run.mcap") as run:
        os.kill(children_of(run.pid)[0], signal.SIGKILL)
        summary = run.summary()
    assert summary["ended"] == "completed", summary["text"]
    assert summary["log_failure"] == "the recorder was killed by SIGKILL"


@pytest.mark.slow
def test_an_emergency_stop_makes_the_board_safe_at_once_and_ends_the_run(outside: Rehearsal, tmp_path: Path):
    with running(BED, outside, tmp_path / "run.mcap") as run:
        outside.press_emergency_stop()
        summary = run.summary()
    assert summary["ended"] == "actuator_fault"
    assert "status REFUSED" in summary["text"]
    report = report_of(outside)
    assert (report.is_armed, report.is_emergency_stop_pressed) == (False, True)
    assert is_safe(outside)
