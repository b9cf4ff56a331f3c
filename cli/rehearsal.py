"""`granite rehearse`: a testbed on its real drivers, with emulated boards and the plant in other processes."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from granite.cli.arguments import AsJson, Bed, Overrides, Overwrite, named
from granite.cli.outputs import new_log
from granite.cli.recorded_run import (
    BehaviourName,
    Duration,
    Live,
    LiveGains,
    LivePort,
    NewLog,
    Seed,
    WithOperator,
    end_device_run,
    live_port,
    load_changed,
    short_forms,
    with_behaviour,
)
from granite.cli.screen import err
from granite.config.whole_file import refuse_output

#: what bytes that come late look like
_OF_A_BUSY_MACHINE = ("sensor_stale", "actuator_fault", "too_late", "plant_lost")
_BUSY = (
    "rehearsals end like this on a busy machine, too; with more patience: "
    "--watchdog 1 --set safety.age_s.SENSOR=0.5 (docs/rehearsal.md)"
)


def rehearse(
    bed: Bed,
    operator: WithOperator = False,
    live: Live = False,
    with_port: LivePort = None,
    live_gains: LiveGains = False,
    behaviour: BehaviourName = None,
    overrides: Overrides = None,
    duration: Duration = None,
    seed: Seed = None,
    log: NewLog = None,
    overwrite: Overwrite = False,
    watchdog: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="of the boards; default: 0.1, or four ticks", min=0.002, max=1.0),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a testbed on the real drivers: firmware and plant are in other processes, on serial ports and sockets."""
    from granite.rt.process.status_line import preparing
    from granite.rt.rehearsal.rehearsal import rehearsal
    from granite.rt.run import Run

    bed = with_behaviour(bed, behaviour)
    testbed = load_changed(bed, overrides or [], duration, seed)
    port = live_port(live, with_port, live_gains)
    if log is not None:
        refuse_output("log", log, (".mcap",), overwrite)
    progress = not as_json and err.is_terminal
    with contextlib.ExitStack() as stack:
        path = log if log is not None else stack.enter_context(new_log(testbed.name))
        stack.enter_context(named(bed, testbed))
        with preparing(progress):
            run = Run(testbed, rehearsal=stack.enter_context(rehearsal(testbed, watchdog)))
        summary = run.record(
            path,
            realtime=True,
            overwrite=overwrite or log is None,
            progress=progress,
            changes=[*(overrides or []), *short_forms(duration, seed)],
            pass_signals_on=False,
            operator=operator,
            live=port,
            live_gains=live_gains,
        )
    if summary["ended"] in _OF_A_BUSY_MACHINE:
        err.print(_BUSY, soft_wrap=True)
    end_device_run(summary, path, as_json)
