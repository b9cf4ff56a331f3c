"""What a page started ends with the console only where that was asked for."""

from pathlib import Path

import pytest

from granite.console import jobs
from granite.console.jobs import Jobs
from granite.rt.process.other_cores import OtherCores


def test_a_job_ends_with_the_console_only_where_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    waiting = tmp_path / "waits"
    waiting.write_text("#!/bin/sh\nexec sleep 100\n")
    waiting.chmod(0o700)
    monkeypatch.setattr(jobs.sys, "executable", str(waiting))
    made = Jobs(OtherCores())
    ours, other, stopped = (made.start("run", ["x"], ends_with_us=ends)["number"] for ends in (True, False, False))
    made.stop(stopped)
    made.close()
    try:
        assert made.of(ours).process.wait(10) != 0
        assert made.of(stopped).process.wait(10) != 0
        assert made.of(other).process.poll() is None
    finally:
        made.of(other).process.kill()
