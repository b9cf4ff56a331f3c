"""Descriptions of the fields of a table: the `#:` comments above or beside them in the source."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Mapping

from granite.config.base import Table

_COMMENT = re.compile(r"\s*#: ?(.*)")
_FIELD = re.compile(r" {4}(\w+): [^#]*(?:#: ?(.*))?")


def field_comments(table: type[Table]) -> dict[str, str]:
    """The comment of each field that has one, also of fields that the table inherits."""
    comments: dict[str, str] = {}
    for cls in reversed(table.__mro__):
        if issubclass(cls, Table):
            comments |= _own_comments(cls)
    return comments


@functools.cache
def _own_comments(table: type[Table]) -> Mapping[str, str]:
    try:
        lines = inspect.getsource(table).splitlines()
    except (OSError, TypeError):  # made at run time, or its file is gone
        return {}
    indent = len(lines[0]) - len(lines[0].lstrip())
    comments: dict[str, str] = {}
    above: list[str] = []
    for line in (line[indent:] for line in lines):
        if comment := _COMMENT.fullmatch(line):
            above.append(comment[1])
            continue
        if field := _FIELD.match(line):
            text = " ".join([*above, field[2] or ""]).strip()
            comments |= {field[1]: text} if text else {}
        above = []
    return comments
