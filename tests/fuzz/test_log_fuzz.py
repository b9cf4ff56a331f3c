"""Mutated logs give a result or one sentence, each within 20 s and 500 MB."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.fuzz.log_cases import run_cases, whole_logs


@cache
def wholes() -> list[bytes]:
    with TemporaryDirectory() as folder:
        return whole_logs(Path(folder))


def check(seed: int, folder: Path) -> str:
    """One case: `result` or `refusal`; raises where it breaks a rule."""
    return next(word for word, n in run_cases(folder, wholes(), seed, 1).items() if n)


def test_some_mutated_logs_are_read_or_refused_in_a_sentence(tmp_path):
    count = run_cases(tmp_path, wholes(), 0, 16)
    assert min(count.values()) > 2  # both happen, or the mutations say nothing


@pytest.mark.slow
def test_many_mutated_logs_are_read_or_refused_in_a_sentence(tmp_path):
    count = run_cases(tmp_path, wholes(), 1000, 1000)
    assert min(count.values()) > 100
