"""The board as a program: any mix of channels from a file, and refusals in one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from granite.drivers.board.wire import ChannelKind
from tests.firmware.emulated import BUILD, Outside, answered, build, exchange, running
from tests.support.waiting import until

LAYOUT = """
board arm            # two motors and what they move
motor   shoulder  N_m    1e-4  -20000  20000
encoder shoulder  rad    1e-5  -314160 314160
valve   r1        s      1e-5  500     65535

gyro    base      rad/s  1e-3  -2000   2000
"""


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    file = tmp_path / "layout.txt"
    file.write_text(LAYOUT)
    return file


def test_a_board_has_the_channels_of_its_file(tmp_path: Path, layout: Path):
    with running("host", tmp_path, layout) as board:
        link = board.link(board="arm")
        assert [channel.label for channel in link.description.channels] == [
            "motor shoulder", "encoder shoulder", "valve r1", "gyro base"
        ]  # fmt: skip
        motor = link.description.channel(ChannelKind.MOTOR, "shoulder")
        assert (motor.unit, motor.low, motor.high) == ("N m", -20000, 20000)
        assert motor.scale == pytest.approx(1e-4)
        board.outside.set((321, -654))

        def sensed() -> bool:
            link.command(time.monotonic(), np.zeros(2, np.int32))
            return answered(link).slots.tolist() == [0, 321, 0, -654]

        until(sensed)
        link.close()


def test_an_outside_may_go_and_another_come(tmp_path: Path):
    with running("host", tmp_path) as board:
        board.outside.close()
        link = board.link()
        assert not exchange(link).is_armed
        board.outside = Outside(tmp_path / "world")
        until(lambda: board.outside.changes)  # the outputs as they are
        board.outside.set((7,) * 8)
        until(lambda: exchange(link).slots[12] == 7)
        link.close()


def test_a_board_that_was_suspended_answers_with_the_newest_values(tmp_path: Path):
    with running("host", tmp_path) as board:
        link = board.link()
        exchange(link)
        os.kill(board.process.pid, signal.SIGSTOP)
        for value in range(100):
            board.outside.set((value,) * 8)
        link.command(time.monotonic(), np.zeros(12, np.int32))
        os.kill(board.process.pid, signal.SIGCONT)
        assert answered(link).slots[12] == 99
        link.close()


def test_a_board_does_not_date_old_values_now(tmp_path: Path):
    """While its outside is late it obeys and does not answer; an outside that is gone is no late one."""
    with running("host", tmp_path, fresh_ms=300) as board:
        link = board.link()

        def answers_with(value: int) -> bool:
            board.outside.set((value,) * 8)
            link.command(time.monotonic(), np.zeros(12, np.int32))
            time.sleep(0.005)
            report = link.poll(time.monotonic())
            return report is not None and report.slots[12] == value

        until(lambda: answers_with(1))
        time.sleep(0.4)
        for _ in range(20):
            link.command(time.monotonic(), np.zeros(12, np.int32))
            time.sleep(0.005)
            assert link.poll(time.monotonic()) is None
        until(lambda: answers_with(2))
        assert link.counts.missed >= 20
        board.outside.close()
        time.sleep(0.4)
        assert exchange(link).slots[12] == 2
        link.close()
        board.outside = Outside(tmp_path / "world")


def refused(*words: str) -> str:
    build("host")
    done = subprocess.run([BUILD / "granite-board", *words], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("motor shoulder N_m", "line 1: expected `board NAME` or `KIND NAME UNIT SCALE LOW HIGH`"),
        ("rocket r1 s 1 0 1", "line 1: expected valve, motor, wheel, grip, encoder"),
        ("motor m N_m 1 5 -5", "line 1: expected LOW <= HIGH"),
        ("valve r1 s 1e-5 0 70000", "of valves within 0 and 65535"),
        ("board b", "expected `board NAME` and at least one channel"),
        ("board b\n" + "gyro g s 1 0 1\n" * 66, "line 67: too many channels for one frame"),
    ],
)
def test_a_bad_layout_is_refused_with_its_line(tmp_path: Path, line: str, expected: str):
    file = tmp_path / "layout.txt"
    file.write_text(line)
    said = refused("--port", f"{tmp_path}/port", "--world", f"{tmp_path}/world", "--layout", str(file))
    assert said.startswith(f"granite-board: {file}, line ")
    assert expected in said


def test_wrong_options_and_paths_are_refused(tmp_path: Path):
    assert refused().startswith("usage: ")
    assert refused("--port", "a", "--world", "b", "--speed", "9").startswith("usage: ")
    assert "/nowhere/port" in refused("--port", "/nowhere/port", "--world", f"{tmp_path}/world")
    assert "can't be read" in refused("--port", "p", "--world", "w", "--layout", "/nowhere/layout")
    assert "name too long" in refused("--port", f"{tmp_path}/port", "--world", "w" * 200)
