"""Random mutants: `python -m tests.mutation --mutants 60 --seed 1`. Each one must make a test fail.

One operator, constant, condition or result of Granite, in Python or C, is changed in a copy of the repository, and the
tests that call the changed function run there, the quickest first, until one fails; then the other tests of their
files, as far as a budget of time allows. A function in C is called by whatever builds the compiled form of its file.
Survivors are printed: the tests lack a check there, or the mutant is equivalent.

The first run records which test calls which function, which takes as long as all tests; --calls keeps that for later
runs. Code outside of functions concerns all tests that call a function of its file, or all tests of its package.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from itertools import accumulate
from pathlib import Path

from granite.kernels.code_cache import cache_directory
from tests.mutation.c_mutants import c_mutants
from tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
PACKAGES = ("config", "kernels", "mrds", "controllers", "drivers", "sim", "logs", "rt", "tuning", "firmware")
KINDS = {".py": mutants, ".c": c_mutants}
TIMEOUT = 1800.0  #: tests that do not end by then are hung [s]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--mutants", type=int, default=60, metavar="N", help="how many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice (default %(default)s)")
    parser.add_argument("--only", type=int, nargs="+", metavar="K", help="some of them, by number")
    parser.add_argument("--under", default="", metavar="PATH", help="of files whose path begins so")
    parser.add_argument("--budget", type=float, default=120.0, help="recorded time of its tests [s] (default 120)")
    parser.add_argument("--calls", type=Path, default=ROOT / "build/calls.json", help="functions that each test calls")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Path(folder) / "granite"
        _copy(copy)
        # What is compiled already need not be compiled again; entries are replaced, never written, so links suffice.
        shutil.copytree(cache_directory(), copy.parent / "cache", copy_function=os.symlink)
        if not arguments.calls.exists():
            print("recording which functions each test calls", flush=True)
            arguments.calls.parent.mkdir(parents=True, exist_ok=True)
            _pytest(copy, ["-p", "tests.mutation.calls", "--calls", str(arguments.calls.absolute())], None)
        tests = RecordedTests(json.loads(arguments.calls.read_text()))
        sources = [f for package in PACKAGES for f in sorted((copy / package).rglob("*.[cp]*")) if f.suffix in KINDS]
        files = [str(f.relative_to(copy)) for f in sources]
        every = [m for file in files if file.startswith(arguments.under) for m in KINDS[Path(file).suffix](copy, file)]
        chosen = random.Random(arguments.seed).sample(every, min(arguments.mutants, len(every)))
        print(f"{len(chosen)} of {len(every)} mutants in {len(files)} files, seed {arguments.seed}", flush=True)
        survivors = 0
        for number, mutant in enumerate(chosen):
            if arguments.only and number not in arguments.only:
                continue
            killed = _killed(copy, mutant, tests.concerning(mutant, arguments.budget))
            survivors += killed is None
            print(f"{number:3} {'SURVIVES' if killed is None else 'killed'} {mutant}  [{killed or ''}]", flush=True)
    print(f"{survivors} survived")
    return int(survivors > 0)


class RecordedTests:
    """The tests, and the functions that each one calls."""

    def __init__(self, calls: dict[str, tuple[float, list[str]]]) -> None:
        self._seconds = {test: seconds for test, (seconds, _) in calls.items()}
        self._of: dict[str, set[str]] = {}
        for test, (_, functions) in calls.items():
            for function in functions:
                self._of.setdefault(function, set()).add(test)
                self._of.setdefault(function.split("::")[0], set()).add(test)

    def concerning(self, mutant: Mutant, budget: float) -> list[str]:
        """The tests that call the function, then all other tests of their files; the quickest first, for a time [s]."""
        called = self._of.get(f"{mutant.file}::{mutant.function}") or self._of.get(mutant.file)
        if mutant.file.endswith(".c"):
            called = self._building(Path(mutant.file).with_suffix(".py"))
        package = f"tests/{mutant.file.split('/')[0]}/"
        called = called or {test for test in self._seconds if test.startswith(package)}
        files = {test.split("::")[0] for test in called}
        others = {test for test in self._seconds if test.split("::")[0] in files} - called
        chosen = [*sorted(called, key=lambda t: self._seconds[t]), *sorted(others, key=lambda t: self._seconds[t])]
        ends = accumulate(self._seconds[test] for test in chosen)
        return [test for test, end in zip(chosen, ends, strict=True) if end <= budget]

    def _building(self, beside: Path) -> set[str] | None:
        """The tests that build the compiled form of a file in C, or else those of all compiled runs."""
        forms = [tests for f, tests in self._of.items() if f.startswith(f"{beside}::") and "compiled_form" in f]
        whole = self._of.get("rt/compiled_run.py::CompiledRun.__init__")
        return set[str]().union(*forms) or (whole if beside.parts[0] != "firmware" else None)


def _killed(copy: Path, mutant: Mutant, tests: list[str]) -> str | None:
    """How a mutant died; None where it survived."""
    original = (copy / mutant.file).read_bytes()
    mutant.apply(copy)
    try:
        (copy / "chosen-tests.txt").write_text("\n".join(tests))
        code, words = _pytest(copy, ["-x", "@chosen-tests.txt"], TIMEOUT)
        return None if code == 0 else words
    finally:
        (copy / mutant.file).write_bytes(original)


def _pytest(copy: Path, arguments: list[str], timeout: float | None) -> tuple[int, str]:
    """Exit code, and what failed first."""
    # A cache of its own keeps the code of mutants from others; bytecode would hide a mutant as long as its original.
    own = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "GRANITE_CACHE": str(copy.parent / "cache")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--no-header", "--tb=no", *arguments]
    with subprocess.Popen(
        command, cwd=copy, env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        try:
            output = run.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            run.kill()
            return -1, "time-out"
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return run.returncode, failed[0][:160] if failed else output[-300:].strip()


def _copy(target: Path) -> None:
    """The files that git knows or would add, with their links."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0"):
        if name and os.path.lexists(ROOT / name):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)


if __name__ == "__main__":
    sys.exit(main())
