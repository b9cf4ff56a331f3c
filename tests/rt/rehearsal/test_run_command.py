"""`granite run` on ports: what the checks find, who is asked, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import granite
from granite.cli import main
from granite.cli.hardware import _names
from granite.config.errors import InputError
from granite.rt.rehearsal.rehearsal import Rehearsal, rehearsal
from tests.firmware.emulated import need

BED = granite.load("free-flyer")


@pytest.fixture(scope="module")
def outside() -> Iterator[Rehearsal]:
    need("cc")
    with rehearsal(BED, 1.0) as made:
        yield made


def command(outside: Rehearsal, *words: str, **changes: object) -> subprocess.CompletedProcess[str]:
    """`granite run` on the ports of a rehearsal, whose robot is held: no wiggle would move it."""
    sets = []
    for name, device in outside.bed.devices.items():
        own = device.driver.model_dump()
        options = own | (changes if own["kind"] == "board" else {})
        pairs = ", ".join(f"{key} = {toml(value)}" for key, value in options.items() if value is not None)
        sets += ["--set", f"devices.{name}.driver={{ {pairs} }}"]
    return subprocess.run(
        [sys.executable, "-m", "granite.cli", "run", "free-flyer", "--no-wiggle", *sets, *words],
        capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'{key} = "{each}"' for key, each in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(str, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.mark.slow
def test_checks_pass_on_a_robot_that_is_held_and_nothing_is_armed(outside: Rehearsal):
    done = command(outside, "--check")
    assert done.returncode == 0, done.stderr
    assert "Checks before the run: all passed" in done.stdout
    assert "firmware 1.1.0" in done.stdout
    assert outside.outputs()[:, 1].tolist() == [1.0]


@pytest.mark.slow
def test_without_a_terminal_nobody_can_be_asked_and_nothing_is_armed(outside: Rehearsal):
    done = command(outside)
    assert done.returncode == 2
    assert done.stderr == ("granite: free-flyer: standard input: nobody can be asked, expected a terminal, or --yes\n")


@pytest.mark.slow
def test_a_confirmed_run_records_and_ends_with_safe_outputs(outside: Rehearsal, tmp_path: Path):
    log = tmp_path / "run.mcap"
    done = command(outside, "--yes", "--duration", "0.3", "--out", str(log))
    assert done.returncode == 0, done.stderr
    assert granite.read_log(log).info["mode"] == "hardware"
    assert "to command: median" in done.stdout
    assert outside.outputs()[:, 1].tolist() == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"board": "spot"}, "board 'rehearsal-1' answers on"),
        ({"firmware": "2."}, "has firmware 1.1.0"),
        ({"baud": 115200}, "too slow: an exchange of"),
        ({"watchdog_s": 0.001}, "expected 0.01 (two ticks, or the board's limit)"),
        ({"port": "/dev/ttyNONE"}, "no such port"),
    ],
)
def test_what_does_not_fit_fails_the_checks_by_name(outside: Rehearsal, changes: dict[str, object], words: str):
    done = command(outside, "--check", "--simulate", "joint_sensors,vision", **changes)
    assert done.returncode in (2, 3)
    assert words in " ".join(done.stderr.split())
    assert done.stderr.count("\n") == 1


def test_the_rest_of_the_devices_are_those_without_a_driver():
    bed = granite.load("free-flyer", {"devices.motors.driver": {"kind": "board", "port": "/dev/ttyNONE", "board": "b"}})
    assert _names("rest", bed) == ["joint_sensors", "vision", "thrusters"]
    assert _names("motors, rest", bed) == ["motors", "joint_sensors", "vision", "thrusters"]
    assert _names("rest,vision", bed) == ["joint_sensors", "vision", "thrusters"]


def test_a_patient_rehearsal_is_one_that_waits(monkeypatch: pytest.MonkeyPatch):
    asked: list[object] = []

    def refuse(bed, watchdog, real):
        asked.extend((watchdog, bed.safety.age_s))
        raise InputError("enough")

    monkeypatch.setattr("granite.rt.rehearsal.rehearsal.rehearsal", refuse)
    for options in ([], ["--set", "safety.age_s.vision=0.7", "--watchdog", "0.25"]):
        monkeypatch.setattr(sys, "argv", ["granite", "rehearse", "free-flyer", "--patient", *options])
        with pytest.raises(SystemExit):
            main()
    assert asked == [0.5, {"joint_sensors": 0.5, "vision": 0.5}, 0.25, {"joint_sensors": 0.5, "vision": 0.7}]


@pytest.mark.parametrize(("options", "first"), [([], "wiggle"), (["--no-wiggle"], "run")], ids=["usual", "no wiggle"])
def test_a_run_begins_with_the_wiggle_unless_that_is_switched_off(
    options: list[str], first: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def wiggle(*_: object, **__: object) -> None:
        raise InputError("the wiggle was first")

    class Recorded:
        def __init__(self, *_: object, **__: object) -> None: ...

        def record(self, *_: object) -> None:
            raise InputError("the run was first")

    for name in ("refuse_simulated", "check_devices"):  # the devices of the preset have no drivers
        monkeypatch.setattr(f"granite.cli.hardware.{name}", lambda *_: None)
    monkeypatch.setattr("granite.rt.devices.build_devices", lambda *_: (None, None))
    monkeypatch.setattr("granite.rt.run.Run", Recorded)
    monkeypatch.setattr("granite.cli.hardware.wiggled", wiggle)
    monkeypatch.setattr(sys, "argv", ["granite", "run", "atmos", "--yes", *options])
    with pytest.raises(SystemExit):
        main()
    assert f"the {first} was first" in capsys.readouterr().err


@pytest.mark.slow
def test_a_wrong_motor_is_refused_by_the_wiggle_before_a_run(tmp_path: Path):
    need("cc")
    fault = "simulation.events=[{kind='fault', at_s=0, device='motors', unit='elbow', what='torque_factor', value=-1}]"
    words = ["rehearse", "free-flyer", "--patient", "--wiggle", "--set", fault, "--out", str(tmp_path / "run.mcap")]
    done = subprocess.run(
        [sys.executable, "-m", "granite.cli", *words], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "the run was not started, the wiggle found: motors elbow has the wrong sign" in done.stderr
    assert not (tmp_path / "run.mcap").exists()
