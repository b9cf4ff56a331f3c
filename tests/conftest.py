"""What all tests share: random examples that are the same for everyone, unless HYPOTHESIS_PROFILE=explore asks for
more; models in the virtual machine; a budget of processor time for tests that are not marked slow; models compiled
quickly where these alone are run: it is the first run of most; and garbage that is not searched for in all that the
suite itself has in memory."""

import gc
import importlib.util
import os
import signal
from collections.abc import Generator
from types import SimpleNamespace

import pytest
from hypothesis import settings

from granite.rt.process import realtime
from tests.support.processor_budget import Use

#: where its wheel is missing: on ARM, and beyond Python 3.13
collect_ignore = [] if importlib.util.find_spec("cyclonedds") else ["drivers/ros2", "rt/ros2"]

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "same")
settings.load_profile(PROFILE)
gc.disable()  # a third of the time of the collection of all tests, which leave hardly any garbage


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options must stand here: pytest reads those of folders below too late."""
    parser.addoption("--validation-table", metavar="FILE", help="write the claims of tests/validation into this table")


def pytest_configure(config: pytest.Config) -> None:
    """A suite in the background inherits that signals of the keyboard are ignored, and so would what it starts."""
    if config.option.markexpr == "not slow":
        os.environ.setdefault("GRANITE_OPTIMISATION", "-O0")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _small_process() -> Generator[None]:
    """Runs begin as in a small process: they neither search the many objects of the suite for garbage, which were
    frozen when all tests were collected, nor lock its memory."""
    quick = SimpleNamespace(
        collect=lambda: 0, freeze=lambda: None, unfreeze=lambda: None, disable=gc.disable, enable=gc.enable
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(realtime, "gc", quick)
        patch.setattr(realtime, "_lock_memory", lambda undo: None)
        yield


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models run in the virtual machine: many small ones are not worth compiling, and the bits are the same."""
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A test that passed, but took longer than tests of the default suite may, fails."""
    use = Use()
    yield
    if PROFILE == "same" and item.get_closest_marker("slow") is None and (excess := use.excess()):
        pytest.fail(excess, pytrace=False)
