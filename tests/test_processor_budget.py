"""The budget of the default suite notices what a test and the processes it starts use, and allows for compilation."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import processor_budget
from tests.support.processor_budget import Use

BURN = "import time\nwhile time.process_time() < 0.3: pass"


def burn() -> None:
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass


def test_a_test_that_computes_too_long_is_named_with_its_limit(tmp_path: Path) -> None:
    use = Use(0.1, 100.0, tmp_path, 0.0)
    burn()
    assert "s of processor time, expected at most 0.2 s" in (use.excess() or "")


def test_a_process_that_computes_counts_and_one_that_waits_does_not(tmp_path: Path) -> None:
    use = Use(0.1, 100.0, tmp_path, 0.0)
    time.sleep(0.5)
    assert use.excess() is None
    subprocess.run([sys.executable, "-S", "-c", BURN], check=True)
    assert use.excess() is not None


def test_a_library_that_is_compiled_and_a_slow_machine_allow_more(tmp_path: Path) -> None:
    use = Use(0.1, 100.0, tmp_path, 0.0)
    burn()
    (tmp_path / "model.so").touch()
    assert use.excess() is None
    (tmp_path / "model.so").unlink()
    assert use.excess() is not None
    slow = Use(0.1, 1e-6, tmp_path, 0.0)
    burn()
    assert slow.excess() is None


def test_interruptions_by_other_processes_allow_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use = Use(0.1, 100.0, tmp_path, 0.1)
    burn()
    now = processor_budget._interruptions()
    monkeypatch.setattr(processor_budget, "_interruptions", lambda: now + 100)
    assert use.excess() is None
