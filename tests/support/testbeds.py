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
