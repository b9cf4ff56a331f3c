"""The layout of one log row: topics of named float64 values with units, written from records and read back.

A row is flat; each topic is a slice of it, and the values of a topic stand in the order of the record they
come from. A boolean is 0.0 or 1.0. To record one more thing, add it to its record, and one line at the same
place of the same topic in `_topics`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from granite.config.audit import audit_values
from granite.config.coordinates import Coordinate
from granite.config.errors import InputError
from granite.config.records import NOTHING, Applied, Array, Command, Demand, Reference, Sample, State, Verdict
from granite.config.testbed import Testbed

#: the steps of the tick, in turn
STEPS = ("read", "estimate", "decide", "control", "allocate", "guard", "write", "record")

#: one number of a record, or an array of them
Entry = Coordinate | tuple[Coordinate, ...]

#: of a wrench on the root body, in its axes
_WRENCH = {
    "planar": (("fx", "N"), ("fy", "N"), ("mz", "N m")),
    "spatial": (("fx", "N"), ("fy", "N"), ("fz", "N"), ("mx", "N m"), ("my", "N m"), ("mz", "N m")),
}
_ROS_FIELD = re.compile(r"[a-z](_?[a-z0-9])*")


class Truth(NamedTuple):
    """What the simulated plant really does; all NaN where there is none."""

    t: float
    q: Array  #: coordinates of all modules
    u: Array  #: their velocities
    thrust: Array  #: (n_t) [N], delivered
    tank: float  #: impulse left [N s]
    closed: Array = NOTHING  #: (n_c) each contact: 0 open, 1 closed, 2 closed and slipping
    wrench: Array = NOTHING  #: (n_c d) of each contact, by its first side on its second, in world axes
    squeeze: Array = NOTHING  #: of each module between contacts: how much of their forces cancels [N, N m/m]
    caught: Array = NOTHING  #: (n_c) size of the impulses of taking hold so far [N s, N m s]
    lost: Array = NOTHING  #: (1) energy that taking hold took so far [J]; nothing without contacts
    audit: Array = NOTHING  #: what `config.audit` names, or nothing


class Timing(NamedTuple):
    """When a tick ran, how long its steps took, and what went wrong so far."""

    tick: int
    scheduled: float  #: when the tick was due [s since the start of the run]
    delay: float  #: how much later it began [s]
    steps: Array  #: (8) duration of each of `STEPS` [s]; that of `record` is of the tick before
    lost: int  #: rows that found the ring full
    overruns: int


class Tick(NamedTuple):
    """All records of one tick."""

    sample: Sample
    state: State
    reference: Reference
    demand: Demand
    command: Command
    verdict: Verdict
    applied: Applied
    truth: Truth
    timing: Timing


class Topic(NamedTuple):
    """A slice of the row that is one message in the log."""

    name: str
    entries: Mapping[str, Entry]
    start: int
    stop: int

    @property
    def values(self) -> list[tuple[str, Coordinate]]:
        """Every number of the topic, with the name of the entry it belongs to."""
        return [
            (entry, value)
            for entry, values in self.entries.items()
            for value in ((values,) if isinstance(values, Coordinate) else values)
        ]

    @property
    def message(self) -> str:
        """The topic as a ROS 2 message definition."""
        return "\n".join(f"float64 {value.key}  # {entry} [{value.unit}]" for entry, value in self.values)


class _Packing:
    """Joins the values of a tick to the bytes of a row: contiguous float64 arrays as they lie in memory, and numbers.

    Copied one by one, fifty values cost more than most steps of the tick. So all numbers are packed at once, each run
    of them that no array interrupts becomes one more array, and all arrays that a testbed has numbers in are joined.
    """

    def __init__(self, places: Sequence[int | slice]) -> None:
        numbers = [i for i, place in enumerate(places) if isinstance(place, int)]
        self._numbers = itemgetter(*numbers)
        block = bytearray(8 * len(numbers))
        self._pack = partial(Struct(f"{len(numbers)}d").pack_into, block, 0)
        #: stand behind the values of a tick
        self.runs: list[memoryview] = []
        pieces: list[int] = []
        packed = 0
        for is_number, run in groupby(range(len(places)), lambda i: isinstance(places[i], int)):
            of_run = list(run)
            if is_number:
                pieces.append(len(places) + len(self.runs))
                self.runs.append(memoryview(block)[8 * packed : 8 * (packed + len(of_run))])
                packed += len(of_run)
            else:
                pieces += [i for i in of_run if not _is_empty(places[i])]
        self._pieces = itemgetter(*pieces)

    def pack(self, values: tuple[Any, ...]) -> bytes:
        """The values, with the runs behind them, as they stand in a row."""
        self._pack(*self._numbers(values))
        return b"".join(self._pieces(values))


def _is_empty(place: int | slice) -> bool:
    return isinstance(place, slice) and place.start == place.stop


class Channels:
    """The row of a testbed."""

    def __init__(self, bed: Testbed) -> None:
        topics: list[Topic] = []
        places: list[int | slice] = []
        self._places_by_entry: dict[tuple[str, str], int | slice] = {}
        at = 0
        for name, entries in _topics(bed).items():
            start = at
            for entry, values in entries.items():
                one = isinstance(values, Coordinate)
                place = at if one else slice(at, at + len(values))
                at += 1 if one else len(values)
                places.append(place)
                self._places_by_entry[name, entry] = place
            topics.append(Topic(name, entries, start, at))
            _refuse_bad_names(topics[-1])
        self.topics = tuple(topics)
        self.width = at
        self._places = tuple(places)
        unknown = next(topic for topic in self.topics if topic.name == "/truth").entries.values()
        nothing: list[Any] = [math.nan if isinstance(e, Coordinate) else np.full(len(e), math.nan) for e in unknown]
        self._no_truth = Truth(*nothing)
        self._packing, self._size = _Packing(self._places), 8 * self.width

    def place(self, topic: str, entry: str) -> int | slice:
        """Where an entry of a record stands: `rows[:, channels.place("/state", "q")]` is q over time."""
        return self._places_by_entry[topic, entry]

    def column(self, topic: str, key: str) -> int:
        """Where a single value stands: `rows[:, channels.column("/state", "base_x_m")]` is x over time."""
        found = next(t for t in self.topics if t.name == topic)
        return found.start + [value.key for _, value in found.values].index(key)

    def pack(
        self,
        sample: Sample,
        state: State,
        reference: Reference,
        demand: Demand,
        command: Command,
        verdict: Verdict,
        applied: Applied,
        truth: Truth | None,
        timing: Timing,
    ) -> bytes:
        """The records of a tick as a row; in the tick, so quick."""
        row = self._packing.pack(
            (
                *sample[:-1], *sample.applied, *state, *reference, *demand, *command,
                verdict.t, *verdict.command, verdict.reason, verdict.stop,
                *applied, *(truth or self._no_truth), *timing, *self._packing.runs,
            )
        )  # fmt: skip
        if len(row) != self._size:
            raise ValueError(f"the records of a tick have {len(row)} bytes, expected {self._size}")
        return row

    def read(self, row: Array) -> Tick:
        """The records of a tick back from its row, equal to the bit; their arrays are views of the row."""
        values: Iterator[Any] = iter(
            [row[place] if isinstance(place, slice) else row.item(place) for place in self._places]
        )

        def take(record: Any) -> Any:
            return record(*islice(values, len(record._fields)))

        sample = Sample(*(*islice(values, len(Sample._fields) - 1), take(Applied)))
        state, reference, demand, command = take(State), take(Reference), take(Demand), take(Command)
        verdict = Verdict(next(values), take(Command), int(next(values)), bool(next(values)))
        applied, truth, timing = take(Applied), take(Truth), take(Timing)
        return Tick(
            sample,
            state._replace(ready=bool(state.ready)),
            reference._replace(done=bool(reference.done)),
            demand,
            command,
            verdict,
            applied,
            truth,
            timing._replace(tick=int(timing.tick), lost=int(timing.lost), overruns=int(timing.overruns)),
        )


def _topics(bed: Testbed) -> dict[str, dict[str, Entry]]:
    """Every topic with its entries, in the order of the row."""
    robot, devices = bed.robot, bed.devices
    q, u = bed.estimated_positions, bed.estimated_velocities
    a = tuple(Coordinate(c.name, f"{c.unit}^2") for c in u)
    deviation = tuple(Coordinate(f"{c.name}_deviation", c.unit.removesuffix("/s")) for c in u)
    force = tuple(
        Coordinate(f"{c.name}_force", "N") if c.unit == "m/s" else Coordinate(f"{c.name}_torque", "N m") for c in u
    )
    wrench = tuple(
        Coordinate(f"wrench_{name}", unit) for name, unit in _WRENCH[robot.dimension] if q and robot.base == "floating"
    )
    sensed = devices.joint_sensors.joints if devices.joint_sensors else ()
    thrusters = [unit.name for unit in devices.thrusters.units] if devices.thrusters else []
    torque = tuple(Coordinate(f"{motor.joint}_torque", "N m") for motor in devices.motors)
    opening = tuple(Coordinate(f"{name}_opening", "1") for name in thrusters)
    thrust = tuple(Coordinate(f"{name}_thrust", "N") for name in thrusters)
    grip = tuple(Coordinate(f"{name}_grip", "1") for name in bed.grips)
    t = Coordinate("t", "s")
    return {
        "/sample": {
            "t": t,
            "joint_taken": Coordinate("joint_taken", "s"),
            "joint_count": Coordinate("joint_count", "1"),
            "joint_angle": tuple(Coordinate(f"{joint}_angle", "rad") for joint in sensed),
            "joint_rate": tuple(Coordinate(f"{joint}_rate", "rad/s") for joint in sensed),
            "pose_taken": Coordinate("pose_taken", "s"),
            "pose_count": Coordinate("pose_count", "1"),
            "pose": (
                Coordinate(f"{robot.root.name}_x", "m"),
                Coordinate(f"{robot.root.name}_y", "m"),
                Coordinate(f"{robot.root.name}_heading", "rad"),
            ),
            "applied_t": Coordinate("applied_t", "s"),
            "applied_torque": _prefixed("applied", torque),
            "applied_opening": _prefixed("applied", opening),
            "applied_grip": _prefixed("applied", grip),
        },
        "/state": {
            "t": t,
            "ready": Coordinate("ready", "1"),
            "q": q,
            "u": u,
            "deviation": deviation,
            "pose_age": Coordinate("pose_age", "s"),
            "joint_age": Coordinate("joint_age", "s"),
        },
        "/reference": {"t": t, "q": q, "u": u, "a": a, "done": Coordinate("done", "1"), "grip": grip},
        "/demand": {"t": t, "acceleration": a, "force": force, "wrench": wrench},
        "/command": {"t": t, "torque": torque, "opening": opening, "thrust": thrust, "grip": grip},
        "/verdict": {
            "t": t,
            "command_t": Coordinate("command_t", "s"),
            "torque": torque,
            "opening": opening,
            "thrust": thrust,
            "grip": grip,
            "reason": Coordinate("reason", "1"),
            "stop": Coordinate("stop", "1"),
        },
        "/applied": {"t": t, "torque": torque, "opening": opening, "grip": grip},
        "/truth": {
            "t": t,
            "q": bed.positions,
            "u": bed.velocities,
            "thrust": thrust,
            "tank": Coordinate("tank", "N s"),
            "closed": tuple(Coordinate(f"{contact.name}_closed", "1") for contact in bed.contacts),
            "wrench": tuple(
                Coordinate(f"{contact.name}_{name}", unit)
                for contact in bed.contacts
                for name, unit in _WRENCH[robot.dimension]
            ),
            "squeeze": tuple(Coordinate(f"{name}_squeeze", "N") for name in bed.squeezed),
            "caught": tuple(Coordinate(f"{contact.name}_caught", "N s") for contact in bed.contacts),
            "lost": (Coordinate("energy_lost", "J"),) if bed.contacts else (),
            "audit": audit_values(bed),
        },
        "/timing": {
            "tick": Coordinate("tick", "1"),
            "scheduled": Coordinate("scheduled", "s"),
            "delay": Coordinate("delay", "s"),
            "steps": tuple(Coordinate(step, "s") for step in STEPS),
            "lost": Coordinate("lost", "1"),
            "overruns": Coordinate("overruns", "1"),
        },
    }


def _prefixed(prefix: str, values: tuple[Coordinate, ...]) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(f"{prefix}_{value.name}", value.unit) for value in values)


def _refuse_bad_names(topic: Topic) -> None:
    keys = [value.key for _, value in topic.values]
    for key in keys:
        if not _ROS_FIELD.fullmatch(key):
            raise InputError(
                f"a value of {topic.name} would be called '{key}': expected lower case, digits and single "
                "underscores, so rename the joint, body or thruster it is named after"
            )
        if keys.count(key) > 1:
            raise InputError(
                f"two values of {topic.name} would be called '{key}': rename one of the joints, bodies or "
                "thrusters they are named after"
            )
