"""What all tests share: random examples are the same for everyone, unless HYPOTHESIS_PROFILE=explore asks for more."""

import os
import signal

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options must stand here: pytest reads those of folders below too late."""
    parser.addoption("--validation-table", metavar="PAGE", help="write the claims of tests/validation into this page")


def pytest_configure() -> None:
    """A suite in the background inherits that signals of the keyboard are ignored, and so would what it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
