"""Two loops on one table: each controls its own free-flyer, and measures the other one as an obstacle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.reasons import Reason
from granite.config.testbed import Testbed
from granite.logs.log import Log
from granite.rt.replay import replay
from granite.rt.run_in_memory import simulate_in_memory
from granite.rt.together import simulate_together
from tests.support.flyer_pair import beside_an_obstacle

#: a half of the poses of both is lost, and they come 0.1 s late
BAD_STREAM = {
    f"devices.{name}_vision.{key}": value
    for name in "ab"
    for key, value in (("simulated.dropout_probability", 0.5), ("latency_s", 0.1))
}
NOISE = {"translation_m_s2_per_rthz": 0.02, "rotation_rad_s2_per_rthz": 0.1}
START = {"a_base_x_m": 1.0, "a_base_y_m": 2.0, "b_base_x_m": 2.5, "b_base_y_m": 3.4}
#: twice the radius of the disc that covers a base [m]
TOUCHING = 2 * 0.2236


def move(name: str, duration_s: float, **target: float) -> dict[str, Any]:
    goal = {f"{name}_base_{axis}_m": value for axis, value in target.items()}
    return {"kind": "waypoints", "waypoints": [{"duration_s": duration_s, "ramp_s": 3.0, "target": goal}]}


def loops(a: dict[str, Any], b: dict[str, Any], duration_s: float, **more: Any) -> list[Testbed]:
    changes = {"loop.duration_s": duration_s, "simulation.initial": START, **more}
    sides = (("a", "b", a), ("b", "a", b))
    return [
        beside_an_obstacle(
            {
                **changes,
                "behaviour": behaviour,
                "name": f"loop {own}",
                # Its thrust is an acceleration that nothing explains.
                f"controller.estimator.modules.{other}": NOISE,
            },
            own=own,
            other=other,
        )
        for own, other, behaviour in sides
    ]


def apart(log: Log) -> np.ndarray:
    truth = log["/truth"]
    return np.hypot(*(truth[f"a_base_{axis}_m"] - truth[f"b_base_{axis}_m"] for axis in "xy"))


def waiting(name: str, wait_s: float, duration_s: float, **target: float) -> dict[str, Any]:
    first, behaviour = START[f"{name}_base_x_m"], move(name, duration_s, **target)
    stays = {"duration_s": wait_s, "ramp_s": 1.0, "target": {f"{name}_base_x_m": first}}
    return {**behaviour, "waypoints": [stays, *behaviour["waypoints"]]}


@pytest.mark.slow
@pytest.mark.parametrize("stream", [{}, BAD_STREAM], ids=["good", "bad"])
def test_loops_whose_ways_cross_brake_for_each_other_and_repeat_to_the_bit(stream: dict[str, Any]) -> None:
    """None knows what the other one is going to do: both rest before they meet. Each log replays."""
    beds = loops(move("a", 25.0, x=4.0), move("b", 20.0, y=1.0), 14.0, **stream)
    a, b = simulate_together(beds)
    for log in (a, b):
        assert log.summary is not None
        assert log.summary["ended"] == Reason.KEEP_OUT_AHEAD.name.lower(), log.summary["text"]
        assert not log.summary.get("collisions")
    assert apart(a).min() > TOUCHING + 0.05
    assert np.ptp(apart(a)[-200:]) < 0.01
    np.testing.assert_array_equal(a["/truth"]["b_base_y_m"], b["/truth"]["b_base_y_m"])
    for log, again in zip((a, b), simulate_together(beds), strict=True):
        repeats = np.ones(log.rows.shape[1], dtype=bool)
        repeats[log.channels.columns("/timing", "steps")] = False  # durations of the machine
        np.testing.assert_array_equal(log.rows[:, repeats], again.rows[:, repeats])
        assert replay(log).first is None


@pytest.mark.slow
@pytest.mark.parametrize("stream", [{}, BAD_STREAM], ids=["good", "bad"])
def test_one_passes_when_the_other_one_has_crossed_its_way(stream: dict[str, Any]) -> None:
    a, b = simulate_together(loops(waiting("a", 14.0, 20.0, x=4.0), move("b", 16.0, y=1.0), 40.0, **stream))
    for log in (a, b):
        assert log.summary is not None
        assert log.summary["ended"] == "completed", log.summary["text"]
    assert apart(a).min() > TOUCHING + 0.05
    truth = a["/truth"]
    np.testing.assert_allclose([truth["a_base_x_m"][-1], truth["b_base_y_m"][-1]], [4.0, 1.0], atol=6e-3)


def test_a_loop_has_the_plant_that_it_would_have_alone() -> None:
    """No tick of delay, and the other one's valves change nothing: its motion is that beside a robot at rest."""
    beds = loops(move("a", 8.0, y=1.8), move("b", 8.0, y=3.2), 3.0)
    together, alone = simulate_together(beds)[0], simulate_in_memory(beds[0])
    keys = [f"a_base_{name}" for name in ("x_m", "y_m", "heading_rad", "y_m_s")]
    for key in keys:
        np.testing.assert_allclose(together["/truth"][key], alone["/truth"][key], rtol=0, atol=1e-12)
    thrust = [f"a_thrusters_t{i}_thrust_n" for i in range(1, 9)]
    assert max(together["/truth"][key].max() for key in thrust) > 0.5
    for key in thrust:
        np.testing.assert_allclose(together["/truth"][key], alone["/truth"][key], rtol=0, atol=1e-12)
    assert np.abs(together["/truth"]["b_base_y_m"] - alone["/truth"]["b_base_y_m"]).max() > 0.02


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"simulation.initial.a_base_x_m": 1.5}, r"simulation: 'loop b' differs from 'loop a', expected the same"),
        ({"loop.period_s": 0.01}, r"loop\.period_s: 'loop b' differs"),
        ({"devices.b_vision.rate_hz": 50.0}, r"devices\.b_vision: another device of that name is in 'loop a'"),
    ],
)
def test_loops_of_different_tables_are_refused(changes: dict[str, Any], sentence: str) -> None:
    a, b = loops(move("a", 8.0, y=1.8), move("b", 8.0, y=3.2), 1.0)
    with pytest.raises(InputError, match=sentence):
        simulate_together([a, b.with_changes(changes)])
    with pytest.raises(InputError, match=r"devices\.a_thrusters: another device"):
        simulate_together([a, a])
