"""A browser, and a console in a folder of its own, for tests that click."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.console_pages import chromium
from tests.support.console_server import ServedConsole, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as made:
        yield made


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedConsole]:
    monkeypatch.setenv("GRANITE_KEYS", str(tmp_path / "keys"))
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path) as made:
        yield made
