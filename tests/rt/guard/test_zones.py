"""Zones and solid modules: refused before a run, braked by the guard, the same in both forms."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.footprints import guarded_pairs
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.testbed import Testbed
from granite.controllers.model import ControlModel
from granite.controllers.stack import build_stack
from granite.mrds.clearance import Clearances
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.compiled_runs import assert_equal_to_the_bit
from tests.support.flyer_pair import exchange, flyer_pair

#: on the way of the free-flyer's arm, and of its base
POST = {"name": "post", "disc": {"position_m": [1.8, 1.9], "radius_m": 0.1}}
WALL = {"name": "wall", "polygon_m": [[1.75, 0.7], [2.1, 0.7], [2.1, 0.98], [1.75, 0.98]]}
NOT_CHECKED = {"behaviour.check_moves": False}


def refusal(bed: Testbed) -> str:
    with pytest.raises(InputError) as caught:
        build_stack(bed)
    return str(caught.value)


@pytest.mark.parametrize(
    ("zones", "sentence"),
    [
        ([{"name": "a"}], "it has no shape, expected one of disc, polygon_m and module"),
        ([POST | {"module": "vehicle"}], "it has disc and module"),
        ([{"name": "a", "polygon_m": [[0.0, 0.0], [1.0, 0.0], [0.1, 0.1], [0.0, 1.0]]}], "corners in turn of a convex"),
        ([{"name": "a", "module": "table"}], r"keep_out\.0\.module.*expected a module with outlines"),
        ([POST, POST], "zone 'post' occurs twice"),
    ],
)
def test_zones_without_a_sense_are_refused(zones: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load("free-flyer", {"safety.keep_out": zones})


def test_zones_need_a_shape_of_the_robot() -> None:
    with pytest.raises(InputError, match=r"no body has a shape.*safety.footprint"):
        load("free-flyer", {"safety.keep_out": [POST], "safety.footprint": {}})
    with pytest.raises(InputError, match=r"safety\.footprint\.bas: no such body"):
        load("free-flyer", {"safety.footprint": {"bas": 0.2}})


@pytest.mark.parametrize(("x", "y", "key"), [(1.5, 1.05, "simulation.initial"), (1.8, 1.9, "behaviour.waypoints.0")])
def test_a_start_or_a_leg_in_a_zone_is_refused_by_name(x: float, y: float, key: str) -> None:
    zone = POST | {"disc": {"position_m": [x, y], "radius_m": 0.1}}
    sentence = refusal(load("free-flyer", {"safety.keep_out": [zone]}))
    assert sentence.startswith(key)
    assert "arm to post" in sentence
    assert "at least 20 mm, safety.clearance_m" in sentence


@pytest.mark.usefixtures("interpreted")
def test_two_robots_that_exchange_places_are_refused_and_those_that_pass_are_not() -> None:
    assert "a_base to b_base" in refusal(flyer_pair({"behaviour.waypoints": exchange()}))
    build_stack(flyer_pair({"behaviour.waypoints": exchange(1.7, 2.3)}))


@pytest.mark.slow
@pytest.mark.parametrize("zone", [POST, WALL])
def test_an_arm_is_braked_before_a_zone(zone: dict[str, Any]) -> None:
    bed = load("free-flyer", {"safety.keep_out": [zone], "loop.duration_s": 13.0, **NOT_CHECKED})
    log = simulate_in_memory(bed)
    assert log.summary is not None
    assert log.summary["ended"] == Reason.KEEP_OUT_AHEAD.name.lower()
    assert f"to {zone['name']}" in log.summary["text"]
    assert distances(bed, log).min() >= 0.0


@pytest.mark.slow
def test_robots_on_a_course_to_each_other_are_braked() -> None:
    bed = flyer_pair({"behaviour.waypoints": exchange(), "loop.duration_s": 12.0, **NOT_CHECKED})
    log = simulate_in_memory(bed)
    assert log.summary is not None
    assert log.summary["ended"] == Reason.KEEP_OUT_AHEAD.name.lower()
    assert 0.0 <= distances(bed, log).min() < 0.1


@pytest.mark.slow
def test_both_forms_are_equal_where_robots_pass_each_other_and_zones() -> None:
    zones = [WALL, POST | {"disc": {"position_m": [2.5, 3.4], "radius_m": 0.2}}]
    changes = {"behaviour.waypoints": exchange(1.7, 2.3), "loop.duration_s": 2.0}
    assert assert_equal_to_the_bit(flyer_pair({**changes, "safety.keep_out": zones})).reason is Reason.PASSED


def distances(bed: Testbed, log: Any) -> np.ndarray:
    """Of everything that stays apart at every tick, by the truth."""
    model = ControlModel(bed)
    f = ca.Function("f", [model.q], [Clearances(guarded_pairs(bed), bed.known).distances(model.q)])
    return np.array(f(log.rows[:, log.channels.columns("/truth", "q")].T))
