"""A whole simulated run: lab, controllers, loop and recorder put together, and taken apart again whatever happens."""

from __future__ import annotations

import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from granite.config.records import NOTHING, Array, new
from granite.config.testbed import Testbed
from granite.controllers.stack import build_stack
from granite.drivers.device_set import DeviceSet
from granite.mrds import compilation
from granite.mrds.contacts.possible import redundancy
from granite.rt.channels import Channels, Truth
from granite.rt.clock import Clock, RealClock, VirtualClock
from granite.rt.guard import Guard
from granite.rt.log import Log
from granite.rt.loop import Loop, Outcome, RowSink
from granite.rt.memory import Memory
from granite.rt.preparing import preparing
from granite.rt.realtime import real_time
from granite.rt.reasons import Reason
from granite.rt.recorder import Recorder
from granite.sim.audit import Audit
from granite.sim.lab import build_lab
from granite.sim.plant import Plant

#: of contacts and audit, where a testbed has neither
_NOTHING_FELT = (NOTHING,) * 6


def simulate(
    bed: Testbed, log: Path, *, realtime: bool = False, overwrite: bool = False, progress: bool = False
) -> dict[str, Any]:
    """Run the testbed on the simulated plant into a log; the summary of the run."""
    with preparing(progress):
        session = Session(bed)
    recorder = Recorder.start(
        bed,
        log,
        info={"model": compilation.mode()},
        virtual=not realtime,
        # A virtual run is the same whenever it is made, and so is its log.
        start_ns=time.time_ns() if realtime else 0,
        overwrite=overwrite,
        progress=progress,
    )
    told: dict[str, Any] = {"ended": "fault", "text": Reason.FAULT.text}
    try:
        with real_time(bed.loop, enabled=realtime) as granted:
            clock = RealClock(bed.loop.spin_s) if realtime else VirtualClock()
            began = time.perf_counter()
            outcome = session.run(clock, recorder)
            took = time.perf_counter() - began
        told = {
            "bed": bed.name,
            "seed": bed.seed,
            "mode": "realtime" if realtime else "virtual",
            "model": compilation.mode(),
            "log": str(log),
            **_ending(outcome),
            "overruns": outcome.overruns,
            "redundant": session.redundant(),
            "wall_s": took,
            "real_time_factor": outcome.ticks * bed.loop.period_s / took,
            "asked_of_the_system": granted,
        }
    finally:
        recorded = recorder.close(told)
    if outcome.fault is not None and not isinstance(outcome.fault, Exception):
        raise outcome.fault  # the interpreter is asked to go; the log is closed and the actuators rest
    return {**told, **recorded.summary, "rows_lost": recorded.lost, "log_failure": recorded.failure}


def simulate_in_memory(bed: Testbed) -> Log:
    """Run the testbed in virtual time and keep its rows; a fault inside is raised."""
    session, channels = Session(bed), Channels(bed)
    memory = Memory(channels, session.ticks)
    outcome = session.run(VirtualClock(), memory)
    if outcome.fault is not None and outcome.reason is Reason.FAULT:
        raise outcome.fault
    info = {"bed": bed.name, "seed": str(bed.seed), "mode": "virtual", "model": compilation.mode()}
    return Log(bed, info, channels, memory.rows, (), _ending(outcome), True)


class Session:
    """Lab and controllers of a testbed, everything compiled, ready for one run."""

    def __init__(self, bed: Testbed) -> None:
        self._bed = bed
        self._plant, self._devices = build_lab(bed)
        self._audit = Audit(bed, self._plant) if bed.simulation.audit else None
        self._tells_more = bool(bed.contacts) or self._audit is not None
        self._stack, self._guard = build_stack(bed), Guard(bed)
        self.ticks = round(bed.loop.duration_s / bed.loop.period_s)

    def run(self, clock: Clock, sink: RowSink) -> Outcome:
        """Open the devices, run the loop to its end, close the devices."""
        self._devices.open()
        try:
            return self.loop(clock, sink).run(self.ticks)
        finally:
            self._devices.close()

    def loop(self, clock: Clock, sink: RowSink) -> Loop:
        """The loop itself, on open devices."""
        return Loop(self._bed, self._devices, self._stack, self._guard, clock, sink, self._truth, self._plant.advance)

    @property
    def devices(self) -> DeviceSet:
        """The simulated devices."""
        return self._devices

    @property
    def plant(self) -> Plant:
        """The simulated plant."""
        return self._plant

    def redundant(self) -> list[dict[str, Any]]:
        """What contacts held more than once so far: their forces were not unique, and the smallest were taken."""
        found = []
        for contacts, q in self._plant.dependent.values():
            held = redundancy(contacts, q)
            condition = held.condition if np.isfinite(held.condition) else None
            found.append({"contacts": held.contacts, "directions": held.directions, "condition": condition})
        return found

    def _truth(self, t: float) -> Truth:
        plant = self._plant
        plant.advance(t)  # where no device has asked for it yet
        felt = self._contacts() if self._tells_more else _NOTHING_FELT
        return new(Truth, (*plant.now(), *felt))

    def _contacts(self) -> tuple[Array, ...]:
        """The part of the truth that only testbeds with contacts or an audit have."""
        contacts = self._plant.contacts
        felt = self._plant.contact_loads()
        audit = self._audit.values(felt) if self._audit else NOTHING
        if contacts is None:
            return (NOTHING,) * 5 + (audit,)
        return contacts.closed, felt.wrench, felt.squeeze, contacts.caught, np.array([contacts.lost]), audit


def _ending(outcome: Outcome) -> dict[str, Any]:
    """How the run ended, in words."""
    completed = outcome.reason is Reason.PASSED
    words: dict[str, Any] = {
        "ended": "completed" if completed else outcome.reason.name.lower(),
        "text": "the run went to its end" if completed else outcome.reason.text,
        "ended_at_s": outcome.t,
    }
    if outcome.reason is Reason.PLANT_LOST:
        words["text"] += f": {outcome.fault}"
    elif outcome.fault is not None:
        words["fault"] = f"{type(outcome.fault).__name__}: {outcome.fault}"
        words["traceback"] = "".join(traceback.format_exception(outcome.fault))
    return words
