"""Half-real runs: actuators on a board move the simulated plant, which simulated or emulated sensors measure."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import granite
from granite.logs.run_summary import RunSummary
from granite.rt.rehearsal.rehearsal import rehearsal
from granite.rt.run import Run
from tests.support.bench_board import bench_board
from tests.support.waiting import until

pytestmark = pytest.mark.slow
#: a busy machine delays bytes
PATIENT = {"loop.longest_lateness_s": 1.0, "loop.watchdog_s": 5.0}


def last_5_s(summary: RunSummary) -> dict[str, float]:
    return {name: error["max_in_last_5_s"] for name, error in summary["tracking_error"].items()}


def half_real(changes: dict, real: tuple[str, ...], log: Path) -> RunSummary:
    drivers = {key: value for key, value in changes.items() if key.split(".")[1] in real}
    bed = granite.load("free-flyer", {**drivers, **PATIENT})
    return Run(bed, simulate=[name for name in bed.devices if name not in real]).record(log, realtime=True)


@pytest.mark.parametrize("real", [("motors", "thrusters"), ("motors",), ("thrusters",)], ids=" and ".join)
def test_actuators_on_a_board_fly_the_move_of_the_free_flyer(tmp_path: Path, real: tuple[str, ...]):
    simulated = granite.simulate("free-flyer").summary
    with bench_board(granite.load("free-flyer"), tmp_path) as (board, drivers):
        summary = half_real(drivers, real, tmp_path / "run.mcap")
        until(lambda: not any(board.outside.changes[-1][1]))
    assert summary["ended"] == "completed", summary["text"]
    want, got = last_5_s(simulated), last_5_s(summary)
    assert {name: got[name] / want[name] < (2.5 if name == "base_heading" else 1.5) for name in want} == dict.fromkeys(
        want, True
    ), (got, want)
    assert summary["propellant"]["impulse_n_s"] == pytest.approx(simulated["propellant"]["impulse_n_s"], rel=0.03)
    assert granite.replay(granite.read_log(tmp_path / "run.mcap")).first is None


def test_a_board_that_is_killed_ends_the_run_and_its_twin_has_stopped(tmp_path: Path):
    with bench_board(granite.load("free-flyer"), tmp_path) as (board, drivers):
        threading.Thread(target=lambda: (time.sleep(3.0), board.process.kill())).start()
        summary = half_real(drivers, ("motors", "thrusters"), tmp_path / "run.mcap")
    assert summary["ended"] in ("actuator_fault", "device_fault", "stop_not_confirmed"), summary["text"]
    assert set(summary["not_stopped"]) == {"motors", "thrusters"}  # nobody answers
    log = granite.read_log(tmp_path / "run.mcap")
    assert abs(log["/truth"]["t_s"][-1] - 3.0) < 1.5


def test_a_real_board_moves_the_plant_of_a_rehearsal(tmp_path: Path):
    bed = granite.load("free-flyer", {"safety.age_s.joint_sensors": 1.0, "loop.duration_s": 8.0, **PATIENT})
    with bench_board(bed, tmp_path) as (board, drivers):
        bed = bed.with_changes(drivers)
        with rehearsal(bed, 1.0, ("motors", "thrusters")) as outside:
            assert {name: device.driver.kind for name, device in outside.bed.devices.items()} == {
                "joint_sensors": "board", "vision": "pose_stream", "motors": "board", "thrusters": "board"
            }  # fmt: skip
            assert outside.bed.devices["motors"].driver.port == board.port
            summary = Run(bed, rehearsal=outside).record(tmp_path / "run.mcap", realtime=True)
        until(lambda: not any(board.outside.changes[-1][1]))
    assert summary["ended"] == "completed", summary["text"]
    assert summary["tracking_error"]["base_x"]["max"] < 0.004
    assert summary["propellant"]["impulse_n_s"] > 0.5
