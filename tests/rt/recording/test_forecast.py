"""A run that no disk or memory can hold is refused before it starts, and a long one says what it will take."""

import re
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

import granite as api
from granite.config.errors import InputError
from granite.config.loader import load
from granite.rt.recording import forecast
from granite.rt.recording.forecast import log_bytes
from granite.rt.run import Run, simulate
from tests.support.command_line import Call, left_in, sentence_of
from tests.support.command_line import granite as granite


def test_a_log_that_the_disk_cannot_hold_is_refused_before_the_run(granite: Call, tmp_path: Path) -> None:
    """115 days at 10 us are 1e12 rows, some 300 TB."""
    changes = ("--set", "loop.period_s=1e-5", "--set", "simulation.physics_step_s=1e-5", "--duration", "1e7")
    said = sentence_of(granite("sim", "mrds-1", *changes))
    assert re.search(r"loop\.duration_s = 10000000\.0: its log needs about \d+ TB, the disk of '.+' has [\d.]+ ", said)
    assert re.search(r"expected at most about \d", said)
    assert left_in(tmp_path) == []


@pytest.fixture
def small_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_files")
def test_a_limit_of_the_file_size_counts_as_the_disk(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"its log needs about 9\d\.\d MB, ulimit -f allows 20 MB"):
        simulate(load("free-flyer", {"loop.duration_s": 500.0}), tmp_path / "run.mcap")
    with pytest.raises(InputError, match="ulimit -f allows"):
        Run(load("free-flyer", {"loop.duration_s": 500.0})).record(tmp_path / "run.mcap")
    assert left_in(tmp_path) == []


def test_rows_that_the_memory_cannot_hold_are_refused() -> None:
    with pytest.raises(InputError, match=r"loop\.duration_s = 10000000\.0: its rows need [\d.]+ TB, this machine has"):
        api.simulate(load("free-flyer", {"loop.duration_s": 1e7}))


@pytest.mark.parametrize("bed", ["free-flyer", "mrds-1", pytest.param("astrobee", marks=pytest.mark.slow)])
def test_the_size_is_forecast_within_a_third(bed: str, tmp_path: Path) -> None:
    log, made = tmp_path / "run.mcap", Run(load(bed, {"loop.duration_s": 10.0}))
    made.record(log)
    assert log_bytes(made.channels, made.ticks) == pytest.approx(log.stat().st_size, rel=0.33)


def test_a_long_run_says_what_it_will_take(granite: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "LONG", 100)
    said = granite("sim", "mrds-1", "--duration", "2")
    assert said.code == 0
    assert re.fullmatch(r"granite: a long run: 200 rows, a log of about [\d.]+ kB, about [\d.]+ (s|min)\n", said.err)


def test_a_long_run_in_real_time_takes_its_duration() -> None:
    bed = load("mrds-1", {"loop.duration_s": 3600.0 * 30})
    made, period = Run(bed), bed.loop.period_s
    assert "about 30.0 h" in str(forecast.announcement(bed, made.channels, made.ticks, lambda ticks: period))
