"""`granite sim`: a testbed on the simulated plant."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from granite.cli.arming import Wiggle, wiggled
from granite.cli.recorded_run import RecordedRun, end_run, records_a_run, show_run
from granite.cli.screen import err, print_json


@records_a_run
def sim(
    asked: RecordedRun,
    realtime: Annotated[bool, typer.Option("--realtime", help="keep pace with wall-clock time")] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="check energy, momentum and contacts, against their limits")
    ] = False,
    wiggle: Wiggle = False,
) -> None:
    """Run a testbed on the simulated plant and record everything."""
    from granite.logs.unfinished import found_log
    from granite.rt.devices import build_devices
    from granite.rt.loop.clock import VirtualClock
    from granite.rt.run import simulate

    audited = ["simulation.audit=true"] if audit else []
    testbed = asked.load(audited)
    with asked.recorded(testbed) as path:
        options = asked.options(realtime, audited)
        if wiggle:  # on a lab of its own: the run begins at the start
            tried = wiggled(testbed, build_devices(testbed)[0], VirtualClock(), asked.as_json)
            options = replace(options, wiggle=tried)
        summary = simulate(testbed, path, options, announce=_announce)
    if asked.as_json:
        print_json(summary)
    else:
        show_run(summary, path)
        path = found_log(path)
    end_run(summary, path)


def _announce(sentence: str) -> None:
    err.print(f"granite: {sentence}", soft_wrap=True)
