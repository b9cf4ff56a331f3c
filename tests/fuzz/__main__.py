"""Run a fuzz target: `python -m tests.fuzz testbed --cases 100000`.

A target NAME is the module `tests/fuzz/test_NAME_fuzz.py` with a function `check(seed, folder)`: it makes the case of
that seed in an empty folder, returns a word for its result, and raises where the case breaks a rule. A case that fails
is named by its seed; `--first SEED --cases 1` runs it again.
"""

import argparse
import faulthandler
import importlib
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

#: a case that no signal can stop ends the whole run with its traceback; on a busy machine others come first [s]
_STUCK = 600


def main() -> int:
    """Run the cases; the number of failed ones is printed, and is the reason of exit code 1."""
    targets = sorted(path.stem[5:-5] for path in Path(__file__).parent.glob("test_*_fuzz.py"))
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Run a fuzz target over many seeds.")
    parser.add_argument("target", choices=targets)
    parser.add_argument("--cases", type=int, default=1000, help="number of seeds (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    asked = parser.parse_args()
    check = importlib.import_module(f"tests.fuzz.test_{asked.target}_fuzz").check
    results: Counter[str] = Counter()
    slowest, began = (0.0, asked.first), time.monotonic()
    for done, seed in enumerate(range(asked.first, asked.first + asked.cases), 1):
        faulthandler.dump_traceback_later(_STUCK, exit=True)
        at = time.process_time()
        try:
            with tempfile.TemporaryDirectory(prefix="granite-fuzz-") as folder:
                results[check(seed, Path(folder))] += 1
        except Exception:
            results["FAILED"] += 1
            print(f"--- {asked.target} seed {seed}", traceback.format_exc(), sep="\n", flush=True)
        slowest = max(slowest, (time.process_time() - at, seed))
        if done % 1000 == 0 or done == asked.cases:
            took = time.monotonic() - began
            slow = f"slowest {slowest[0]:.1f} s (seed {slowest[1]})"
            print(f"{asked.target}: {done} cases in {took:.0f} s, {dict(results)}, {slow}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    return 1 if results["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
