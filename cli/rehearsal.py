"""`granite rehearse`: a testbed on its real drivers, with emulated boards and the plant in other processes."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Annotated

import typer

from granite.cli.arguments import Yes, listed_names
from granite.cli.arming import Wiggle, check_devices, confirm_arming, say_loops, wiggled
from granite.cli.recorded_run import RecordedRun, end_device_run, records_a_run
from granite.config.errors import InputError
from granite.logs.run_summary import RunSummary

#: what bytes that come late look like
_OF_A_BUSY_MACHINE = ("sensor_stale", "actuator_fault", "too_late", "plant_lost", "watchdog")
#: ends that no machine causes
_OF_NO_MACHINE = ("completed", "operator_stop", "emergency_stop")
#: a loop that is late by this many ticks may look like any fault: the robot moves on, uncontrolled
_LATE_TICKS = 4
#: of --patient: watchdog of the boards, and age of every sensor [s]
_PATIENCE_S = 0.5


@records_a_run
def rehearse(
    asked: RecordedRun,
    watchdog: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="of the boards; default: 0.1, or four ticks", min=0.002, max=1.0),
    ] = None,
    patient: Annotated[
        bool,
        typer.Option("--patient", help="on a busy machine: boards and sensors may be silent for 0.5 s"),
    ] = False,
    real: Annotated[
        str, typer.Option("--real", metavar="NAMES", help="devices that are real, on the ports of their own drivers")
    ] = "",
    yes: Yes = False,
    wiggle: Wiggle = False,
) -> None:
    """Run a testbed on the real drivers: firmware and plant are in other processes, on serial ports and sockets."""
    from granite.rt.process.status_line import preparing
    from granite.rt.rehearsal.rehearsal import rehearsal
    from granite.rt.run import Run

    testbed, more = asked.load(), []
    if patient:
        more = [
            f"safety.age_s.{name}={_PATIENCE_S}"
            for name in testbed.sensors
            if testbed.age_limit(name) < _PATIENCE_S and not asked.changes(f"safety.age_s.{name}")
        ]
        testbed, watchdog = asked.load(more), _PATIENCE_S if watchdog is None else watchdog
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(asked.recorded(testbed))
        options = asked.options(realtime=True, more=more)
        names = listed_names(real)
        if wiggle and names:
            raise InputError("the plant would move, not the robot", key="--wiggle", expected="none with --real")
        if wiggle:  # on boards and a plant of its own: the run begins at the start
            with rehearsal(testbed, watchdog) as trial:
                tried = wiggled(trial.bed, trial.build_devices(), trial.clock(0.0), asked.as_json)
            options = replace(options, wiggle=tried)
        with preparing(options.progress):
            outside = stack.enter_context(rehearsal(testbed, watchdog, names))
            run = Run(testbed, rehearsal=outside)
        if names:
            emulated = [name for name in testbed.devices if name not in names]
            say_loops(testbed, emulated, asked.as_json)
            check_devices(outside.bed, outside.build_devices(), asked.as_json)
            if not yes:
                confirm_arming(testbed, emulated)
        summary = run.record(path, options)
    end_device_run(summary, path, asked.as_json, _remedy(summary, testbed.loop.period_s, patient))


def _remedy(summary: RunSummary, period_s: float, patient: bool) -> str:
    """What to do about an end that a busy machine may have caused; empty for another one."""
    late_s = summary["timing"]["wake_up"]["max_us"] * 1e-6 if "timing" in summary else 0.0
    may_be_late = late_s > _LATE_TICKS * period_s and summary["ended"] not in _OF_NO_MACHINE
    if summary["ended"] not in _OF_A_BUSY_MACHINE and not may_be_late:
        return ""
    remedy = "close other programs" if patient else "--patient allows more"
    return f"; this machine was late by up to {late_s * 1e3:.0f} ms: {remedy} (docs/rehearsal.md)"
