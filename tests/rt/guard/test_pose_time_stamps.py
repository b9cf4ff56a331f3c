"""Wrong time stamps of poses raise a named warning with their error; right ones never do."""

from __future__ import annotations

import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.logs.log import Log
from granite.rt.run_in_memory import simulate_in_memory


def flown(*changes: str) -> Log:
    return simulate_in_memory(load("free-flyer", ["loop.duration_s=6.0", *changes]))


def wrong_by(error: float, at_s: float = 0.0) -> str:
    fault = f"kind='fault', at_s={at_s}, device='vision', what='time_jump', value={error}"
    return f"simulation.events=[{{{fault}}}]"


@pytest.mark.parametrize(("error", "at_s"), [(-0.02, 0.0), (0.02, 2.0)])
def test_wrong_time_stamps_are_named_once_with_their_error(error: float, at_s: float) -> None:
    log = flown(wrong_by(error, at_s))
    assert log.summary["ended"] == "completed"
    assert log.summary["guard"]["pose_time_stamps"] == 1
    reason, value = (log.rows[:, log.channels.columns("/verdict", part)].ravel() for part in ("reason", "value"))
    assert value[reason == Reason.POSE_TIME_STAMPS] == pytest.approx(error, rel=0.15)
    (event,) = [event for event in log.events if event["name"] == "pose_time_stamps"]
    assert "vision time stamp error was" in event["text"]
    assert event["t_s"] - at_s < 4.0


@pytest.mark.parametrize("change", [wrong_by(0.01), "devices.vision.simulated.latency_jitter_s=0.02"])
def test_right_time_stamps_and_jitter_are_not_named(change: str) -> None:
    assert "pose_time_stamps" not in flown(change).summary["guard"]


@pytest.mark.slow
@pytest.mark.parametrize("bed", ["free-flyer", "two-arm-free-flyer", "stanford-free-flyer", "spot", "atmos"])
def test_no_preset_has_a_false_alarm(bed: str) -> None:
    named = [set(simulate_in_memory(load(bed, {"seed": seed})).summary["guard"]) for seed in range(1, 21)]
    assert not any("pose_time_stamps" in names for names in named)
