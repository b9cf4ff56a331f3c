"""What precedes a run: what closes which loop, checks of real devices, a question, and the wiggle."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from granite.cli.endings import STOPPED, end
from granite.cli.screen import err, out
from granite.config.errors import InputError
from granite.config.testbed import Testbed
from granite.drivers.device_set import DeviceSet

if TYPE_CHECKING:
    from granite.rt.loop.clock import Clock

Wiggle = Annotated[
    bool,
    typer.Option("--wiggle", help="before the run: move each motor and thruster a little, compare with the model"),
]


def say_loops(bed: Testbed, simulated: Collection[str], as_json: bool) -> None:
    """Say what closes the loop of each module, where some devices are simulated or emulated."""
    from granite.rt.half_real import module_loops

    for loop in module_loops(bed, simulated) if simulated else ():
        (err if as_json else out).print(loop.sentence, soft_wrap=True)


def check_devices(bed: Testbed, devices: DeviceSet, as_json: bool) -> None:
    """Check the devices and print the table; end the command where a check fails."""
    from granite.cli.report.hardware import preflight_table
    from granite.rt.checks.preflight import preflight
    from granite.rt.loop.clock import RealClock
    from granite.views.table import put

    results = preflight(bed, devices, RealClock())
    put(err if as_json else out, [preflight_table(results)])
    if failed := [result for result in results if not result.passed]:
        what = "; ".join(f"{each.device} {each.check}: {each.text}" for each in failed)
        end(f"nothing was armed, {len(failed)} check{'s' if len(failed) > 1 else ''} failed: {what}", STOPPED)


def confirm_arming(bed: Testbed, simulated: Collection[str]) -> None:
    """Ask before the real actuators are armed, and say what moves although no sensor measures it."""
    from granite.rt.half_real import unmeasured_actuators

    armed = [name for name in bed.actuators if name not in simulated]
    unmeasured = ", ".join(unmeasured_actuators(bed, simulated))
    danger = "move a robot that no real sensor measures: clamp it, or take air and gas away."
    warning = f"{unmeasured} {danger} " if unmeasured else ""
    confirm(f"{warning}Arm {', '.join(armed) or 'nothing'} and run {bed.name}?")


def confirm(question: str) -> None:
    """Ask the operator, who types yes."""
    if not sys.stdin.isatty():
        raise InputError("nobody can be asked", key="standard input", expected="a terminal, or --yes")
    if input(f"{question} Type yes: ").strip().lower() != "yes":
        end("nothing was armed: the operator did not type yes", STOPPED)


def wiggled(
    bed: Testbed, devices: DeviceSet, clock: Clock, as_json: bool, skipped: Collection[str] = ()
) -> tuple[str, ...]:
    """Wiggle the actuators and print the responses, which the log keeps; end the command where one is wrong."""
    from granite.cli.report.hardware import preflight_table
    from granite.rt.checks.wiggle import wiggle
    from granite.views.table import put

    err.print("granite: the wiggle moves each motor and thruster a little", soft_wrap=True)
    findings = wiggle(bed, devices, clock, skipped)
    put(err if as_json else out, [preflight_table(findings, "Wiggle before the run")])
    if failed := [finding for finding in findings if not finding.passed]:
        what = "; ".join(f"{finding.device} {finding.text}" for finding in failed)
        end(f"the run was not started, the wiggle found: {what}", STOPPED)
    return tuple(f"{finding.device} {finding.text}" for finding in findings)
