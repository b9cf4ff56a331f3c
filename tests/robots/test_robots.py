"""Five robots as a new user would describe them from the pages alone: short, and they run, arrive and can be drawn."""

from pathlib import Path

import pytest

from granite.config.loader import load
from granite.logs.log import Log
from granite.rt.api import plot, simulate
from tests.support.quick_cases import quick

HERE = Path(__file__).parent
ROBOTS = sorted(path.stem for path in HERE.glob("*.toml"))
#: the longest file that a newcomer should have to write
LINES = 40
#: final error by unit: a few millimetres, and half a degree
FINAL = {"m": 3e-3, "rad": 9e-3}


@pytest.fixture(scope="module", params=quick(ROBOTS, "two-arms"))
def run(request: pytest.FixtureRequest) -> Log:
    return simulate(load(HERE / f"{request.param}.toml"))


def test_there_are_five_of_them() -> None:
    assert ROBOTS == ["armless", "fixed-arm", "one-failed", "two-arms", "urdf-arm"]


@pytest.mark.parametrize("name", ROBOTS)
def test_a_description_is_short(name: str) -> None:
    assert len((HERE / f"{name}.toml").read_text().splitlines()) <= LINES


def test_it_completes_and_ends_near_its_target(run: Log) -> None:
    assert run.summary is not None
    assert run.summary["ended"] == "completed"
    for name, error in run.summary["tracking_error"].items():
        assert error["max_in_last_5_s"] < FINAL[error["unit"]], name


@pytest.mark.parametrize(
    "run",
    quick(ROBOTS, "two-arms"),
    indirect=True,
)
def test_it_can_be_drawn(run: Log, tmp_path: Path) -> None:
    assert plot(run, tmp_path / "run.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_failed_thruster_never_opens() -> None:
    log = simulate(load(HERE / "one-failed.toml", {"loop.duration_s": 4.0}))
    assert not log["/applied"]["thrusters_back_opening"].any()
    assert log["/applied"]["thrusters_t3_opening"].any()
