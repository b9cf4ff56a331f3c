"""The parameters of a session: numeric keys of a testbed with bounds, scale and unit; parts declare theirs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from granite.config.base import refuse_twice
from granite.config.errors import InputError
from granite.config.loader import to_json
from granite.config.overrides import label
from granite.config.parts import PartTable
from granite.config.testbed import Testbed
from granite.config.tunable import Scale, Tunable
from granite.config.tuning import TunedParameter

#: units at the end of a key: mass_kg, stiffness_1_s2, translation_m_s2_per_rthz
_UNITS = {
    "1_s": "1/s", "1_s2": "1/s2", "1_s3": "1/s3", "1_m": "1/m", "s": "s", "m": "m", "rad": "rad", "kg": "kg", "n": "N",
    "hz": "Hz", "n_m": "N m", "n_s": "N s", "m_s": "m/s", "m_s2": "m/s2", "rad_s": "rad/s", "rad_s2": "rad/s2",
    "kg_m2": "kg m2", "m_s2_per_rthz": "m/s2/rtHz", "rad_s2_per_rthz": "rad/s2/rtHz", "g": "g",
}  # fmt: skip


#: of the simulated lab, which every run of a session is given
SEED = "seed"


class SearchParameter(NamedTuple):
    """A number that a session changes."""

    key: str
    lower: float
    upper: float
    scale: Scale
    unit: str
    is_whole: bool  #: it takes whole numbers only
    now: float | None  #: in the testbed
    start: float  #: of the first trial

    @property
    def name(self) -> str:
        """The key without the tables that all keys of a controller stand in."""
        return self.key.removeprefix("controller.").removeprefix("law.").removeprefix("gains.")


def declared(bed: Testbed) -> dict[str, Tunable]:
    """What the parts of a testbed declare as tunable, by dotted key."""
    return {f"{above}.{tunable.key}": tunable for above, part in _parts(bed, "") for tunable in part.tunable(bed)}


def listed(bed: Testbed) -> list[SearchParameter]:
    """Everything that the parts declare, as parameters."""
    # A start within the bounds: that of the testbed may be none, such as a gain of zero.
    return [resolve(bed, TunedParameter(key=key, start=tunable.upper)) for key, tunable in declared(bed).items()]


def resolve_all(bed: Testbed, tables: Sequence[TunedParameter]) -> list[SearchParameter]:
    """The parameters of a table; `InputError` with the key of the table where one does not fit."""
    parameters = []
    for i, table in enumerate(tables):
        try:
            parameters.append(resolve(bed, table))
        except InputError as refusal:
            raise refusal.within(f"tuning.parameters.{i}", file=bed.name) from None
    refuse_same(bed, json.loads(to_json(bed)), "tuning.parameters", [table.key for table in tables])
    return parameters


def refuse_same(bed: Testbed, content: Any, table: str, keys: Sequence[str]) -> None:
    """Raise where two keys of a table are those of the same value of a testbed's content."""
    try:
        refuse_twice(table, "key", [spelled(content, key) for key in keys])
    except InputError as refusal:
        raise refusal.within(file=bed.name) from None


def resolve(bed: Testbed, table: TunedParameter) -> SearchParameter:
    """A parameter with what its part declares, and its value in the testbed.

    Raises
    ------
    InputError
        Where there is no such key, it is not a number, its bounds are missing or do not hold its start, or it takes
        whole numbers and there is none within its bounds.
    """
    if table.key == SEED:
        raise InputError(
            key="key", value=table.key, expected="another key, because every run has a seed of tuning.seeds"
        )
    tunable = declared(bed).get(table.key)
    now, is_whole = _number_at(bed, table.key, tunable)
    lower, upper = table.lower, table.upper
    if tunable is not None:  # its usual bounds, or wider ones that hold the testbed's own value
        present = [now] if now is not None and (now > 0 or tunable.scale == "linear") else []
        lower = min([tunable.lower, *present]) if lower is None else lower
        upper = max([tunable.upper, *present]) if upper is None else upper
    if lower is None or upper is None:
        raise InputError.missing("lower" if lower is None else "upper", "a bound, because no part declares this key")
    if lower >= upper:
        raise InputError(key="lower", value=lower, expected=f"less than upper = {upper:g}")
    scale = table.scale or (tunable.scale if tunable else "linear")
    if scale == "log" and lower <= 0:
        raise InputError(key="lower", value=lower, expected="more than 0, because the scale is logarithmic")
    if is_whole and math.ceil(lower) > math.floor(upper):
        expected = f"a whole number between it and upper = {upper:g}, because the key takes no others"
        raise InputError(key="lower", value=lower, expected=expected)
    start = table.start if table.start is not None else now
    if start is None:
        raise InputError.missing("start", "a number, because the testbed gives none")
    if not lower <= start <= upper:
        named = "start" if table.start is not None else "key"
        value = table.start if table.start is not None else table.key
        problem = "" if table.start is not None else f"the testbed has {start:g}"
        expected = f"a start between lower = {lower:g} and upper = {upper:g}"
        raise InputError(problem, key=named, value=value, expected=expected)
    if is_whole:
        if not start.is_integer():
            raise InputError(key="start", value=start, expected="a whole number, because the key takes no others")
        lower, upper = float(math.ceil(lower)), float(math.floor(upper))
    return SearchParameter(table.key, lower, upper, scale, unit_of(table.key), is_whole, now, start)


def unit_of(key: str) -> str:
    """The unit at the end of a key; 1 where there is none."""
    words = re.split(r"_", key.rpartition(".")[2])
    for first in range(1, len(words)):
        if (unit := _UNITS.get("_".join(words[first:]))) is not None:
            return unit
    return "1"


def value_at(content: Any, path: Sequence[str]) -> Any:
    """The value at a path of a testbed's content; None where no table has it."""
    for element in path:
        if isinstance(content, list):
            labels = [label(content, i) for i in range(len(content))]
            names = labels if element in labels else [str(i) for i in range(len(content))]
            content = content[names.index(element)] if element in names else None
        elif isinstance(content, dict):
            content = content.get(element)
        else:
            return None
    return content


def spelled(content: Any, key: str) -> str:
    """A dotted key with every element of a list by its name, where it was given by its index."""
    words = []
    for element in key.split("."):
        if isinstance(content, list) and element.isdecimal() and int(element) < len(content):
            element = label(content, int(element))
        words.append(element)
        content = value_at(content, [element])
    return ".".join(words)


def _number_at(bed: Testbed, key: str, tunable: Tunable | None) -> tuple[float | None, bool]:
    """The number in force at a key, and whether the key takes whole numbers only."""
    value = value_at(json.loads(to_json(bed)), key.split("."))
    if isinstance(value, float):
        return value, False
    if isinstance(value, bool) or not isinstance(value, int | None):
        raise InputError("not a number", key="key", value=key, expected="the key of a number (granite tune BED --list)")
    # A key that has no value yet must take one: the loader says what is wrong with others.
    tried = value if value is not None else tunable.lower if tunable else 1
    now = float(value) if value is not None else tunable.usual if tunable else None
    try:
        bed.with_changes({key: float(tried)})
    except InputError as refusal:
        if float(tried).is_integer() and _takes(bed, key, int(tried)):
            return now, True
        problem = f"{refusal.key}: {refusal.problem}" if refusal.key != key else refusal.problem
        raise InputError(problem, key="key", value=key, expected=refusal.expected) from None
    return now, False


def _takes(bed: Testbed, key: str, value: int) -> bool:
    try:
        bed.with_changes({key: value})
    except InputError:
        return False
    return True


def _parts(table: BaseModel, above: str) -> Iterator[tuple[str, PartTable]]:
    """Every part in a table, with its dotted key."""
    for name in type(table).model_fields:
        value = getattr(table, name)
        key = f"{above}.{name}" if above else name
        inner = value.items() if isinstance(value, dict) else ((None, value),)
        for index, one in inner:
            if isinstance(one, BaseModel):
                path = key if index is None else f"{key}.{index}"
                if isinstance(one, PartTable):
                    yield path, one
                yield from _parts(one, path)
