"""`granite rehearse`: a testbed on its real drivers, with emulated boards and the plant in other processes."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from granite.cli.recorded_run import RecordedRun, end_device_run, records_a_run
from granite.cli.screen import err

#: what bytes that come late look like
_OF_A_BUSY_MACHINE = ("sensor_stale", "actuator_fault", "too_late", "plant_lost")
_BUSY = (
    "rehearsals end like this on a busy machine, too; with more patience: "
    "--watchdog 1 --set safety.age_s.SENSOR=0.5 (docs/rehearsal.md)"
)


@records_a_run
def rehearse(
    asked: RecordedRun,
    watchdog: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="of the boards; default: 0.1, or four ticks", min=0.002, max=1.0),
    ] = None,
) -> None:
    """Run a testbed on the real drivers: firmware and plant are in other processes, on serial ports and sockets."""
    from granite.rt.process.status_line import preparing
    from granite.rt.rehearsal.rehearsal import rehearsal
    from granite.rt.run import Run

    testbed = asked.load()
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(asked.recorded(testbed))
        options = asked.options(realtime=True)
        with preparing(options.progress):
            run = Run(testbed, rehearsal=stack.enter_context(rehearsal(testbed, watchdog)))
        summary = run.record(path, options)
    if summary["ended"] in _OF_A_BUSY_MACHINE:
        err.print(_BUSY, soft_wrap=True)
    end_device_run(summary, path, asked.as_json)
