"""Compiled runs and compiled steps read and write inside their arrays only, and do nothing that C leaves undefined."""

import shutil
from pathlib import Path

import pytest

from tests.support.sanitized_run import sanitized

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("gcc") is None, reason="needs the sanitizers of gcc")]


@pytest.mark.parametrize("name", ["free-flyer/payload", "two-arm-catch", "leap"])
def test_a_compiled_run_is_clean_under_sanitizers(tmp_path: Path, name: str):
    done = sanitized(tmp_path, name, 200)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "equal 200" in done.stdout


def test_a_read_beyond_the_valves_is_found(tmp_path: Path):
    """A mutant that all other tests survive: the address of the next bank of valves."""
    done = sanitized(tmp_path, "free-flyer", 20, "m->sim_banks + SIM_BANK[i],", "m->sim_banks + SIM_BANK[i + 1],")
    assert "mutant" in done.stdout
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr
