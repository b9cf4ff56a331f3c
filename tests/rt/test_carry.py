"""Two arms carry an object by 0.5 m and 90 degrees with imperfect motors: its final pose, its squeeze, the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from granite.config.loader import load
from granite.rt.in_memory import simulate_in_memory
from granite.rt.logs.log import Log
from granite.rt.logs.replay import replay
from granite.rt.run import Run

SET_POINT, X, Y, HEADING = 2.5, 0.25, 0.28, np.pi / 4


def carried(seed: int) -> tuple[float, float, float]:
    """Final errors of position [m] and heading [rad], and of the squeeze over the last second, relative."""
    log = simulate_in_memory(load("fixed-dual-arm/carry", {"seed": seed}))
    assert log.summary is not None
    assert log.summary["ended"] == "completed", log.summary["text"]
    truth = log["/truth"]
    position = np.hypot(truth.object_body_x_m[-1] - X, truth.object_body_y_m[-1] - Y)
    return float(position), abs(float(truth.object_body_heading_rad[-1]) - HEADING), squeeze_error(log)


def squeeze_error(log: Log) -> float:
    """By the true contact forces, on the object."""
    truth = log["/truth"]
    along = np.array([np.cos(truth.object_body_heading_rad), np.sin(truth.object_body_heading_rad)])
    left, right = (np.array([truth[f"{s}_grip_fx_n"], truth[f"{s}_grip_fy_n"]]) for s in ("left", "right"))
    squeeze = ((left - right) * along).sum(axis=0) / 2
    return float(np.abs(squeeze[-200:] / SET_POINT - 1).max())


def check(seeds: range) -> None:
    found = np.array([carried(seed) for seed in seeds])
    position, heading, squeeze = found.max(axis=0)
    print(
        f"worst of {len(found)}: {1e3 * position:.2f} mm, {np.degrees(heading):.3f} deg, squeeze {100 * squeeze:.1f} %"
    )
    assert position <= 1e-3
    assert heading <= np.radians(0.3)
    assert squeeze <= 0.1


def test_the_object_arrives_with_the_chosen_squeeze() -> None:
    check(range(1, 4))


@pytest.mark.slow
def test_the_object_arrives_with_the_chosen_squeeze_for_a_hundred_seeds() -> None:
    check(range(1, 101))


def test_every_answer_of_the_distribution_is_in_the_log_and_replays() -> None:
    log = simulate_in_memory(load("fixed-dual-arm/carry", {"loop.duration_s": 1.0}))
    demand = log["/demand"]
    assert set(demand.distribution_outcome[20:]) == {0.0}
    assert demand.distribution_iterations.max() <= 200
    for residual in ("primal_residual", "dual_residual", "gap"):
        assert demand[f"distribution_{residual}"][20:].max() < 1e-8
    along = np.array([np.cos(log["/state"].object_body_heading_rad), np.sin(log["/state"].object_body_heading_rad)])
    left, right = (np.array([demand[f"{s}_grip_fx_n"], demand[f"{s}_grip_fy_n"]]) for s in ("left", "right"))
    assert ((left - right) * along).sum(axis=0)[20:] / 2 == pytest.approx(SET_POINT, rel=1e-2)
    assert replay(log).first is None


def test_the_object_follows_the_reference_and_is_judged_by_it(tmp_path: Path) -> None:
    """Not the joints, which follow from it: in the summary of the recorder, in memory, and by the guard."""
    bed = load("fixed-dual-arm/carry", {"loop.duration_s": 2.0})
    names = ["object_body_x", "object_body_y", "object_body_heading"]
    assert list(simulate_in_memory(bed).summary["tracking_error"]) == names
    assert list(Run(bed).record(tmp_path / "run.mcap")["tracking_error"]) == names
    strict = simulate_in_memory(load("fixed-dual-arm/carry", {"safety.tracking_error_m": 1e-3})).summary
    assert strict["ended"] == "tracking_error"
    assert "object_body_" in strict["text"]
