"""A pytest plugin that records which functions of Granite each test calls, and how long it takes.

`pytest -p tests.mutation.calls --calls FILE` writes {test: [seconds, [file::function, ..]]} as JSON. What runs in
another process is not seen.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import granite

_ROOT = str(Path(granite.__file__).parent) + "/"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--calls", type=Path, required=True, help="where to write the functions that each test calls")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Calls(config.getoption("--calls")))


class Calls:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._found: dict[str, tuple[float, list[str]]] = {}
        self._called: set[CodeType] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._called = set()
        began = time.perf_counter()
        sys.settrace(self._note)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            names = {c.co_filename.removeprefix(_ROOT) + "::" + c.co_qualname for c in self._called}
            self._found[item.nodeid] = time.perf_counter() - began, sorted(names)

    def pytest_sessionfinish(self) -> None:
        self._file.write_text(json.dumps(self._found))

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        """Called at the start of every function; None: its lines are not traced."""
        if frame.f_code.co_filename.startswith(_ROOT):
            self._called.add(frame.f_code)
