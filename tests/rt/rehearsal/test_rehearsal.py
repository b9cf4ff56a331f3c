"""Rehearsals: the loop on real drivers, with firmware and plant in other processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import granite
from granite.config.devices.joint_sensors import JointSensors
from granite.config.errors import InputError
from granite.logs.latency import latencies
from granite.logs.log import Log
from granite.logs.run_summary import RunSummary
from granite.rt.rehearsal.board_program import board_program
from granite.rt.rehearsal.rehearsal import rehearsal
from granite.rt.run import Run
from tests.firmware.emulated import need
from tests.support.killed_boards import running
from tests.support.testbeds import controlled, of_each_structure

#: a loaded machine suspends a loop for longer than a real board would wait
WATCHDOG_S = 1.0
#: how well a rehearsal knows the times of its boards' samples
TIMED = {"devices.joint_sensors.time_deviation_s": 1e-3}


def ports(bed: granite.Testbed) -> object:
    """What a rehearsal of a variant may have of its own."""
    kinds = tuple(sorted(device.kind for device in bed.devices.values()))
    return kinds, bed.behaviour.kind, bed.controller and bed.controller.law.kind, len(bed.contacts)


def rehearsed(bed: granite.Testbed, log: Path) -> tuple[RunSummary, Log]:
    need("cc")
    with rehearsal(bed, WATCHDOG_S) as outside:
        summary = Run(bed, rehearsal=outside).record(log, realtime=True)
    return summary, granite.read_log(log)


@pytest.mark.slow
def test_the_free_flyer_moves_through_firmware_and_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    patient = {"safety.age_s.joint_sensors": 1.0, "loop.longest_lateness_s": 30.0, "loop.watchdog_s": 30.0}
    bed = granite.load("free-flyer", {"loop.duration_s": 1.5, **patient})
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        (Path(folder) / "granite-rehearsal-4194305-killed").mkdir()  # no process has this number
        summary, log = rehearsed(bed, tmp_path / "run.mcap")
        assert not list(Path(folder).iterdir())
    monkeypatch.undo()
    assert summary["ended"] == "completed", summary["text"]
    assert (summary["mode"], log.info["mode"]) == ("rehearsal", "rehearsal")
    assert log.bed == bed.with_changes(TIMED).model_copy(
        update={"tuning": None}
    )  # and without drivers of the rehearsal
    assert granite.replay(log).first is None
    # The truth is of the plant's process, some steps from the tick where the machine has time for both.
    assert np.quantile(abs(log["/truth"]["t_s"] - log["/sample"]["t_s"]), 0.1) < 0.01
    assert log["/truth"]["base_x_m"][-1] != log["/truth"]["base_x_m"][0]
    assert summary["estimation_error"]["base_x"]["max"] < 0.02
    assert max(log["/applied"][f"thrusters_r{i}_opening"].max() for i in range(1, 9)) > 0.0
    # A board's sample is used one tick later, and its command is applied in that tick. A busy machine delays many.
    age = (log["/sample"]["t_s"] - log["/sample"]["joint_sensors_t_s"])[log["/sample"]["joint_sensors_number"] > 0]
    assert np.quantile(age, 0.1) < 0.007
    delays = latencies(log)
    assert delays["joint_sensors"]["age"]["median_s"] > 0.003
    assert delays["joint_sensors"]["to_command"]["median_s"] > 0.003
    assert delays["vision"]["age"]["median_s"] > bed.devices["vision"].latency_s
    board, stream = (summary["links"][name] for name in ("board rehearsal-1", "pose stream vision"))
    assert board["received"][-1] > 0.3 * summary["ticks"]
    assert board["bad_crc"][-1] == 0
    assert board["clock_jumps"][-1] <= 2  # a machine that lets nobody run for long looks like one
    assert 0.0 < board["clock_uncertainty_s"][-1] < 0.05
    assert len(board["t_s"]) == len(board["clock_offset_s"]) >= 3
    assert stream["received"][-1] > 20


SPEED = {
    "devices.joint_sensors": None,
    "devices.wheel_speed": {"kind": "tachometers", "joints": ["wheel"], "rate_noise_rad_s": 0.01},
    "safety.age_s": {"vision": 0.5, "wheel_speed": 1.0},
}


@pytest.mark.slow
@pytest.mark.parametrize("duration_s", [12.0, pytest.param(120.0, marks=pytest.mark.study)], ids=["short", "long"])
@pytest.mark.parametrize("sensors", [SPEED, {"safety.age_s.joint_sensors": 1.0}], ids=["speed", "angle"])
def test_a_fast_wheel_rehearses_as_it_simulates(sensors: dict[str, Any], duration_s: float, tmp_path: Path):
    """At 20 rad/s a millisecond is 20 mrad, by which frames of an angle are off: time noise is in the estimate."""
    need("cc")
    changes = {
        "loop.duration_s": duration_s,
        "loop.longest_lateness_s": 30.0,
        "loop.watchdog_s": 30.0,
        "simulation.initial.wheel_rad_s": 20.0,
        **sensors,
    }
    if duration_s < 100:  # beside other tests, which delay what a clock is known by; `make studies` keeps the limit
        changes["safety.monitor.mean_innovation_sigma"] = 20.0
    summary, log = rehearsed(granite.load("stanford-free-flyer/yaw-wheel", changes), tmp_path / "run.mcap")
    assert summary["ended"] == "completed", summary["text"]
    assert np.abs(log["/truth"].wheel_rad_s).max() > 15.0
    assert [d.time_deviation_s for d in log.bed.devices_of(JointSensors).values()] == [1e-3] * (sensors is not SPEED)
    assert granite.replay(log).first is None


@pytest.mark.slow
def test_a_plant_that_is_late_gives_no_wrong_measurements(tmp_path: Path):
    """Its process is suspended for 0.12 s again and again, as on a busy machine: values come late, never misdated."""
    need("cc")
    bed = granite.load("free-flyer", {"loop.duration_s": 8.0, "safety.age_s.joint_sensors": 1.0})
    with rehearsal(bed, WATCHDOG_S) as outside, running(bed, outside, tmp_path / "run.mcap") as run:
        assert outside.plant is not None
        time.sleep(2.5)
        for _ in range(5):
            os.kill(outside.plant.pid, signal.SIGSTOP)
            time.sleep(0.12)
            os.kill(outside.plant.pid, signal.SIGCONT)
            time.sleep(0.6)
        summary = run.summary()
    assert summary["ended"] == "completed", summary["text"]
    log = granite.read_log(tmp_path / "run.mcap")
    late = np.nanmax(np.diff(log["/sample"]["joint_sensors_t_s"]))
    assert late > 0.09
    assert not [event for event in log.events if event["name"] == "measurement_refused"]


@pytest.mark.slow
def test_the_robot_is_held_until_the_run_starts():
    need("cc")
    bed = granite.load("free-flyer")
    with rehearsal(bed, WATCHDOG_S) as outside:
        assert outside.truth(0.0).t == 0.0
        devices = outside.build_devices()
        devices.open()
        sample = devices.read(0.0)
        devices.close()
        assert sample.frames[0].number == 0
        assert outside.truth(0.0).t == 0.0
        assert outside.outputs().tolist() == [[outside.outputs()[0, 0], 1.0]]


@pytest.mark.slow
def test_the_program_of_the_boards_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    need("cc")
    monkeypatch.setenv("GRANITE_CACHE", str(tmp_path / "cache"))
    program = board_program()
    made = program.stat().st_mtime_ns
    assert board_program() == program
    assert program.stat().st_mtime_ns == made
    program.write_bytes(program.read_bytes()[:-100])  # cut by a full disk
    assert board_program() == program
    said = subprocess.run([program], capture_output=True, text=True, check=False)
    assert said.stderr.startswith("usage: granite-board")


def test_without_a_compiler_one_sentence_says_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    with pytest.raises(InputError) as raised:
        board_program()
    assert str(raised.value) == (
        "no C compiler (GRANITE_NO_COMPILER is set): emulated boards are compiled from the firmware, "
        "expected cc, gcc or clang on the PATH, or CC (sudo apt install gcc)"
    )
    monkeypatch.setenv("GRANITE_NO_COMPILER", "0")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(InputError, match=r"^no C compiler: emulated boards"):
        board_program()


@pytest.mark.slow
def test_the_command_prints_latency_and_links(tmp_path: Path):
    need("cc")
    command = [sys.executable, "-m", "granite.cli", "rehearse", "atmos", "--duration", "0.5", "--watchdog", "1"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "a.mcap")], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "to command: median" in done.stdout
    assert "pose stream vision" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", of_each_structure(controlled(), ports))
def test_a_preset_rehearses_as_it_simulates(name: str, tmp_path: Path):
    """Errors are those of the simulation within the effect of the latency, noise and pulses.

    Variants that fly along waypoints differ from their preset from the start on: some seconds show it.
    """
    bed = granite.load(name)
    if bed.loop.period_s < 1e-3:
        pytest.skip("no serial port exchanges all frames in its period: refused")
    ages = {f"safety.age_s.{sensor}": 1.0 for sensor in bed.sensors}  # a loaded machine delays bytes on their way
    flies_only = bed.behaviour.kind == "waypoints" and not bed.contacts
    longest = 5.0 if "/" in name and flies_only else 10.0
    bed = granite.load(name, {"loop.duration_s": min(bed.loop.duration_s, longest)} | ages)
    summary, log = rehearsed(bed, tmp_path / "run.mcap")
    assert summary["ended"] == "completed", summary["text"]
    assert granite.replay(log).first is None
    simulated = granite.metrics(granite.simulate(bed))["tracking_error"]
    for coordinate, error in summary["tracking_error"].items():
        allowance = 0.01 if error["unit"] == "m" else 0.02
        assert error["max"] <= 1.5 * simulated[coordinate]["max"] + allowance, coordinate


@pytest.mark.slow
def test_a_rehearsal_that_a_busy_machine_could_have_ended_says_so(tmp_path: Path):
    need("cc")
    words = ["rehearse", "free-flyer", "--out", str(tmp_path / "a.mcap"), "--set", "safety.age_s.joint_sensors=0.003"]
    done = subprocess.run([sys.executable, "-m", "granite.cli", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "sensor_stale" in done.stderr
    assert ": --patient allows more (docs/rehearsal.md)" in done.stderr
