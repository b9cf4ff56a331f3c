"""A case in a rehearsal: the loop in a process of its own on real drivers, with a fault in what is behind them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from granite.cli.recorded_run import end_device_run
from granite.config.errors import InputError
from granite.config.reasons import Reason
from granite.config.testbed import Testbed as Bed
from granite.logs.log import read_log
from granite.logs.unfinished import found_log
from granite.rt.rehearsal.rehearsal import Rehearsal, rehearsal
from granite.rt.run import Run
from granite.sim.emulation.wiring import wire
from tests.rt.fault_matrix.cases import Case
from tests.rt.fault_matrix.deeds import DEEDS, RehearsedRun, least_free_mb, operator_environment, start_as_operator
from tests.rt.fault_matrix.injections import Done, OnLine, OnStream, OperatorRequest, RunPreparation
from tests.rt.fault_matrix.judged import FaultEnding, judge
from tests.rt.fault_matrix.tampered import TamperedLine, TamperedStream, tampered_line, tampered_stream
from tests.support.scripted_operator import Script
from tests.support.waiting import until

#: outputs are safe within this time after the end of a run, and are watched for so long after that [s]
_SAFE_S, _WATCHED_S = 3.0, 0.3
#: a machine that was too busy ends a run before its fault; so often it is tried again
_TRIES = 3


def rehearse(case: Case, folder: Path) -> FaultEnding:
    """Let it happen."""
    for i in range(_TRIES):
        own = folder / str(i)
        own.mkdir()
        ending = _rehearse(case, own)
        if ending is not None:
            return ending
        print(f"{case}: try {i + 1} ended before its fault", file=sys.stderr)
    said = (own / "screen.txt").read_text().strip().splitlines()
    return FaultEnding("", 0.0, "", 0.0, False, f"each run ended before its fault: {said[-1] if said else 'silently'}")


def _rehearse(case: Case, folder: Path) -> FaultEnding | None:
    """How it ended; None where it ended before the fault."""
    bed, log, screen = case.testbed(), folder / "run.mcap", folder / "screen.txt"
    with contextlib.ExitStack() as stack:
        attended = case.injection == Done("kill the operator channel")
        if attended:
            bed = bed.with_changes(stack.enter_context(operator_environment(folder)))
        if case.injection == Done("fill the disk"):
            bed = bed.with_changes({"recording.least_free_mb": least_free_mb(folder)})
        outside = stack.enter_context(rehearsal(bed, case.patience_s))
        line, stream = _tampered(case, bed, outside, stack)
        process, there = _started(case, bed, outside, log, screen)
        stack.callback(_ended, process)
        rehearsed = RehearsedRun(bed, outside, process, log)
        at = case.at_s
        if isinstance(case.injection, OnLine | OnStream | Done):
            if attended:
                start_as_operator(bed)
            if not _comes_to(rehearsed, case.at_s):
                return None
            at = outside.truth(0.0).t
            if line is not None and isinstance(case.injection, OnLine):
                line.tampering = case.injection.what
            elif stream is not None and isinstance(case.injection, OnStream):
                stream.tampering = case.injection.what
            elif isinstance(case.injection, Done):
                DEEDS[case.injection.what](rehearsed)
        if case.injection == Done("kill the recorder"):
            until(lambda: Reason.RECORDER_LOST.text in screen.read_text(), 10)
            said_after_s = outside.truth(0.0).t - at
        if not there.poll(60):
            return FaultEnding("", 0.0, "", 0.0, False, "the run did not end")
        try:
            ended_at_s: float
            ended, ended_at_s = there.recv()
        except EOFError:  # it failed before the run
            return None
        process.join(10)
        is_safe = _is_safe(outside)
    if ended_at_s < at - 0.02 and at:
        return None
    if case.injection == Done("kill the recorder"):  # no log has the end of this run
        goes_on = "" if ended == "completed" and is_safe else f"it ended by {ended}"
        return FaultEnding(case.noticed_by[0], said_after_s, "warn", 0.0, is_safe, goes_on)
    try:
        recorded = read_log(found_log(log))
    except InputError:  # the recorder got no processor time
        return None
    return None if recorded.summary is None else judge(case, recorded, screen.read_text(), at, is_safe)


def _tampered(
    case: Case, bed: Bed, outside: Rehearsal, stack: contextlib.ExitStack
) -> tuple[TamperedLine | None, TamperedStream | None]:
    """The line or the stream of the case's device, led through here."""
    if isinstance(case.injection, OnStream):
        port = urlsplit(outside.bed.devices[case.device].driver.address).port
        assert port is not None
        stream = stack.enter_context(tampered_stream(port))
        address = f"udp://127.0.0.1:{stream.port}"
        outside.bed = outside.bed.with_changes({f"devices.{case.device}.driver.address": address})
        return None, stream
    if not isinstance(case.injection, OnLine):
        return None, None
    port = outside.bed.devices[case.device].driver.port
    board = next(board for board in wire(bed) if case.device in [device.name for device in board.devices])
    channels = [device.name for device in board.devices for _ in device.wires]
    line = stack.enter_context(tampered_line(port, [i for i, name in enumerate(channels) if name == case.device]))
    ports = {f"devices.{device.name}.driver.port": line.path for device in board.devices}
    outside.bed = outside.bed.with_changes(ports)
    return line, None


def _started(
    case: Case, bed: Bed, outside: Rehearsal, log: Path, screen: Path
) -> tuple[multiprocessing.process.BaseProcess, Connection]:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(case, bed, outside, log, screen, there))
    process.start()
    there.close()
    return process, here


def _run(case: Case, bed: Bed, outside: Rehearsal, log: Path, screen: Path, there: Connection) -> None:
    """In the process of the loop: run, record and show as `granite rehearse` does."""
    shown = os.open(screen, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(shown, 1)
    os.dup2(shown, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    run = Run(bed, rehearsal=outside)
    if isinstance(case.injection, RunPreparation):
        case.injection.prepare(run)
    if isinstance(case.injection, OperatorRequest):
        run.source = Script({round(case.at_s / run.bed.loop.period_s): case.injection.request})
    attended = case.injection == Done("kill the operator channel")
    summary = run.record(log, realtime=True, overwrite=True, progress=True, pass_signals_on=False, operator=attended)
    with contextlib.suppress(SystemExit):
        end_device_run(summary, log, False)
    sys.stdout.flush()
    sys.stderr.flush()
    there.send((summary["ended"], summary["ended_at_s"]))
    there.close()
    os._exit(0)  # without the clean-up of the process of the tests


def _ended(process: multiprocessing.process.BaseProcess) -> None:
    if process.is_alive():
        process.kill()
    process.join()


def _comes_to(rehearsed: RehearsedRun, t: float) -> bool:
    """Wait for a time of the run; False where it ends before."""
    until(lambda: rehearsed.t >= t or not rehearsed.process.is_alive(), 60)
    return rehearsed.process.is_alive()


def _is_safe(outside: Rehearsal) -> bool:
    """Outputs of all boards are safe soon, and stay so; those of a board that is dead are."""
    living = [i for i, board in enumerate(outside.boards.values()) if board.poll() is None]
    if outside.plant is None or outside.plant.poll() is not None:
        return True  # nobody sees the outputs any more; the kills of rehearsals ask the board itself
    end = time.monotonic() + _SAFE_S
    while time.monotonic() < end and not outside.outputs()[living, 1].all():
        time.sleep(0.01)
    before = outside.outputs()[living]
    time.sleep(_WATCHED_S)
    return bool(before[:, 1].all() and (outside.outputs()[living] == before).all())
