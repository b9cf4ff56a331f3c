"""The operator channel's part of a testbed: where it listens, and when an operator counts as lost."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from granite.config.base import Positive, Table
from granite.config.errors import InputError
from granite.config.operator_address import ADDRESS

_ADDRESS = r"^(tcp://[^/\s]+:([0-9]{1,9})|ipc://\S{1,90})$"
_PORTS = 1, 65535


def _is_an_address(value: str) -> str:
    match = re.fullmatch(_ADDRESS, value)
    if match is None:
        raise InputError(expected=f"tcp://HOST:PORT, such as {ADDRESS}, or ipc://FILE")
    # ZeroMQ would listen at another port instead, the number modulo 65536.
    if match[2] and not _PORTS[0] <= int(match[2]) <= _PORTS[1]:
        raise InputError(f"no port {match[2]}", expected=f"a port from {_PORTS[0]} to {_PORTS[1]}")
    return value


#: the pattern is for editors
Address = Annotated[str, AfterValidator(_is_an_address), Field(json_schema_extra={"pattern": _ADDRESS})]


class OperatorTable(Table):
    """Used by runs with an operator."""

    #: where the loop listens; by default only to programs on the same machine
    address: Address = ADDRESS
    #: an operator who watches is lost after this time without a message
    silence_s: Positive = 2.0
    #: a jog that is not repeated ends after this time
    jog_s: Annotated[float, Field(ge=0.05, le=5.0)] = 0.3
