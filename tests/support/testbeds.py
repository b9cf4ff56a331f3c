"""The testbeds that come with Granite, by name; each is loaded once in a process."""

from __future__ import annotations

import functools

from granite.config.loader import load, presets
from granite.config.testbed import Testbed

NAMES = tuple(name for p in presets() for name in (p.name, *(f"{p.name}/{variant}" for variant, _ in p.variants)))


@functools.cache
def preset(name: str) -> Testbed:
    """The testbed as it comes, without changes."""
    return load(name)


@functools.cache
def controlled() -> tuple[str, ...]:
    """Names of the testbeds with a controller."""
    return tuple(name for name in NAMES if preset(name).controller)


def shortened(bed: Testbed) -> Testbed:
    """A run of 8 s at most, in which all parts have worked; whole where contacts open and close on the way."""
    return bed if bed.switches else bed.with_changes({"loop.duration_s": min(8.0, bed.loop.duration_s)})
