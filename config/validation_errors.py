"""A configuration that fails its check, as an error with key, value and expectation."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from granite.config.base import Table
from granite.config.errors import InputError, one_of
from granite.config.events import EVENTS, TimedEvent
from granite.config.law import LawTable
from granite.config.overrides import label
from granite.config.parts import FAMILIES, USUAL, PartTable, find, options_of
from granite.config.testbed import Testbed

#: the family of the parts below a key
_FAMILY_OF_KEY = {**{family: family for family in FAMILIES}, "devices": "device"}

#: expectation, by the checker's kind of error
_EXPECTED = {
    "float_type": "a number",
    "float_parsing": "a number",
    "int_parsing": "a whole number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "string_unicode": "text in quotes",
    "string_pattern_mismatch": "a name of small letters, digits and _ that starts with a letter",
    "literal_error": "{expected}",
    "greater_than": "a number greater than {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number less than {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "tuple_type": "a list",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "dict_type": "a table",
    "model_type": "a table",
}

#: the units at the end of a key, ours and others that a user may type: mass_kg, mass_g, torque_limit_nm
_UNITS = re.compile(
    r"(_(1|k?g|lbs?|[cmk]?m|[cm]?m2|in|ft|[mu]?s|s2|sec|min|h|m?rad|deg|degrees|rev|rpm|[mk]?n|nm|k?hz|per|rthz))+$"
)


def complaint(failure: ValidationError, content: Any, root: type[Table] = Testbed) -> InputError:
    """The first error in the content of a testbed, or of another table, and the number of further ones."""
    # A list whose only element is bad counts as too short as well; that is not a second error.
    errors = [e for e in failure.errors(include_url=False) if not (e["type"] == "too_short" and e["input"])]
    # A misspelt key is named before the one it leaves missing: it is the cause.
    unknown = [e for e in errors if e["type"] == "extra_forbidden"]
    if not unknown:
        first, others = errors[0], len(errors) - 1
    else:
        first = unknown[0]
        keys = _fields(first, content, root)
        caused = {(*first["loc"][:-1], key) for key in _in_another_unit(first, keys) or keys}
        others = sum(e is not first and not (e["type"] == "missing" and e["loc"] in caused) for e in errors)
    error = _error(first, content, root)
    error.expected += f" (and {others} more)" if others else ""
    return error


def _error(error: ErrorDetails, content: Any, root: type[Table]) -> InputError:
    key = _dotted(error["loc"], content)
    kind = error["type"]
    value = error["input"]
    if kind == "missing":
        return InputError.missing(key, _expected_of_field(error["loc"], content, root))
    if kind == "extra_forbidden":
        return InputError("unknown key", key=key, value=value, expected=_expected_key(error, content, root))
    if kind == "value_error":
        reason = error["ctx"]["error"]
        if not isinstance(reason, InputError):  # from the validator of a user's own part
            reason = InputError(str(reason))
        refusal = reason.within(key)
        if reason.key or reason.given:
            return refusal
        return InputError(refusal.problem, key=key, value=value, expected=refusal.expected)
    expected = expectation(error)
    return InputError(key=key, value=value, expected=expected) if key else InputError(expected=expected)


def _dotted(location: Sequence[str | int], content: Any) -> str:
    """The key as a user types it: list elements by their name."""
    words = []
    for element in location:
        words.append(label(content, element) if isinstance(element, int) else element)
        try:
            content = content[element]
        except (LookupError, TypeError):
            content = ()
    return ".".join(words)


def expectation(error: ErrorDetails) -> str:
    """What was expected instead of a refused value."""
    return _EXPECTED.get(error["type"], "another value").format(**error.get("ctx", {}))


def _expected_of_field(location: Sequence[str | int], content: Any, root: type[Table]) -> str:
    """Expectation of a missing key: that of its field for an impossible value."""
    field = _table_at(location[:-1], content, root).model_fields.get(str(location[-1]))
    if field is None:  # an element of a list of fixed length, and all of these hold numbers
        return "a number"
    annotation: Any = field.annotation
    try:
        TypeAdapter(annotation).validate_python(object(), strict=True)
    except ValidationError as refusal:
        return expectation(refusal.errors()[0])
    return "a value"


def _expected_key(error: ErrorDetails, content: Any, root: type[Table]) -> str:
    keys = _fields(error, content, root)
    same = _in_another_unit(error, keys)
    if same:
        return f"{' or '.join(same)}, because the unit is a part of the key"
    return one_of(str(error["loc"][-1]), keys)


def _in_another_unit(error: ErrorDetails, keys: list[str]) -> list[str]:
    """The keys that name the same quantity as the unknown one, but with another unit."""
    quantity = _UNITS.sub("", str(error["loc"][-1]))
    return [key for key in keys if _UNITS.sub("", key) == quantity]


def _fields(error: ErrorDetails, content: Any, root: type[Table]) -> list[str]:
    """The keys that the table with the unknown one may have."""
    return list(_table_at(error["loc"][:-1], content, root).model_fields)


def _table_at(location: Sequence[str | int], content: Any, root: type[Table]) -> type[Table]:
    """The class of the table at a location: that of the schema, or of the part that the content names there."""
    table = root
    family = None
    for element in location:
        try:
            content = content[element]
        except (LookupError, TypeError):
            content = None
        # List indices and the keys of a dictionary lead to no other kind of table than their list's.
        if element in table.model_fields:
            table = next(_tables_in(table.model_fields[str(element)].annotation), table)
            family = _FAMILY_OF_KEY.get(str(element))
        if isinstance(content, dict):
            kind = content.get("kind", USUAL.get(family or "", element))
            if table in (PartTable, LawTable) and family is not None:
                with contextlib.suppress(InputError):  # no such part: its own complaint
                    table = options_of(family, find(family, str(kind)))
            elif table is TimedEvent:
                table = EVENTS.get(str(kind), TimedEvent)
    return table


def _tables_in(annotation: Any) -> Iterator[type[Table]]:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield annotation
    for argument in get_args(annotation):
        yield from _tables_in(argument)
