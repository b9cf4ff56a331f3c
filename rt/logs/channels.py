"""The layout of one log row: topics of named float64 values with units, written from records and read back.

A row is flat; each topic is a slice of it, and the values of a topic stand in the order of the record they come from.
A boolean is 0.0 or 1.0. Signals of devices are named by the devices' own `signals`; to record one more value of the
tick itself, add it to its record, and one line at the same position of the same topic in `topics_of`.

The layout goes into the log, so that a log is read without the code of a user's own devices.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from granite.config.audit import audit_values
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.devices.gauge import Gauge
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.parts import OpaquePart
from granite.config.records import (
    NOTHING,
    STEPS,
    Array,
    Command,
    Demand,
    Frame,
    Operation,
    Reference,
    Sample,
    State,
    Tick,
    Timing,
    Truth,
    Verdict,
    new,
)
from granite.config.testbed import Testbed

#: one number of a record, or an array of them
Entry = Coordinate | tuple[Coordinate, ...]

#: of a wrench on the root body, in its axes
_WRENCH = {
    "planar": (("fx", "N"), ("fy", "N"), ("mz", "N m")),
    "spatial": (("fx", "N"), ("fy", "N"), ("fz", "N"), ("mx", "N m"), ("my", "N m"), ("mz", "N m")),
}
#: unit of the force along a velocity
_FORCE = {"m/s": "N", "rad/s": "N m"}
_1, _2, _3, _5, _9 = (Struct(f"{n}d").pack for n in (1, 2, 3, 5, 9))
_timing = Struct(f"{5 + len(STEPS)}d").pack
_ROS_FIELD = re.compile(r"[a-z](_?[a-z0-9])*")


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


class Channels:
    """The row of a testbed.

    Parameters
    ----------
    topics
        Every topic with its entries, in the order of the row: `topics_of(bed)`, or the layout that a log holds.
    """

    def __init__(self, topics: Mapping[str, Mapping[str, Entry]]) -> None:
        found: list[Topic] = []
        places: list[int | slice] = []
        self._places_by_entry: dict[tuple[str, str], int | slice] = {}
        at = 0
        for name, entries in topics.items():
            start = at
            for entry, values in entries.items():
                one = isinstance(values, Coordinate)
                place = at if one else slice(at, at + len(values))
                at += 1 if one else len(values)
                places.append(place)
                self._places_by_entry[name, entry] = place
            found.append(Topic(name, entries, start, at))
        self.topics = tuple(found)
        self.width = at
        self._places = tuple(places)
        self._places_by_topic = {
            topic.name: tuple(self._places_by_entry[topic.name, entry] for entry in topic.entries) for topic in found
        }
        unknown = self.topic("/truth").entries.values()
        nothing: list[Any] = [math.nan if isinstance(e, Coordinate) else np.full(len(e), math.nan) for e in unknown]
        self._no_truth = Truth(*nothing)
        self._size = 8 * self.width
        #: entries of the truth that have values in this testbed
        filled = [i for i, e in enumerate(unknown) if isinstance(e, Coordinate) or e]
        self._end_of_truth = max(filled) + 1
        #: frames of the actuators of the last tick, which are in the next sample too
        self._applied: tuple[tuple[Frame, ...], bytes] = ((), b"")
        #: how many frames, ages and set points the records have
        values_of = [entry for entry in self.topic("/sample").entries if entry.endswith(".values")]
        self._n_applied = sum(entry.startswith("applied.") for entry in values_of)
        self._n_frames = len(values_of) - self._n_applied
        reference, state = self.topic("/reference").entries, self.topic("/state").entries
        self._n_direct, self._has_task = sum(entry.startswith("direct.") for entry in reference), "task" in reference
        #: arrays of the state that have no entry, by their place behind `t` and `ready`
        self._n_state = len(state)
        self._not_in_state = [i for i, field in enumerate(State._fields[2:]) if field not in state]
        self._has_unloading = "unloading" in self.topic("/command").entries

    @classmethod
    def of(cls, bed: Testbed) -> Channels:
        """The row of a testbed, with the signals of its devices."""
        channels = cls(topics_of(bed))
        for name, record in (
            ("/state", State),
            ("/demand", Demand),
            ("/truth", Truth),
            ("/timing", Timing),
            ("/operation", Operation),
        ):
            entries = list(channels.topic(name).entries)
            assert entries == [field for field in record._fields if field in entries]
        for topic in channels.topics:
            _refuse_bad_names(topic)
        return channels

    def topic(self, name: str) -> Topic:
        """The topic of that name.

        Raises
        ------
        InputError
            Where there is none.
        """
        for topic in self.topics:
            if topic.name in (name, f"/{name}"):
                return topic
        names = [topic.name for topic in self.topics]
        raise InputError("no such topic", key="topic", value=name, expected=one_of(name, names))

    def place(self, topic: str, entry: str) -> int | slice:
        """Columns of an entry of a record: `rows[:, channels.place("/state", "q")]` is q over time."""
        return self._places_by_entry[topic, entry]

    def column(self, topic: str, key: str) -> int:
        """Column of a single value: `rows[:, channels.column("/state", "base_x_m")]` is x over time.

        Raises
        ------
        InputError
            Where the topic has no such value.
        """
        found = self.topic(topic)
        keys = [value.key for _, value in found.values]
        if key not in keys:
            raise InputError(f"{found.name} has no such value", key="value", value=key, expected=one_of(key, keys))
        return found.start + keys.index(key)

    def layout(self) -> dict[str, dict[str, Any]]:
        """The topics as plain lists, for a log; `Channels(read_layout(...))` is this again."""
        return {
            topic.name: {
                entry: list(values) if isinstance(values, Coordinate) else [list(value) for value in values]
                for entry, values in topic.entries.items()
            }
            for topic in self.topics
        }

    def pack(
        self,
        sample: Sample,
        state: State,
        reference: Reference,
        demand: Demand,
        command: Command,
        verdict: Verdict,
        applied: tuple[Frame, ...],
        truth: Truth | None,
        timing: Timing,
        operation: Operation,
    ) -> bytes:
        """The records of a tick as a row."""
        decision = self.pack_decision(sample, state, reference, demand, command, verdict)
        return self.completed(decision, applied, truth, timing, operation)

    def pack_decision(
        self, sample: Sample, state: State, reference: Reference, demand: Demand, command: Command, verdict: Verdict
    ) -> bytes:
        """The first part of a row: the records up to the verdict."""
        commanded = pack_command(command)
        pieces: tuple[Any, ...] = (
                self.pack_sample(sample), pack_state(state), pack_reference(reference), pack_demand(demand), commanded,
                _1(verdict.t),
                commanded if verdict.command is command else pack_command(verdict.command),
                _5(verdict.reason, verdict.subject, verdict.value, verdict.limit, verdict.stop),
        )  # fmt: skip
        return b"".join(pieces)

    def pack_sample(self, sample: Sample) -> bytes:
        """The sample alone, which a row begins with."""
        before, packed = self._applied
        applied = packed if sample.applied is before else _frames_of(sample.applied)
        return b"".join((_1(sample.t), _frames_of(sample.frames), applied))

    def completed(
        self,
        decision: bytes,
        applied: tuple[Frame, ...],
        truth: Truth | None,
        timing: Timing,
        operation: Operation,
    ) -> bytes:
        """The row whose first part this is. Called in the tick, so fast: bytes that occur twice are packed once."""
        done = _frames_of(applied)
        self._applied = applied, done
        truth = truth or self._no_truth
        pieces: tuple[Any, ...] = (
                decision,
                done,
                _1(truth.t), *truth[1 : self._end_of_truth],
                _timing(timing.tick, timing.scheduled, timing.delay, *timing.steps, timing.lost, timing.overruns),
                _9(*operation[:9]), operation.gains,
        )  # fmt: skip
        row = b"".join(pieces)
        if len(row) != self._size:
            raise ValueError(f"the records of a tick have {len(row)} bytes, expected {self._size}")
        return row

    def read(self, row: Array) -> Tick:
        """The records of a tick back from its row, equal to the bit; their arrays are views of the row."""
        values = self._values(row)
        sample, state, reference, demand, wanted = self._read_controllers(values)
        t, allowed, reason, subject = next(values), self._read_command(values), int(next(values)), int(next(values))
        verdict = Verdict(t, allowed, reason, subject, next(values), next(values), bool(next(values)))
        applied = _read_frames(values, self._n_applied)
        truth, timing = Truth(*islice(values, len(Truth._fields))), Timing(*islice(values, len(Timing._fields)))
        timing = timing._replace(tick=int(timing.tick), lost=int(timing.lost), overruns=int(timing.overruns))
        asked = Operation(*islice(values, len(Operation._fields)))
        codes: Any = {name: int(getattr(asked, name)) for name in Operation._fields[1:-1] if name != "value"}
        operation = asked._replace(**codes)
        return Tick(sample, state, reference, demand, wanted, verdict, applied, truth, timing, operation)

    def read_controllers(self, row: Array) -> tuple[Sample, State, Reference, Demand, Command]:
        """The records before the verdict."""
        return self._read_controllers(self._values(row))

    def read_state(self, row: Array) -> State:
        """The estimate alone."""
        return self._read_state(self._values(row, "/state"))

    def read_reference(self, row: Array) -> Reference:
        """The reference alone."""
        return self._read_reference(self._values(row, "/reference"))

    def read_demand(self, row: Array) -> Demand:
        """The demand alone."""
        return self._read_demand(self._values(row, "/demand"))

    def _values(self, row: Array, topic: str = "") -> Iterator[Any]:
        """The entries of a topic, or of all."""
        places = self._places_by_topic[topic] if topic else self._places
        return iter([row[place] if isinstance(place, slice) else row.item(place) for place in places])

    def _read_controllers(self, values: Iterator[Any]) -> tuple[Sample, State, Reference, Demand, Command]:
        sample = Sample(next(values), _read_frames(values, self._n_frames), _read_frames(values, self._n_applied))
        state, reference = self._read_state(values), self._read_reference(values)
        return sample, state, reference, self._read_demand(values), self._read_command(values)

    def _read_state(self, values: Iterator[Any]) -> State:
        t, ready, *arrays = islice(values, self._n_state)
        for i in self._not_in_state:
            arrays.insert(i, NOTHING)
        return new(State, (t, bool(ready), *arrays))

    def _read_reference(self, values: Iterator[Any]) -> Reference:
        t, q, u, a, done = islice(values, 5)
        direct = tuple(islice(values, self._n_direct))
        return new(Reference, (t, q, u, a, bool(done), direct, next(values) if self._has_task else NOTHING))

    def _read_demand(self, values: Iterator[Any]) -> Demand:
        return Demand(*islice(values, len(self.topic("/demand").entries)))

    def _read_command(self, values: Iterator[Any]) -> Command:
        t, setpoints, thrust = next(values), tuple(islice(values, self._n_applied)), next(values)
        return Command(t, setpoints, thrust, next(values) if self._has_unloading else NOTHING)


def _read_frames(values: Iterator[Any], n: int) -> tuple[Frame, ...]:
    return tuple(Frame(next(values), int(next(values)), int(next(values)), next(values)) for _ in range(n))


def _frames_of(frames: tuple[Frame, ...]) -> bytes:
    pieces: list[Any] = []
    for t, number, status, values in frames:
        pieces += (_3(t, number, status), values)
    return b"".join(pieces)


def pack_state(state: State) -> bytes:
    """The estimate as it stands in a row."""
    t, ready, *arrays = state
    pieces: tuple[Any, ...] = (_2(t, ready), *arrays)
    return b"".join(pieces)


def pack_reference(reference: Reference) -> bytes:
    """The reference as it stands in a row."""
    t, q, u, a, done, direct, task = reference
    pieces: tuple[Any, ...] = (_1(t), q, u, a, _1(done), *direct, task)
    return b"".join(pieces)


def pack_demand(demand: Demand) -> bytes:
    """The demand as it stands in a row."""
    t, *arrays = demand
    pieces: tuple[Any, ...] = (_1(t), *arrays)
    return b"".join(pieces)


def pack_command(command: Command) -> bytes:
    """A command as it stands in a row."""
    pieces: list[Any] = [_1(command.t), *command.setpoints, command.thrust, command.unloading]
    return b"".join(pieces)


def read_layout(layout: Any) -> dict[str, dict[str, Entry]]:
    """The topics that `Channels.layout` wrote; `ValueError`, `TypeError` or `KeyError` where they are damaged."""
    return {
        str(topic): {
            str(entry): Coordinate(*map(str, values))
            if values and isinstance(values[0], str)
            else tuple(Coordinate(*map(str, value)) for value in values)
            for entry, values in entries.items()
        }
        for topic, entries in layout.items()
    }


def fits(channels: Channels, bed: Testbed) -> bool:
    """Whether a layout is that of the testbed, as far as the code of its devices is loaded."""
    if not bed.is_opaque:
        return channels.layout() == Channels(topics_of(bed)).layout()
    expected = topics_of(bed)
    if [topic.name for topic in channels.topics] != list(expected):
        return False
    unknown = [name for name, device in bed.devices.items() if not isinstance(device, Device)]
    of_unknown = {
        f"{prefix}{name}{part}"
        for name in unknown
        for prefix in ("", "applied.", "setpoint.", "direct.")
        for part in ("", ".t", ".number", ".status", ".values")
    }
    for topic in channels.topics:
        own = {entry: values for entry, values in topic.entries.items() if entry not in of_unknown}
        wanted = dict(expected[topic.name])
        for entry in ("task", "distribution"):  # of a behaviour or law whose code is not loaded
            own.pop(entry, None)
            wanted.pop(entry, None)
        for entry in ("ages", "innovation") if unknown else ():  # the sensors among the unknown devices have some too
            if entry in own and entry in wanted:
                own[entry] = wanted[entry]
        if topic.name == "/operation" and bed.controller and isinstance(bed.controller.law, OpaquePart):
            own["gains"] = wanted["gains"]  # only its code knows them
        if list(own.items()) != list(wanted.items()):
            return False
    return True


def topics_of(bed: Testbed) -> dict[str, dict[str, Entry]]:
    """Every topic with its entries, in the order of the row."""
    known = bed.known
    q, u = known.positions, known.velocities
    a = tuple(Coordinate(c.name, f"{c.unit}^2") for c in u)
    deviation = tuple(Coordinate(f"{c.name}_deviation", c.unit.removesuffix("/s")) for c in u)
    force = tuple(
        Coordinate(f"{c.name}_force", "N") if c.unit == "m/s" else Coordinate(f"{c.name}_torque", "N m") for c in u
    )
    floating = [module for module in known.modules if module.base == "floating"]
    prefixes = [f"{module.name}_wrench" if len(floating) > 1 else "wrench" for module in floating]
    wrench_parts = _WRENCH["planar" if bed.planar else "spatial"]
    wrench = tuple(Coordinate(f"{prefix}_{name}", unit) for prefix in prefixes for name, unit in wrench_parts)
    thrust = tuple(Coordinate(f"{name}_thrust", "N") for name in bed.thruster_names)
    setpoints = {name: _signals(bed, name, device) for name, device in bed.actuators.items()}
    command: dict[str, Entry] = {**{f"setpoint.{name}": values for name, values in setpoints.items()}, "thrust": thrust}
    wheel = bed.controller.allocation.yaw_wheel if bed.controller else None
    if wheel:
        command["unloading"] = (Coordinate(f"{wheel.joint}_unloading", "1"),)
    t = Coordinate("t", "s")
    recorded = bed.controller.law.recorded(bed) if bed.controller else ()
    gauges = tuple(
        Coordinate(f"{signal.name}_tared", signal.unit)
        for name, device in (bed.devices_of(Gauge) if bed.controller else {}).items()
        for signal in _signals(bed, name, device)
    )
    holding = tuple(Coordinate(f"{name}_holding", "1") for name in bed.grips) if bed.controller else ()
    task = bed.behaviour.recorded(bed) if bed.controller else ()
    gains = bed.controller.law.live_gains(bed) if bed.controller else ()
    return {
        "/sample": {
            "t": t,
            **_frames(bed, bed.sensors),
            **{f"applied.{entry}": values for entry, values in _frames(bed, bed.actuators, "applied_").items()},
        },
        "/state": {
            "t": t,
            "ready": Coordinate("ready", "1"),
            "q": q,
            "u": u,
            "deviation": deviation,
            "ages": tuple(Coordinate(f"{name}_age", "s") for name in bed.sensors),
            "innovation": tuple(
                Coordinate(f"{signal.name}_innovation", "1")
                for name, device in bed.sensors.items()
                for signal in _signals(bed, name, device)
            ),
            "correction": tuple(Coordinate(f"{c.name}_correction", c.unit) for c in u),
            "disturbance": tuple(Coordinate(f"{c.name}_disturbance", _FORCE.get(c.unit, c.unit)) for c in u),
            "faults": tuple(Coordinate(f"{name}_fault", "1") for name in bed.thruster_names),
            **({"gauges": gauges} if gauges else {}),
            **({"holding": holding} if holding else {}),
        },
        "/reference": {
            "t": t,
            "q": q,
            "u": u,
            "a": a,
            "done": Coordinate("done", "1"),
            **{f"direct.{name}": setpoints[name] for name in bed.direct_actuators},
            **({"task": task} if task else {}),
        },
        "/demand": {
            "t": t,
            "acceleration": a,
            "force": force,
            "wrench": wrench,
            **({"distribution": recorded} if recorded else {}),
        },
        "/command": {"t": t, **command},
        "/verdict": {
            "t": t,
            "command_t": Coordinate("command_t", "s"),
            **command,
            "reason": Coordinate("reason", "1"),
            "subject": Coordinate("subject", "1"),
            "value": Coordinate("value", "1"),
            "limit": Coordinate("limit", "1"),
            "stop": Coordinate("stop", "1"),
        },
        "/applied": _frames(bed, bed.actuators),
        "/truth": {
            "t": t,
            "q": bed.positions,
            "u": bed.velocities,
            "thrust": thrust,
            "tank": tuple(Coordinate(f"{name}_tank", "N s") for name in bed.devices_of(Thrusters)),
            "closed": tuple(Coordinate(f"{contact.name}_closed", "1") for contact in bed.contacts),
            "wrench": tuple(
                Coordinate(f"{contact.name}_{name}", unit) for contact in bed.contacts for name, unit in wrench_parts
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
        "/operation": {
            "t": t,
            **{name: Coordinate(name, "1") for name in Operation._fields[1:-1]},
            "gains": tuple(Coordinate(f"{gain.name}_gain", "1") for gain in gains),
        },
    }


def _signals(bed: Testbed, name: str, device: Device) -> tuple[Coordinate, ...]:
    """The values of a device, each with the device's name before it."""
    return tuple(Coordinate(f"{name}_{signal.name}", signal.unit) for signal in device.signals(bed))


def _frames(bed: Testbed, devices: Mapping[str, Device], prefix: str = "") -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for name, device in devices.items():
        found[f"{name}.t"] = Coordinate(f"{prefix}{name}_t", "s")
        found[f"{name}.number"] = Coordinate(f"{prefix}{name}_number", "1")
        found[f"{name}.status"] = Coordinate(f"{prefix}{name}_status", "1")
        found[f"{name}.values"] = tuple(Coordinate(f"{prefix}{c.name}", c.unit) for c in _signals(bed, name, device))
    return found


def _refuse_bad_names(topic: Topic) -> None:
    keys = [value.key for _, value in topic.values]
    for key in keys:
        if not _ROS_FIELD.fullmatch(key):
            raise InputError(
                f"a value of {topic.name} would be called '{key}'",
                expected="lower case, digits and single underscores: rename the joint, body or unit it is named after",
            )
        if keys.count(key) > 1:
            raise InputError(
                f"two values of {topic.name} would be called '{key}'",
                expected="different names: rename one of the joints, bodies or units they are named after",
            )
