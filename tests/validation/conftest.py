"""The `claims` fixture, and `--validation-table PAGE`, which writes what was claimed into a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.validation.claims import Claims

_CLAIMS = Claims()


@pytest.fixture
def claims() -> Claims:
    """Where an acceptance test states what it expects, what it got and how far off it may be."""
    return _CLAIMS


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    page = session.config.getoption("--validation-table")
    if page and exitstatus == 0:
        _CLAIMS.write(Path(page))
