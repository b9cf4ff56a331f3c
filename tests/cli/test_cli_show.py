"""Commands about a testbed before it runs: `show` with its states, `schema`, and `modes`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from granite.config.loader import from_json, load, presets, to_json
from granite.config.schema import bed_schema
from tests.support.command_line import Call, granite, left_in, sentence_of


def test_the_note_and_the_file_of_a_testbed_are_shown(granite: Call) -> None:
    words = granite("show", "mrds-6a", "--set", "note=The pose is ours.").out.split()
    assert "note: The pose is ours." in " ".join(words)
    assert words[-2] == "file:"
    assert Path(words[-1]).name == "mrds-6a.toml"
    assert Path(words[-1]).is_file()
    assert "note:" not in granite("show", "mrds-6a", "--set", "note=").out


def test_every_preset_says_where_it_is_from_also_in_a_log():
    for preset in presets():
        bed = load(preset.name)
        assert len(bed.note.split()) > 10, bed.name
        assert from_json(to_json(bed)).note == bed.note


def test_the_yaw_wheel_of_a_vehicle_and_its_unloading_are_shown(granite: Call) -> None:
    changes = ["--set", "controller.allocation.yaw_wheel.set_point_rad_s=2"]
    text = " ".join(granite("show", "stanford-free-flyer/yaw-wheel", *changes).out.split())
    assert "yaw wheel wheel turns the vehicle; thrusters unload it with 0.005 N m" in text
    assert "from 0.7 to 0.2 of its rate limit from 2 rad/s" in text
    assert "yaw wheel" not in granite("show", "stanford-free-flyer").out


def test_every_device_has_its_driver_and_where_it_is_connected(granite: Call) -> None:
    changes = [
        'devices.motors.driver={kind="board", port="/dev/ttyACM7", board="arm"}',
        'devices.vision.driver={kind="pose_stream", address="udp://0.0.0.0:9870"}',
    ]
    options = [word for change in changes for word in ("--set", change)]
    text = " ".join(granite("show", "free-flyer", *options).out.split())
    assert "driver: board /dev/ttyACM7" in text
    assert "driver: pose_stream udp://0.0.0.0:9870" in text
    assert text.count("driver: none (simulated)") == len(load("free-flyer").devices) - 2


def test_what_is_simulated_without_errors_says_so_in_its_row(granite: Call) -> None:
    ideal, sensors, usual = (
        " ".join(granite("show", name).out.split())
        for name in ("free-flyer/ideal", "free-flyer/perfect-sensors", "free-flyer")
    )
    assert ideal.count("simulated as perfect") == sensors.count("simulated as perfect") == 2
    assert "shortest pulse 10 ms simulated as ideal" in ideal
    assert "thrusters thrusters valves: delay 4 ms, rise 3 ms, shortest pulse 10 ms r1" in sensors
    for text in (ideal, sensors):
        assert "table simulated as ideal: level, without drag" in text
    assert "simulated as" not in usual


def test_responses_to_faults_are_shown_where_all_is_asked_for(granite: Call) -> None:
    short, whole = (granite("show", "free-flyer", *options).out for options in ((), ("--all",)))
    assert "sensor_outliers" in whole
    assert "sensor_outliers" not in short
    assert len(short.splitlines()) < 0.6 * len(whole.splitlines())


__all__ = ["granite"]


def test_the_schema_is_printed_for_scripts_or_written_for_editors(granite, tmp_path):
    assert granite("schema").json == bed_schema()
    said = granite("schema", "--out", "testbed.json")
    assert (said.code, said.err) == (0, "")
    assert f"#:schema {tmp_path / 'testbed.json'}" in said.out
    assert json.loads((tmp_path / "testbed.json").read_text()) == bed_schema()
    assert left_in(tmp_path) == ["testbed.json"]


def test_a_schema_is_replaced_only_on_request(granite, tmp_path):
    (tmp_path / "testbed.json").write_text("mine")
    assert "exists: expected a new name, or --overwrite" in sentence_of(granite("schema", "--out", "testbed.json"))
    assert granite("schema", "--out", "testbed.json", "--overwrite").code == 0
    assert ".json" in sentence_of(granite("schema", "--out", "testbed.toml"))


def test_show_draws_the_states_of_a_state_machine(granite: Call) -> None:
    said = granite("show", "leap", "--states")
    assert said.code == 0
    assert "stateDiagram-v2" in said.out
    assert "midcourse --> reach: reach_s before the catch" in said.out
    assert "catch --> float: after 1 s" in said.out
    names = [note["name"] for note in granite("show", "leap", "--states", "--json").json]
    assert names[:4] == ["hold", "crouch", "push", "release"]
    changed = granite("show", "leap", "--states", "--set", "behaviour.timeout_s.catch=2").out
    assert "catch --> float: after 2 s" in changed


def test_show_refuses_to_draw_a_behaviour_without_states(granite: Call) -> None:
    assert "it has no states" in sentence_of(granite("show", "free-flyer", "--states"))


@pytest.mark.usefixtures("interpreted")
def test_modes_of_a_flexible_link_are_a_table_without_minus_zero(granite: Call) -> None:
    lines = granite("modes", "mrds-6a").out.splitlines()
    assert lines[0].startswith("Modes of mrds-6a about its start")
    assert "4.59171" in "\n".join(lines)
    assert not any(cell == "-0" for line in lines for cell in line.split())
    assert "equilibrium" not in "\n".join(lines)


@pytest.mark.usefixtures("interpreted")
def test_modes_for_scripts_carry_their_units(granite: Call) -> None:
    said = json.loads(granite("modes", "mrds-1", "--json").out)
    rigid, *swings = said["modes"]
    assert (rigid["rigid"], rigid["frequency_hz"]) == (True, 0.0)
    assert len(swings) > 0
    for mode in swings:
        assert (mode["rigid"], mode["unstable"]) == (False, False)
        assert abs(complex(*mode["eigenvalue_1_s"])) == pytest.approx(2 * 3.141592653589793 * mode["frequency_hz"])
        assert max(abs(complex(*part)) for part in mode["shape"].values()) == pytest.approx(1.0)
    assert said["acceleration"] == {}


@pytest.mark.usefixtures("interpreted")
def test_a_start_that_is_no_equilibrium_is_said_to_be_none(granite: Call) -> None:
    still = ("--set", "simulation.initial={joint_rad=0.4}")
    said = json.loads(granite("modes", "flx-pendulum", *still, "--json").out)["acceleration"]
    assert set(said) == {"joint_rad_s2", "link_y1_m_s2"}
    (line,) = [line for line in granite("modes", "flx-pendulum", *still).out.splitlines() if "no equilibrium" in line]
    assert "frozen state" in line
    assert f"joint by {said['joint_rad_s2']:.3g} rad/s^2" in line


@pytest.mark.usefixtures("interpreted")
def test_frequencies_that_finer_shapes_change_are_named(granite: Call) -> None:
    said = json.loads(granite("modes", "flexible-arm", "--json").out)
    assert len(said["finer_frequency_hz"]) == len(said["modes"]) == 3
    lines = granite("modes", "flexible-arm").out.splitlines()
    assert lines[-1].startswith("mode 3 changes by more than 1 % with one more polynomial shape")
    assert "finer [Hz]" in lines[1]
    rigid = granite("modes", "free-flyer", "--closed", "none").out
    assert "finer" not in rigid
