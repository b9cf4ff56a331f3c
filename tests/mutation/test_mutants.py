"""Mutants of a file: which there are, whose function they are in, and that each of them is another program."""

import ast
from pathlib import Path

from tests.mutation.__main__ import RecordedTests
from tests.mutation.c_mutants import c_mutants
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
    mutations = list(mutants(tmp_path, "ball.py"))
    assert [(m.function, m.before, m.after) for m in mutations] == EXPECTED
    for mutant in mutations:
        mutant.apply(tmp_path)
        changed = (tmp_path / "ball.py").read_text()
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE))
        assert changed.replace(mutant.after, mutant.before, 1) == SOURCE or changed.count(mutant.after) > 1
        (tmp_path / "ball.py").write_text(SOURCE)


C_SOURCE = """/* A text of 3 < 4 words. */
#define MOST 5
static const int TABLE[] = {1, 2};

static int falls(const double *speed, int n)
{
    for (int i = 0; i < n; i++) /* 7 */
        if (speed[i + 1] >= 0.5 && puts("a < b"))
            return n * 2;
    return -1;
}
"""
C_EXPECTED = [
    ("0", "1"), ("<", "<="), ("+", "-"), ("1", "2"), (">=", ">"), ("0.5", "1.0"), ("&&", "||"), ("*", "/"), ("2", "3"),
    ("1", "2"),
]  # fmt: skip


def test_operators_and_constants_of_c_are_changed_in_functions_only(tmp_path: Path) -> None:
    (tmp_path / "ball.c").write_text(C_SOURCE)
    mutations = list(c_mutants(tmp_path, "ball.c"))
    assert [(m.before, m.after) for m in mutations] == C_EXPECTED
    assert {m.function for m in mutations} == {"falls"}
    assert mutations[1].line == 7
    mutations[3].apply(tmp_path)
    assert (tmp_path / "ball.c").read_text() == C_SOURCE.replace("[i + 1]", "[i + 2]")


def test_a_mutant_in_c_concerns_the_tests_that_build_its_compiled_form(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    (tmp_path / "sim/ball.c").write_text(C_SOURCE)
    (tmp_path / "sim/free.c").write_text(C_SOURCE)
    calls = {"a": ["sim/ball.py::Ball.compiled_form"], "b": ["sim/ball.py::Ball.falls"]}
    calls["c"] = ["rt/compiled_run.py::CompiledRun.__init__"]
    tests = RecordedTests({f"tests/sim/test_{name}.py::x": (1.0, functions) for name, functions in calls.items()})
    ball, free = (next(c_mutants(tmp_path, f"sim/{name}.c")) for name in ("ball", "free"))
    assert tests.concerning(ball, 10.0) == ["tests/sim/test_a.py::x"]
    assert tests.concerning(free, 10.0) == ["tests/sim/test_c.py::x"]


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
    mutations = {m.before: m for m in mutants(tmp_path, "rt/ball.py")}
    falls, limit = mutations["speed < -1"], mutations["0.5"]
    quick, slow, neighbour = (f"tests/rt/test_a.py::{name}" for name in ("quick", "slow", "neighbour"))
    assert tests.concerning(falls, 10.0) == [quick, slow, neighbour]
    assert tests.concerning(falls, 3.2) == [quick, slow]
    assert tests.concerning(limit, 10.0) == ["tests/rt/test_b.py::other", quick, slow, neighbour]
