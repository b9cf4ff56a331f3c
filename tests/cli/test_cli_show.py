"""`granite show` says where a testbed is from: its note, and its file."""

import sys
from pathlib import Path

import pytest

from granite import cli
from granite.config.loader import from_json, load, presets, to_json


def shown(capsys, monkeypatch, *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["granite", "show", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    return capsys.readouterr().out


def test_the_note_and_the_file_of_a_testbed_are_shown(capsys, monkeypatch):
    words = shown(capsys, monkeypatch, "mrds-6a", "--set", "note=The pose is ours.").split()
    assert "note: The pose is ours." in " ".join(words)
    assert words[-2] == "file:"
    assert Path(words[-1]).name == "mrds-6a.toml"
    assert Path(words[-1]).is_file()
    assert "note:" not in shown(capsys, monkeypatch, "mrds-6a", "--set", "note=")


def test_every_preset_says_where_it_is_from_also_in_a_log():
    for preset in presets():
        bed = load(preset.name)
        assert len(bed.note.split()) > 10, bed.name
        assert from_json(to_json(bed)).note == bed.note


def test_the_yaw_wheel_of_a_vehicle_and_its_unloading_are_shown(capsys, monkeypatch):
    changes = ["--set", "controller.allocation.yaw_wheel.set_point_rad_s=2"]
    text = " ".join(shown(capsys, monkeypatch, "stanford-free-flyer/yaw-wheel", *changes).split())
    assert "yaw wheel wheel turns the vehicle; thrusters unload it with 0.005 N m" in text
    assert "from 0.7 to 0.2 of its rate limit from 2 rad/s" in text
    assert "yaw wheel" not in shown(capsys, monkeypatch, "stanford-free-flyer")


def test_every_device_has_its_driver_and_where_it_is_connected(capsys, monkeypatch):
    changes = [
        'devices.motors.driver={kind="board", port="/dev/ttyACM7", board="arm"}',
        'devices.vision.driver={kind="pose_stream", address="udp://0.0.0.0:9870"}',
    ]
    options = [word for change in changes for word in ("--set", change)]
    text = " ".join(shown(capsys, monkeypatch, "free-flyer", *options).split())
    assert "driver: board /dev/ttyACM7" in text
    assert "driver: pose_stream udp://0.0.0.0:9870" in text
    assert text.count("driver: none (simulated)") == len(load("free-flyer").devices) - 2


def test_what_is_simulated_without_errors_says_so_in_its_row(capsys, monkeypatch):
    ideal, sensors, usual = (
        " ".join(shown(capsys, monkeypatch, name).split())
        for name in ("free-flyer/ideal", "free-flyer/perfect-sensors", "free-flyer")
    )
    assert ideal.count("simulated as perfect") == sensors.count("simulated as perfect") == 2
    assert "shortest pulse 10 ms simulated as ideal" in ideal
    assert "thrusters thrusters valves: delay 4 ms, rise 3 ms, shortest pulse 10 ms r1" in sensors
    for text in (ideal, sensors):
        assert "table simulated as ideal: level, without drag" in text
    assert "simulated as" not in usual


def test_responses_to_faults_are_shown_where_all_is_asked_for(capsys, monkeypatch):
    short, whole = (shown(capsys, monkeypatch, "free-flyer", *options) for options in ((), ("--all",)))
    assert "sensor_outliers" in whole
    assert "sensor_outliers" not in short
    assert len(short.splitlines()) < 0.6 * len(whole.splitlines())
