"""How a fault is made: in simulated devices, in the run itself, on a line, in a stream, or to a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from granite.config.run_modes import Request
from granite.config.testbed import Testbed
from granite.rt.run import Run

#: stands for the first signal of the device
FIRST = "first signal"

OfLine = Literal[
    "cut", "lost", "deaf", "damaged", "other_version", "gap", "repeated", "old_numbers", "time_back", "time_ahead",
    "report",
]  # fmt: skip
OfStream = Literal[
    "lost", "damaged", "other_version", "gap", "repeated", "old_numbers", "time_back", "time_ahead", "not_finite",
    "untracked", "other_body", "delayed",
]  # fmt: skip


class Event(NamedTuple):
    """A timed event of simulated devices, which in a rehearsal are those of the plant's process."""

    what: str
    unit: str | None = None
    value: float | None = None
    duration_s: float | None = None

    def table(self, bed: Testbed, device: str, at_s: float) -> dict[str, Any]:
        """As a testbed's file has it."""
        unit = bed.devices[device].signals(bed)[0].key if self.unit == FIRST else self.unit
        given = {"unit": unit, "value": self.value, "duration_s": self.duration_s}
        event = {"kind": "fault", "at_s": at_s, "device": device, "what": self.what}
        return event | {key: value for key, value in given.items() if value is not None}


class BedChange(NamedTuple):
    """A testbed that its own move does not keep, or with a device that acts by itself."""

    changes: tuple[str, ...]


class OperatorRequest(NamedTuple):
    """A request to the supervisor."""

    request: Request


class RunPreparation(NamedTuple):
    """A part of the run that fails."""

    prepare: Callable[[Run], None]


class OnLine(NamedTuple):
    """Tampering with the serial line of the board that has the device."""

    what: OfLine


class OnStream(NamedTuple):
    """Tampering with the pose stream."""

    what: OfStream


class Done(NamedTuple):
    """What is done to the processes of a rehearsal, by name; see `in_rehearsal.DEEDS`."""

    what: str


Injection = Event | BedChange | OperatorRequest | RunPreparation | OnLine | OnStream | Done
