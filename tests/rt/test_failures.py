"""A failure while a run is prepared is one sentence with the line that raised it, never a traceback."""

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.rt import run
from granite.rt.run import Run
from tests.support.command_line import Call, sentence_of
from tests.support.command_line import granite as granite


def fail(*_: object) -> None:
    np.linalg.inv(np.zeros((2, 2)))


def test_a_failure_while_preparing_is_one_sentence_with_the_line_that_raised_it(
    granite: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "build_stack", fail)
    said = sentence_of(granite("sim", "free-flyer", "--duration", "0.1"))
    assert "free-flyer: it can't be prepared, LinAlgError: Singular matrix (at test_failures.py:" in said


def test_a_script_gets_the_same_sentence_and_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "build_stack", fail)
    with pytest.raises(InputError, match="free-flyer: it can't be prepared, LinAlgError") as refusal:
        Run(load("free-flyer"))
    assert isinstance(refusal.value.__cause__, np.linalg.LinAlgError)


def test_missing_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhaust(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(run, "build_stack", exhaust)
    with pytest.raises(InputError, match=r"^free-flyer: not enough memory to prepare it$"):
        Run(load("free-flyer"))
