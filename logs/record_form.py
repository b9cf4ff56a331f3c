"""How the records of a tick stand in a row: their fields in order, each by its type.

    float, int, bool     one number; a boolean is 0.0 or 1.0
    Array                its numbers; none where the testbed has no such values
    Sequence[float]      one number for each of `STEPS`
    tuple[..., ...]      one array or frame after the other
    a record             its fields

Order and types are declared by `config/records.py` alone; `topics.py` adds the name and unit of each number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from struct import Struct
from types import CodeType
from typing import Any, get_type_hints

from granite.config.records import NOTHING, STEPS, Array, Command, Frame, Tick

_NUMBERS = (float, int, bool)
FRAMES = tuple[Frame, ...]
#: how the entries of a field begin, where it has several; others are of the frames of sensors, or of a command inside
_PREFIXES = {"applied": "applied.", "direct": "direct.", "setpoints": "setpoint."}


@cache
def types_of(record: type) -> dict[str, Any]:
    """The fields of a record in order, and their types."""
    return get_type_hints(record)


def record_of(topic: str) -> type:
    """The record that a topic holds."""
    record: type = types_of(Tick)[topic.removeprefix("/")]
    return record


def field_of(record: type, entry: str) -> str:
    """The field that an entry of a topic belongs to."""
    types = types_of(record)
    if entry in types:
        return entry
    for field, prefix in _PREFIXES.items():
        if field in types and entry.startswith(prefix):
            return field
    return "frames" if "frames" in types else "command"


def in_order(topic: str, entries: Iterable[str]) -> list[str]:
    """The entries of a topic in the order of its record."""
    record = record_of(topic)
    if record == FRAMES:
        return list(entries)
    fields = list(types_of(record))
    return sorted(entries, key=lambda entry: fields.index(field_of(record, entry)))


def packing(record: type, left_out: Collection[str] = (), **inside: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """A function from a record, or a tuple of frames, to its bytes; written as source, because it runs in every tick.

    Parameters
    ----------
    record
        The type of the record, or of the tuple.
    left_out
        Fields that are empty in every tick.
    inside
        The functions of its frames and of a command inside, by field.
    """
    names: dict[str, Any] = {"Struct": Struct, **{f"pack_{field}": pack for field, pack in inside.items()}}
    exec(_source(record, frozenset(left_out)), names)
    packed: Callable[[Any], bytes] = names["packed"]
    return packed


@cache
def _source(record: type, left_out: frozenset[str]) -> CodeType:
    types = types_of(Frame if record == FRAMES else record)
    structs: list[str] = []
    pieces: list[str] = []
    numbers: list[str] = []
    n = 0
    for field, kind in (*types.items(), ("", None)):
        if field in left_out:
            continue
        if kind in _NUMBERS or kind == Sequence[float]:
            numbers.append(field if kind in _NUMBERS else f"*{field}")
            n += 1 if kind in _NUMBERS else len(STEPS)
            continue
        if numbers:
            structs.append(f"pack_{n} = Struct('{n}d').pack")
            pieces.append(f"pack_{n}({', '.join(numbers)})")
            numbers, n = [], 0
        if kind == Array:
            pieces.append(field)
        elif kind == tuple[Array, ...]:
            pieces.append(f"*{field}")
        elif kind is not None:
            pieces.append(f"pack_{field}({field})")
    fields, joined = ", ".join(types), f"({', '.join(pieces)},)"
    if record == FRAMES:
        lines = ["pieces = []", f"for {fields} in record: pieces += {joined}", "return b''.join(pieces)"]
    else:
        lines = [f"{fields} = record", f"return b''.join({joined})"]
    text = "\n".join([*structs, "def packed(record):", *(f"    {line}" for line in lines)])
    return compile(text, "<packing of a record>", "exec")


def reading(topic: str, entries: Iterable[str], command: Iterable[str]) -> Callable[[list[Any]], Any]:
    """A function from the values of a topic, numbers and arrays, to its record; `command` are the entries of one."""
    record = record_of(topic)
    if record == FRAMES:
        return _read_frames
    counts = Counter(field_of(record, entry) for entry in entries)
    #: values that become one: from where, to where, and what is made of them; those before are one already
    joined: list[tuple[int, int, Callable[[list[Any]], Any]]] = []
    converted: list[tuple[int, type]] = []
    for i, (field, kind) in enumerate(types_of(record).items()):
        stop = i + counts[field]
        if kind in (int, bool):
            converted.append((i, kind))
        elif kind == FRAMES:
            joined.append((i, stop, _read_frames))
        elif kind == tuple[Array, ...]:
            joined.append((i, stop, tuple))
        elif kind is Command:
            joined.append((i, stop, reading("/command", command, command)))
        elif i == stop:
            joined.append((i, stop, lambda none: NOTHING))

    def read(values: list[Any]) -> Any:
        for start, stop, join in joined:
            values[start:stop] = (join(values[start:stop]),)
        for i, convert in converted:
            values[i] = convert(values[i])
        return record(*values)

    return read


def _read_frames(values: list[Any]) -> tuple[Frame, ...]:
    columns = values[0::4], map(int, values[1::4]), map(int, values[2::4]), values[3::4]
    return tuple(map(Frame._make, zip(*columns, strict=True)))
