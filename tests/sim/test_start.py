"""Where the plant may start, and how a run ends that the plant cannot go on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from granite.config import testbed
from granite.config.errors import InputError, PlantLostError
from granite.logs.audit import AuditVerdict
from granite.logs.channels import Channels
from granite.rt.run import simulate
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.plant.plant import Plant
from tests.support.pucks import bed, puck

pytestmark = pytest.mark.usefixtures("interpreted")

BUMPER = {"kind": "bumper", "first": {"position_m": [1.0, 0.0], "rotation_rad": [0.0, 0.0, np.pi]}}
BEAM = {"length_m": 1.0, "line_density_kg_m": 0.448, "ei_n_m2": 3.7, "modes_y": 4}


def wall(x: float) -> testbed.Testbed:
    """A puck that flies at a bumper which it touches at x = 0.9."""
    contact = {"name": "wall", **BUMPER, "second": {"module": "disc", "point": "front"}, "parameters": {"radius_m": 0}}
    return bed([puck("disc")], [contact], initial={"body_x_m": x, "body_x_m_s": 0.1})


def two_bars(length: float, **more: Any) -> testbed.Testbed:
    """An arm of two bars on the ground, stretched out or bent, its tip in the hand of something that moves."""
    bars = [{"name": n, "mass_kg": 1.0, "com_m": [0.25, 0.0], "inertia_kg_m2": 0.02} for n in ("ground", "a", "b")]
    arm = {
        "name": "arm", "dimension": "planar", "base": "fixed", "bodies": bars,
        "joints": [
            {"name": "j1", "parent": "ground", "child": "a"},
            {"name": "j2", "parent": "a", "child": "b", "origin_m": [0.5, 0.0]},
        ],
        "points": [{"name": "tip", "body": "b", "position_m": [0.5, 0.0]}],
    }  # fmt: skip
    pull = {"name": "pull", "kind": "revolute", "first": {"position_m": [length, 0.0]}}
    pull |= {"second": {"module": "arm", "point": "tip"}, **more}
    bend = float(np.arccos(length))
    return bed([arm], [pull], initial={"j1_rad": bend, "j2_rad": -2 * bend}, fit_start=True)


def beam(contacts: list[Any], **more: Any) -> testbed.Testbed:
    """A flexible beam that floats, clamped at its base for half a second."""
    link = {"name": "link", "flexible": BEAM}
    body = {"name": "arm", "dimension": "planar", "base": "floating", "bodies": [link]}
    body["points"] = [{"name": n, "body": "link", "position_m": [x, 0.0]} for n, x in (("root", 0.0), ("tip", 1.0))]
    return bed([body], contacts, **more)


CLAMP = {"name": "clamp", "kind": "rigid_grasp", "first": {}, "second": {"module": "arm", "point": "root"}}
LET_GO = [{"from_s": 0.0, "closed": ["clamp"]}, {"from_s": 0.5, "closed": []}]


def test_a_start_inside_a_stop_is_refused_and_one_that_touches_is_not() -> None:
    with pytest.raises(InputError, match=r"pucks: simulation.initial: begins 0.5 m inside contact 'wall'"):
        Plant(wall(1.4))
    assert Plant(wall(0.9)).q[0] == 0.9
    assert Plant(wall(0.5)).q[0] == 0.5


def test_contacts_that_are_moved_against_each_other_are_refused_by_name() -> None:
    apart = two_bars(0.8, motion={"x": {"speed_m_s": 0.1}})
    pull, content = apart.contacts[0].model_dump(), apart.model_dump()
    content["contacts"] = [pull, {**pull, "name": "other", "motion": {"x": {"speed_m_s": -0.1}}}]
    with pytest.raises(InputError, match=r"contacts 'other', 'pull' cannot follow their motions: 0.1 m/s remains"):
        Plant(testbed.Testbed.model_validate(content))


def test_what_cannot_be_closed_is_not_advised_to_be_fitted() -> None:
    far = two_bars(0.8).model_dump()
    far["contacts"][0]["first"]["position_m"] = [3.0, 0.0]
    far["simulation"]["fit_start"] = False
    with pytest.raises(InputError, match="'pull' cannot all be closed from this pose"):
        Plant(testbed.Testbed.model_validate(far))


def test_a_beam_is_not_bent_into_its_contacts_farther_than_beams_bend() -> None:
    pin = {"name": "pin", "kind": "revolute", "first": {"position_m": [0.7, 0.6]}}
    pin |= {"second": {"module": "arm", "point": "tip"}}
    with pytest.raises(InputError, match=r"only with link bent by 0.6 of its length, expected .* less than .* = 0.1"):
        Plant(beam([CLAMP, pin], fit_start=True))


def test_the_longest_step_is_that_of_the_fastest_set_that_a_run_can_reach() -> None:
    """Clamped, the beam allows 8 ms; let go it swings four times as fast."""
    with pytest.raises(InputError, match=r"expected at most 0.0022\d* s or fewer modes while nothing is closed"):
        Plant(beam([CLAMP], holds=LET_GO, physics_step_s=0.005))
    Plant(beam([CLAMP], physics_step_s=0.005))


def test_an_arm_pulled_out_of_its_reach_ends_the_run_by_name() -> None:
    log = simulate_in_memory(two_bars(0.8, motion={"x": {"speed_m_s": 0.2}}))
    ended = log.summary or {}
    assert ended["ended"] == "plant_lost"
    assert "contact 'pull' is closed, but its sides are" in ended["text"]
    assert 0.9 < ended["ended_at_s"] < 1.2
    assert np.isfinite(log.rows[:, log.channels.columns("/truth", "q")]).all()


def test_a_motion_that_is_not_finite_ends_the_run_before_anyone_reads_it(tmp_path: Path) -> None:
    bent = beam([CLAMP], holds=LET_GO, initial={"link_y1_m": 0.01}, physics_step_s=0.002)
    too_long = bent.model_copy(update={"simulation": bent.simulation.model_copy(update={"physics_step_s": 0.005})})
    plant = Plant(bent)
    plant._whole[0] = np.inf
    with pytest.raises(PlantLostError, match=r"its motion is not finite after 0.01 s"):
        plant.advance(0.01)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("granite.sim.plant.plant.refuse_unstable_step", lambda *_: None)
        summary = simulate(too_long, tmp_path / "a.mcap")
    assert summary["ended"] == "plant_lost"
    assert "flexible link 'link' is bent by" in summary["text"]  # on its way to infinity
    assert "traceback" not in summary


def test_rows_that_are_not_finite_do_not_hold_in_an_audit() -> None:
    log = simulate_in_memory(wall(0.5))
    rows, verdict = log.rows.copy(), AuditVerdict(log.bed, Channels.of(log.bed))
    rows[50, log.channels.columns("/truth", "audit")] = np.nan
    verdict.update(rows)
    result = verdict.result()
    assert result is not None
    assert not result["held"]
    assert result["checks"]["finite"]["largest"] == 1


@pytest.mark.slow
def test_what_is_held_twice_is_told_with_its_condition(tmp_path: Path) -> None:
    once = two_bars(0.8).model_dump()
    once["contacts"] = [*once["contacts"], {**once["contacts"][0], "name": "again"}]
    once["loop"]["duration_s"] = 0.1
    summary = simulate(testbed.Testbed.model_validate(once), tmp_path / "a.mcap")
    (redundant,) = summary["redundant"]
    assert set(redundant["contacts"]) == {"pull", "again"}
    assert redundant["condition"] is None or redundant["condition"] > 1e9
    assert simulate(two_bars(0.8), tmp_path / "b.mcap")["redundant"] == []


def test_a_position_beside_a_named_point_is_refused() -> None:
    content = two_bars(0.8).model_dump()
    content["contacts"][0]["second"]["position_m"] = [1.0, 0.0]
    with pytest.raises(ValueError, match="expected none, because point 'tip' has its own"):
        testbed.Testbed.model_validate(content)
