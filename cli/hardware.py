"""`granite run` and `granite test-device`, a testbed on its real devices; `granite doctor`, this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import typer

from granite.cli.arguments import DEVICE, AsJson, Bed, Overrides, Yes, listed_names, named, simulated_by
from granite.cli.arming import check_devices, confirm, confirm_arming, say_loops, wiggled
from granite.cli.endings import STOPPED, end
from granite.cli.recorded_run import RecordedRun, end_device_run, records_a_run
from granite.cli.screen import err, out, print_json
from granite.config.calibration import refuse_simulated
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.rt.loop.clock import Clock

Simulated = Annotated[
    str,
    typer.Option(
        "--simulate", metavar="NAMES", help="devices to simulate, e.g. joint_sensors,vision; rest: without a driver"
    ),
]
_REST = "rest"


@records_a_run
def run(
    asked: RecordedRun,
    simulate: Simulated = "",
    check: Annotated[bool, typer.Option("--check", help="stop after the checks; nothing is armed")] = False,
    yes: Yes = False,
    no_wiggle: Annotated[
        bool, typer.Option("--no-wiggle", help="do not try signs and scales of motors and thrusters before the run")
    ] = False,
) -> None:
    """Run a testbed on its real devices: check them, ask, arm, wiggle, run and record."""
    from granite.rt.devices import build_devices
    from granite.rt.loop.clock import RealClock
    from granite.rt.process.status_line import preparing
    from granite.rt.run import Run

    testbed = asked.load()
    names = _names(simulate, testbed)
    with asked.recorded(testbed) as path, _simulated_beside(names):
        options = asked.options(realtime=True)
        refuse_simulated(testbed, [device for device in testbed.devices if device not in names])
        with preparing(options.progress):
            prepared = Run(testbed, simulate=names)
        say_loops(testbed, names, asked.as_json)
        # Devices of the checks are others than those of the run, which are opened when it starts.
        check_devices(testbed, build_devices(testbed, names)[0], asked.as_json)
        if check:
            return
        if not yes:
            confirm_arming(testbed, names)
        # Simulated sensors would show the simulated plant, not the robot.
        if not no_wiggle and testbed.controller is not None and not set(names) & set(testbed.sensors):
            tried = wiggled(testbed, build_devices(testbed, names)[0], RealClock(), asked.as_json, skipped=names)
            options = replace(options, wiggle=tried)
        summary = prepared.record(path, options)
    end_device_run(summary, path, asked.as_json)


def try_device(
    bed: Bed,
    name: Annotated[str, typer.Argument(metavar="NAME", help="a device of the testbed, for instance thrusters")],
    level: Annotated[
        float | None, typer.Option(metavar="PART", help="of the greatest set point; default 0.05, at most 0.3")
    ] = None,
    simulate: Simulated = "",
    rehearsed: Annotated[bool, typer.Option("--rehearse", help="on emulated boards and a simulated plant")] = False,
    yes: Yes = False,
    overrides: Overrides = None,
) -> None:
    """Try one device with small bounded commands, one unit after the other, and show the applied values."""
    from granite.cli.report.hardware import device_table
    from granite.rt.checks.device_test import LEVEL, try_units
    from granite.rt.loop.clock import RealClock
    from granite.views.table import put

    testbed = load(bed, overrides or [])
    names = _names(simulate, testbed)
    with named(bed, testbed), _simulated_beside(names), _outside(testbed, rehearsed) as (real, clock):
        if not yes and not rehearsed and name in testbed.actuators and name not in names:
            confirm(f"The robot may move. Arm {name} of {testbed.name}?")
        results = []
        units = try_units(real, name, clock or RealClock(), names, LEVEL if level is None else level)
        with contextlib.closing(units):  # the device is stopped also where a signal interrupts the printing
            for result in units:
                results.append(result)
                err.print(f"granite: {result.unit}: {'passed' if result.passed else 'FAILED'}", soft_wrap=True)
    put(out, [device_table(name, results)])
    if failed := [result.unit for result in results if not result.passed]:
        end(f"{', '.join(failed)} did not pass", STOPPED)


@contextlib.contextmanager
def _outside(bed: Testbed, is_rehearsed: bool) -> Iterator[tuple[Testbed, Clock | None]]:
    """The testbed with its drivers and the clock of its plant, if it is rehearsed."""
    if not is_rehearsed:
        yield bed, None
        return
    from granite.rt.rehearsal.rehearsal import rehearsal

    with rehearsal(bed) as outside:
        yield outside.bed, outside.clock(0.0)


def _simulated_beside(names: list[str]) -> contextlib.AbstractContextManager[None]:
    return simulated_by(f"--simulate {','.join([*names, DEVICE])}")


def _names(simulate: str, bed: Testbed) -> list[str]:
    """The devices to simulate; `rest` stands for all that have no driver."""
    typed = listed_names(simulate)
    rest = [name for name, device in bed.devices.items() if getattr(device, "driver", None) is None]
    names = [name for word in typed for name in (rest if word == _REST else [word])]
    return list(dict.fromkeys(names))


def doctor(as_json: AsJson = False) -> None:
    """Check this machine for real-time use: compiler, priority, memory lock, timer, serial ports."""
    from granite.cli.report.hardware import doctor_table
    from granite.rt.checks.doctor import examine
    from granite.views.table import put

    findings = examine()
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        put(out, [doctor_table(findings)])
