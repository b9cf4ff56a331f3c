"""The processor time that a test may use by default; more needs the mark `slow`.

Processor time, not time of the day: a busy machine makes no test fail. What the test starts counts too; what it shares
with others by fixtures does not.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

from granite.kernels.code_cache import cache_directory

#: processor time of a test [s]
BUDGET = 2.0
#: of the same test on the same machine, processor time differs by as much from run to run
NOISE = 1.5
#: more of it for each library that is compiled because the cache does not have it yet [s]
COMPILATION = 1.0
#: and for each time that another process takes the processor, which leaves its own data in the caches [s]
INTERRUPTION = 1e-3
#: processor time of `_yardstick` on the machine of which the budget is: a slower one may take longer [s]
YARDSTICK = 0.018
#: not that which a test may set for itself
CACHE = cache_directory()


class Use:
    """Processor time since the start of a test, which may have `budget`.

    A machine that needs more than `yardstick` for a given loop is slower than that of the budget; new libraries in
    `cache` were compiled; an interruption by another process costs `interruption`.
    """

    def __init__(
        self,
        budget: float = BUDGET,
        yardstick: float = YARDSTICK,
        cache: Path = CACHE,
        interruption: float = INTERRUPTION,
    ) -> None:
        self._budget, self._yardstick, self._cache, self._interruption = budget, yardstick, cache, interruption
        self._since = time.time()
        self._before = _processor_time()
        self._interrupted = _interruptions()

    def excess(self) -> str | None:
        """What a test used beyond its budget, in a sentence; None where it kept it."""
        used = _processor_time() - self._before
        if used <= self._budget:
            return None
        slowness = max(1.0, _yardstick() / self._yardstick)
        limit = self._budget * NOISE * slowness + COMPILATION * _compiled(self._cache, self._since)
        limit += self._interruption * (_interruptions() - self._interrupted)
        if used <= limit:
            return None
        return f"{used:.1f} s of processor time, expected at most {limit:.1f} s: make the test quicker or mark it slow"


def _processor_time() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _interruptions() -> int:
    of = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(use.ru_nivcsw for use in of)


def _yardstick() -> float:
    start, total = time.process_time(), 0.0
    for k in range(500_000):
        total += k * 0.5
    return time.process_time() - start


def _compiled(cache: Path, since: float) -> int:
    """Libraries that were added to the cache; those of another process of the suite are among them."""
    return sum(library.stat().st_mtime > since - 1.0 for library in cache.glob("*.so"))
