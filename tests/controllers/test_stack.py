"""The controllers of a run stay those that were built: another stack is another object."""

from dataclasses import FrozenInstanceError, replace

import pytest

from granite.config.loader import load
from granite.controllers.stack import build_stack


def test_a_part_of_a_stack_is_exchanged_in_a_copy_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    stack = build_stack(load("mrds-1"))
    with pytest.raises(FrozenInstanceError):
        stack.law = None  # type: ignore[misc, assignment]
    assert replace(stack, law=stack.law) == stack
