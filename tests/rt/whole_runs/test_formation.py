"""Three free-flyers keep their places in the frame of the leader, while it flies and turns, in the honest lab."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.controllers.stack import build_stack
from granite.logs.log import Log
from granite.rt.replay import replay
from granite.rt.run_in_memory import simulate_in_memory

BED = "three-flyers"
PLACES = {"two": (-0.7, 0.5), "three": (-0.7, -0.5)}
#: after the followers went to their places [s]
FORMED_S = 7.0


def errors(log: Log) -> dict[str, tuple[float, float]]:
    """Largest true error of each place in the leader's true frame [m], and of the heading [rad], once formed."""
    truth = log["/truth"]
    formed = truth["t_s"] > FORMED_S
    heading = truth["one_base_heading_rad"]
    turn = np.exp(-1j * heading)
    leader = truth["one_base_x_m"] + 1j * truth["one_base_y_m"]
    by_vehicle = {}
    for module, (x, y) in PLACES.items():
        place = (truth[f"{module}_base_x_m"] + 1j * truth[f"{module}_base_y_m"] - leader) * turn
        turned = truth[f"{module}_base_heading_rad"] - heading
        by_vehicle[module] = float(np.abs(place - (x + 1j * y))[formed].max()), float(np.abs(turned)[formed].max())
    return by_vehicle


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds", [range(1, 2), pytest.param(range(6001, 6101), marks=pytest.mark.study)], ids=["one", "hundred"]
)
def test_followers_keep_their_places(seeds: range) -> None:
    worst = np.zeros(2)
    for seed in seeds:
        log = simulate_in_memory(load(BED, {"seed": seed}))
        assert log.summary is not None
        assert log.summary["ended"] == "completed", log.summary["text"]
        assert not log.summary.get("collisions")
        worst = np.max([worst, *errors(log).values()], axis=0)
        if len(seeds) == 1:
            assert replay(log).first is None
    print(f"worst of {len(seeds)}: {1e3 * worst[0]:.1f} mm, {1e3 * worst[1]:.1f} mrad")
    assert (worst < (10e-3, 8e-3)).all()


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"behaviour.leader": "four"}, "behaviour.leader"),
        ({"behaviour.followers": [{"module": "one", "offset_m": [1.0, 0.0]}]}, "each module once"),
        ({"behaviour.followers": [{"module": "two", "offset_m": [-0.2, 0.0]}]}, "apart|inside"),
        ({"behaviour.followers": [{"module": "two", "offset_m": [-3.0, 0.0]}]}, "two_base_x_m"),
        ({"behaviour.approach_s": 0.5}, "approach_s"),
    ],
)
def test_a_formation_that_can_not_be_flown_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        build_stack(load(BED, changes))
