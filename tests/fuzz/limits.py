"""What every case of a fuzz target must keep: 20 s of processor time, 500 MB, one plain sentence if it is refused."""

import contextlib
import re
import resource
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

SECONDS = 20
MEGABYTES = 500
_JARGON = re.compile(r"pydantic|validation error|input should|https?://|type=|traceback", re.IGNORECASE)
_LONGEST = 3200


class TooSlowError(AssertionError):
    """A case that took longer than its limit."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """A context that raises where a case takes too long or too much memory, or warns."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGPROF, _too_slow)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEGABYTES * 2**20, hard))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def judge(sentence: str) -> None:
    """Raise where a refusal is not one plain sentence."""
    assert "\n" not in sentence
    assert 0 < len(sentence) < _LONGEST, f"{len(sentence)} characters"
    assert not _JARGON.search(sentence), sentence
    assert "can't be prepared" not in sentence or "(at " in sentence, sentence


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlowError(f"longer than {SECONDS} s")
