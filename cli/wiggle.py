"""The wiggle before a run, as the commands that record a run ask for it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from granite.cli.endings import STOPPED, end
from granite.cli.screen import err, out
from granite.config.testbed import Testbed

if TYPE_CHECKING:
    from granite.drivers.device_set import DeviceSet
    from granite.rt.loop.clock import Clock

Wiggle = Annotated[
    bool,
    typer.Option("--wiggle", help="before the run: move each motor and thruster a little, compare with the model"),
]


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
