"""The cases of the matrix: each kind of fault, on each device that it can hit, in the simulation and in a rehearsal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

from granite.config.devices.device import Device
from granite.config.devices.force_gauges import ForceGauges
from granite.config.devices.grips import Grips
from granite.config.devices.momentum_wheel import MomentumWheels
from granite.config.devices.strain_gauges import StrainGauges
from granite.config.loader import load
from granite.config.testbed import Testbed as Bed
from tests.rt.fault_matrix.injections import BedChange, Done, Event, Injection, OperatorRequest, RunPreparation
from tests.rt.fault_matrix.kinds import KINDS, Kind
from tests.support.fault_table import MOVE
from tests.support.response_table import TABLE, Row

Where = Literal["sim", "rehearse"]
#: of a fault of a device, after the monitor has settled [s]
AT_S = 2.5
#: a doubted model is a warning for 2 s, then a hold begins; and how long it is watched for [s]
DOUBTED, DOUBTED_S, WATCHED_S = "model_doubted", 2.1, 3.0
#: of a fault of the loop, in the middle of the free-flyer's own move, and the end of that run [s]
LOOP_AT_S, LOOP_END_S = 8.0, 13.0
#: of the lines, and of a machine that does other things, too [s]
ALLOWANCE_S = 0.3
#: in a rehearsal, of the boards and of the age of a frame: a loaded machine delays bytes on their way. The second is
#: of faults of the loop, which last longer and are not of the boards [s]
PATIENCE_S, LOOP_PATIENCE_S = 0.1, 0.5


class Home(NamedTuple):
    """A testbed with the move in which a fault happens."""

    bed: str
    overrides: tuple[str, ...] = ()
    changes: dict[str, Any] = {}  # noqa: RUF012

    def testbed(self, *more: str) -> Bed:
        """Loaded."""
        return load(self.bed, [*self.overrides, *more]).with_changes(self.changes)


#: the move of the fault table, which needs all thrusters and motors, and a button beside its devices
TO_AND_FRO = {"behaviour.waypoints": MOVE, "behaviour.check_moves": False}
FREE_FLYER = Home("free-flyer", ("devices.emergency_stop={}",), TO_AND_FRO)
#: where a device is that the free-flyer does not have
HOMES: dict[type[Device], Home] = {
    StrainGauges: Home("flexible-arm"),
    ForceGauges: Home("fixed-dual-arm/carry-gauges"),
    MomentumWheels: Home("leap"),
    Grips: Home("leap"),
}
#: what is done to the processes of a rehearsal, where virtual time has a request
DEEDS = {
    "operator stop, Ctrl-C": "interrupt the loop",
    "emergency stop by operator or keyboard": "press Ctrl-backslash",
    "operator lost": "kill the operator channel",
    "burst of overruns": "suspend the loop for moments",
    "recorder lost": "kill the recorder",
    "disk full": "fill the disk",
}
#: faults of processes, which virtual time does not have: fault, deed, reasons, time, changes
OF_PROCESSES: tuple[tuple[str, str, str, float, tuple[str, ...]], ...] = (
    ("loop suspended for 0.3 s", "suspend the loop", "too_late actuator_fault sensor_stale", 0.5, ()),
    ("overrun, policy is to stop", "suspend the loop for a moment", "overrun", 0.1, ("loop.overrun=stop",)),
    ("plant killed", "kill the plant", "plant_lost sensor_frozen sensor_stale sensor_outliers actuator_fault", 0.4, ()),
)


class Case(NamedTuple):
    """A fault of one device in one world."""

    fault: str
    device: str  #: its name, or "loop"
    where: Where
    home: Home
    injection: Injection
    noticed_by: tuple[str, ...]
    within_s: float  #: until it is noticed
    complete_s: float  #: from then until the response is complete
    at_s: float
    duration_s: float

    def __str__(self) -> str:
        return f"{self.where}: {self.device}: {self.fault}"

    def complete_after(self, reason: str) -> float:
        """Until the response to this reason is complete [s]."""
        return DOUBTED_S if reason == DOUBTED else self.complete_s

    def testbed(self) -> Bed:
        """The testbed in which it happens."""
        own = self.injection.changes if isinstance(self.injection, BedChange) else ()
        bed = self.home.testbed(*own).with_changes({"loop.duration_s": self.duration_s})
        if isinstance(self.injection, Event):
            bed = bed.with_changes({"simulation.events": [self.injection.table(bed, self.device, self.at_s)]})
        if self.where == "rehearse":
            ages = {name: max(bed.age_limit(name), self.patience_s) for name in bed.sensors}
            bed = bed.with_changes({f"safety.age_s.{name}": age for name, age in ages.items()})
        return bed

    @property
    def patience_s(self) -> float:
        """Of the boards of a rehearsal."""
        return LOOP_PATIENCE_S if self.device == "loop" else PATIENCE_S


def cases() -> list[Case]:
    """Every case."""
    return [*_of_devices(), *_of_the_loop()]


def _of_devices() -> Iterator[Case]:
    for kind in KINDS:
        for device_class in kind.on:
            home, bed, device = _home(device_class)
            for where, injection in _worlds(kind):
                names, within = _declared(kind, where)
                within = 0.1 + _age(bed, device, where) if within is None else within
                within += ALLOWANCE_S * (where == "rehearse")
                end = AT_S + within + (WATCHED_S if DOUBTED in names else 0.5)
                yield Case(kind.fault, device, where, home, injection, names, within, 0.01, AT_S, end)


@cache
def _home(device_class: type[Device]) -> tuple[Home, Bed, str]:
    """Where a device of this kind is, and its name there."""
    home = HOMES.get(device_class, FREE_FLYER)
    bed = home.testbed()
    return home, bed, next(name for name, table in bed.devices.items() if type(table) is device_class)


def _worlds(kind: Kind) -> Iterator[tuple[Where, Injection]]:
    if kind.in_sim is not None:
        yield "sim", kind.in_sim
    if kind.in_rehearsal is not None:
        yield "rehearse", kind.in_rehearsal


def _declared(kind: Kind, where: Where) -> tuple[tuple[str, ...], float | None]:
    """Reasons, and the time until one of them is noticed."""
    if where == "rehearse" and kind.rehearsed_by:
        return tuple(kind.rehearsed_by.split()), kind.rehearsed_within_s
    return tuple(kind.noticed_by.split()), kind.within_s


def _age(bed: Bed, device: str, where: Where) -> float:
    """The age that the guard allows a frame of the device, or of any on its board."""
    age = bed.age_limit(device) if device in bed.sensors else PATIENCE_S
    return max(age, PATIENCE_S) if where == "rehearse" else age


def _of_the_loop() -> Iterator[Case]:
    worlds: tuple[Where, ...] = ("sim", "rehearse")
    for row in TABLE:
        for where in worlds:
            within = 0.01
            if where == "rehearse":
                within += 0.3 * (row.fault in DEEDS) + ALLOWANCE_S  # a thread looks every 0.25 s
            overrides = () if row.bed == "free-flyer" else row.changes
            home = Home(row.bed, overrides, {"behaviour.check_moves": False} if row.bed == "free-flyer" else {})
            end = LOOP_END_S if row.bed == "free-flyer" else 3.0
            names, made = (row.reason.name.lower(),), _made(row, where)
            # A limit that the move does not keep is broken when the move comes to it.
            at = (
                LOOP_AT_S
                if isinstance(made, OperatorRequest | Done) or (end == LOOP_END_S and isinstance(made, RunPreparation))
                else 0.0
            )
            yield Case(row.fault, "loop", where, home, made, names, within, row.within_s, at, end)
    for fault, deed, reasons, within, changes in OF_PROCESSES:
        home = Home("free-flyer", changes, TO_AND_FRO)
        names, end = tuple(reasons.split()), AT_S + 3.0
        yield Case(fault, "loop", "rehearse", home, Done(deed), names, within + ALLOWANCE_S, 0.01, AT_S, end)


def _made(row: Row, where: Where) -> Injection:
    if where == "rehearse" and row.fault in DEEDS:
        return Done(DEEDS[row.fault])
    if row.request is not None:
        return OperatorRequest(row.request)
    return BedChange(row.changes) if row.changes else RunPreparation(row.prepare)
