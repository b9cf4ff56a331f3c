"""Prose ends at 100 columns, so that a change of a sentence is a small difference."""

import pytest

from tests.support.pages import NAMES, ROOT, prose_lines


@pytest.mark.parametrize("name", [name for name in NAMES if name != "CHANGELOG.md"])
def test_prose_is_wrapped(name: str):
    assert [f"{name}:{line.line}" for line in prose_lines(ROOT / name) if len(line.content) > 100] == []
