"""Mutants of a file: which there are, whose function they are in, and that each of them is another program."""

import ast
from pathlib import Path

from tests.mutation.__main__ import RecordedTests
from tests.mutation.mutants import mutants

SOURCE = '''"""A text of 3 words."""
from __future__ import annotations

LIMIT: float = 0.5


class Ball:
    def falls(self, speed: int | None = None) -> bool:
        return speed is not None and not speed < -1

    def bounce(self):
        def back(v):
            return v * 2  # é

        self.n += 1
        return back
'''
EXPECTED = [
    ("", "0.5", "(1.0)"),
    ("Ball.falls", "return speed is not None and not speed < -1", "return None"),
    ("Ball.falls", "speed is not None and not speed < -1", "(speed is not None or not speed < -1)"),
    ("Ball.falls", "speed is not None", "(speed is None)"),
    ("Ball.falls", "not speed < -1", "(speed < -1)"),
    ("Ball.falls", "speed < -1", "(speed <= -1)"),
    ("Ball.falls", "-1", "(1)"),
    ("Ball.falls", "1", "(2)"),
    ("Ball.bounce.<locals>.back", "return v * 2", "return None"),
    ("Ball.bounce.<locals>.back", "v * 2", "(v / 2)"),
    ("Ball.bounce.<locals>.back", "2", "(3)"),
    ("Ball.bounce", "self.n += 1", "self.n -= 1"),
    ("Ball.bounce", "1", "(2)"),
    ("Ball.bounce", "return back", "return None"),
]


def test_operators_constants_conditions_and_results_are_changed_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "ball.py").write_text(SOURCE)
    found = list(mutants(tmp_path, "ball.py"))
    assert [(m.function, m.before, m.after) for m in found] == EXPECTED
    for mutant in found:
        mutant.apply(tmp_path)
        changed = (tmp_path / "ball.py").read_text()
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE))
        assert changed.replace(mutant.after, mutant.before, 1) == SOURCE or changed.count(mutant.after) > 1
        (tmp_path / "ball.py").write_text(SOURCE)


def test_the_tests_of_a_mutant_are_those_that_call_its_function_and_then_their_neighbours(tmp_path: Path) -> None:
    (tmp_path / "rt").mkdir()
    (tmp_path / "rt/ball.py").write_text(SOURCE)
    tests = RecordedTests(
        {
            "tests/rt/test_a.py::slow": (2.0, ["rt/ball.py::Ball.falls"]),
            "tests/rt/test_a.py::quick": (1.0, ["rt/ball.py::Ball.falls"]),
            "tests/rt/test_a.py::neighbour": (0.5, []),
            "tests/rt/test_b.py::other": (0.5, ["rt/ball.py::Ball.bounce"]),
        }
    )
    found = {m.before: m for m in mutants(tmp_path, "rt/ball.py")}
    falls, limit = found["speed < -1"], found["0.5"]
    quick, slow, neighbour = (f"tests/rt/test_a.py::{name}" for name in ("quick", "slow", "neighbour"))
    assert tests.concerning(falls, 10.0) == [quick, slow, neighbour]
    assert tests.concerning(falls, 3.2) == [quick, slow]
    assert tests.concerning(limit, 10.0) == ["tests/rt/test_b.py::other", quick, slow, neighbour]
