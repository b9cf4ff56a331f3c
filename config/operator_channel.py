"""The operator channel's part of a testbed: where it listens, and when an operator counts as lost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from granite.config.base import Positive, Table


class OperatorTable(Table):
    """Used by runs with an operator."""

    #: where the loop listens; by default only to programs on the same machine
    address: Annotated[str, Field(pattern=r"^(tcp://[^/\s]+:[0-9]{1,5}|ipc://\S{1,90})$")] = "tcp://127.0.0.1:5790"
    #: an operator who watches is lost after this time without a message
    silence_s: Positive = 2.0
