"""The `claims` fixture, names of tests that use it, and `--validation-table FILE`, which writes claims into a file."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.validation.claims import Claims, check_name

_CLAIMS = Claims()


@pytest.fixture
def claims() -> Claims:
    """Where an acceptance test states what it expects, what it got and how far off it may be."""
    return _CLAIMS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Function) -> Generator[None]:
    """A test that passed, but under a name that does not say what it claims, fails."""
    before = len(_CLAIMS.rows)
    yield
    check_name(item.originalname, _CLAIMS.rows[before:])


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    table = session.config.getoption("--validation-table")
    if table and exitstatus == 0:
        _CLAIMS.write(Path(table))
