"""Latencies from a log, in one pass over its rows."""

import dataclasses
from pathlib import Path

import pytest

import granite
from granite.drivers.link_history import LinkHistory
from granite.logs.latency import latencies
from granite.logs.link_trouble import link_trouble
from granite.logs.log import Log

#: no pose is lost or later than others
ALWAYS = {f"devices.vision.simulated.{key}": 0.0 for key in ("latency_jitter_s", "dropout_probability")}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    path: Path = tmp_path_factory.mktemp("log") / "run.mcap"
    granite.simulate(granite.load("free-flyer", {"loop.duration_s": 1.0, **ALWAYS}), path)
    return granite.read_log(path)


@pytest.mark.slow
def test_the_rows_are_read_once(log: Log, monkeypatch: pytest.MonkeyPatch):
    passes = []
    blocks = Log.blocks
    monkeypatch.setattr(Log, "blocks", lambda log: passes.append(1) or blocks(log))
    latencies(log)
    assert len(passes) == 1


def test_simulated_sensors_have_their_latency_and_an_actuator_that_reports_later_adds_to_it(log: Log):
    delays = latencies(log)
    assert list(delays) == ["joint_sensors", "vision"]
    vision, period = log.bed.devices["vision"], log.bed.loop.period_s
    # A pose waits for its tick, and the newest one is used until the next comes.
    longest = vision.latency_s + 1 / vision.rate_hz + period
    for spread in delays["vision"].values():
        assert vision.latency_s <= spread["median_s"] <= spread["max_s"] <= longest
    assert delays["joint_sensors"]["to_command"]["max_s"] == pytest.approx(0.0, abs=1e-9)
    rows = log.rows.copy()
    for name in log.bed.actuators:  # each applies its command half a period after the tick
        rows[:, log.channels.column("/applied", f"{name}_t_s")] += period / 2
    later = latencies(dataclasses.replace(log, rows=rows))
    assert later["joint_sensors"]["to_command"]["median_s"] == pytest.approx(period / 2)
    assert later["joint_sensors"]["age"] == delays["joint_sensors"]["age"]


def test_a_good_link_has_none():
    assert list(link_trouble({"board a": {"t_s": [0.0, 1.0], "bad_crc": [0, 0], "received": [1, 200]}})) == []


def test_each_change_for_the_worse_is_named_once_with_its_time():
    numbers = {"t_s": [0.0, 1.0, 2.0, 2.0], "bad_crc": [0, 3, 3, 3], "missed": [0, 1, 1, 2], "received": [1, 2, 3, 4]}
    assert list(link_trouble({"board a": numbers})) == [
        (1.0, "board a: bad_crc 3, missed 1"),
        (2.0, "board a: missed 2"),
    ]


def test_a_history_has_a_row_for_every_second_and_one_for_the_end():
    count = [0.0]
    history = LinkHistory("board a", lambda: {"bad_crc": count[0]})
    for k in range(500):
        count[0] = float(k)
        history.note(0.005 * k)
    assert history.summary() == {"t_s": [0.0, 1.0, 2.0, 2.0], "bad_crc": [0.0, 200.0, 400.0, 499.0]}


def test_a_history_of_a_long_run_thins_out_and_keeps_its_begin():
    history = LinkHistory("board a", lambda: {"bad_crc": 0.0})
    for k in range(5000):
        history.note(float(k))
    t = history.summary()["t_s"]
    assert len(t) < 600
    assert (t[0], t[1] - t[0]) == (0.0, t[2] - t[1])
