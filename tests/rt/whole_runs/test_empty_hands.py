"""Grips that report to hold and do not: the behaviours look at gauges and poses, and a run that failed says so."""

from pathlib import Path

import pytest

from granite.cli.recorded_run import end_run
from granite.config.loader import load
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.wrong_actuators import relative_rates

FAULT = "{{kind='fault', at_s=2, device='grips', unit='{}', what='stays_open'}}"


def with_open_grips(name: str, *grips: str):
    return simulate_in_memory(load(name, [f"simulation.events=[{', '.join(FAULT.format(grip) for grip in grips)}]"]))


@pytest.mark.slow
@pytest.mark.parametrize("grips", [("left_grip", "right_grip"), ("left_grip",)], ids=["both", "one"])
def test_arms_halt_slowly_where_gauges_show_no_contact(grips):
    log = with_open_grips("fixed-dual-arm/pick-and-place", *grips)
    assert log.summary["failed"]["state"] == "halt"
    assert log.summary["failed"]["t_s"] - next(s["t_s"] for s in log.summary["states"] if s["state"] == "carry") < 0.05
    assert relative_rates(log).max() < 0.3  # 10 times the limit before
    assert [event["level"] for event in log.events if event["name"] == "state_halt"] == ["warning"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "grips", "state"),
    [("two-arm-catch", ("grasp",), "missed"), ("leap", ("bar2_hand1", "bar2_hand2"), "float")],
)
def test_a_catch_that_holds_nothing_is_named(name, grips, state):
    log = with_open_grips(name, *grips)
    assert log.summary["failed"]["state"] == state
    assert log.summary["ended"] == "completed"


@pytest.mark.slow
def test_a_leap_goes_on_with_the_hand_that_holds():
    log = with_open_grips("leap", "bar2_hand1")
    assert log.summary["ended"] == "completed"
    assert "failed" not in log.summary


@pytest.mark.slow
def test_a_hand_that_never_comes_near_misses_and_the_run_fails():
    log = simulate_in_memory(load("two-arm-catch", ["behaviour.timeout_s.transit=4.5", "loop.duration_s=9.5"]))
    assert log.summary["failed"] == {
        "t_s": pytest.approx(8.55, abs=0.1), "state": "missed", "after": "transit",
        "doing": "the hand is empty: it opens, the base comes to rest",
    }  # fmt: skip


def test_a_completed_run_that_failed_has_a_sentence_and_a_code(capsys):
    failed = {"t_s": 13.655, "state": "missed", "after": "stop", "doing": "the hand is empty"}
    with pytest.raises(SystemExit) as ended:
        end_run({"ended": "completed", "log_failure": None, "failed": failed}, Path("run.mcap"))
    assert ended.value.code == 8
    assert "its behaviour failed: state 'missed' at 13.655 s after 'stop': the hand is empty" in capsys.readouterr().err
