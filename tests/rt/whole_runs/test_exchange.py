"""Two free-flyers exchange places on a line, each by waypoints and times of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.controllers.stack import build_stack
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.flyer_pair import flyer_pair

#: half diagonal of a base [m]
RADIUS = 0.2236


def own_lists(aside_m: float) -> list[dict[str, Any]]:
    """One passes on either side of the line; the second begins later and is slower."""
    ways = {"a": (2.0 - aside_m, (4.0, 2.0), (10.0, 12.0)), "b": (2.0 + aside_m, (1.0, 2.0), (13.0, 13.0))}
    waypoints = []
    for name, (y, end, (first, second)) in ways.items():
        for duration, (x, y_at) in ((first, (2.5, y)), (second, end)):
            target = {f"{name}_base_x_m": x, f"{name}_base_y_m": y_at}
            waypoints.append({"module": name, "duration_s": duration, "ramp_s": 3.0, "target": target})
    return waypoints


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_two_robots_exchange_places_on_a_line(seed: int) -> None:
    bed = flyer_pair({"behaviour.waypoints": own_lists(0.5), "loop.duration_s": 30.0, "seed": seed})
    log = simulate_in_memory(bed)
    summary, truth = log.summary, log["/truth"]
    assert summary is not None
    assert summary["ended"] == "completed", summary["text"]
    assert not summary.get("collisions")
    apart = np.hypot(*(truth[f"a_base_{axis}_m"] - truth[f"b_base_{axis}_m"] for axis in "xy"))
    assert apart.min() > 2 * RADIUS
    ends = [truth[f"{name}_base_{axis}_m"][-1] for name in "ab" for axis in "xy"]
    np.testing.assert_allclose(ends, [4.0, 2.0, 1.0, 2.0], atol=4e-3)


def test_on_the_line_itself_they_are_refused() -> None:
    with pytest.raises(InputError, match="a_base to b_base"):
        build_stack(flyer_pair({"behaviour.waypoints": own_lists(0.0)}))
