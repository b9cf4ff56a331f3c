"""Two fixed arms reach for a floating object, grip it, carry it and place it: final pose, slip, and every abort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.parts import build
from granite.config.records import Array, Reference, State
from granite.config.testbed import Testbed
from granite.controllers.behaviours.pick_and_place import PickAndPlace
from granite.controllers.laws.reach_and_carry import ReachAndCarry
from granite.controllers.model import ControlModel
from granite.logs.log import Log
from granite.rt.replay import replay
from granite.rt.run_in_memory import simulate_in_memory

NAME = "fixed-dual-arm/pick-and-place"
X, Y, HEADING = 0.25, 0.28, np.pi / 4
#: of a run that need not be accurate
QUICK = {"behaviour.reach_s": 2.0, "behaviour.close_in_s": 1.5, "behaviour.carry_s": 3.0, "loop.duration_s": 9.0}
ARMS = [f"{arm}_{joint}" for arm in ("left", "right") for joint in ("shoulder", "elbow")]


def states(log: Log) -> list[str]:
    assert log.summary is not None
    assert log.summary["ended"] == "completed", log.summary["text"]
    return [entered["state"] for entered in log.summary["states"]]


def check(seeds: range, changes: dict[str, Any], most_tries: int) -> None:
    errors, aborted = [], []
    for seed in seeds:
        log = simulate_in_memory(load(NAME, {**changes, "seed": seed}))
        if states(log)[-1] != "rest":
            aborted.append((seed, states(log)))
            continue
        assert log.summary is not None
        assert log.summary["guard"].keys() <= {"passed", "waiting_for_sensors"}, seed
        truth, catches = log["/truth"], log.summary["catches"]
        position = np.hypot(truth.object_body_x_m[-1] - X, truth.object_body_y_m[-1] - Y)
        heading = abs(truth.object_body_heading_rad[-1] - HEADING)
        tries = states(log).count("place")
        errors.append([position, heading, *(max(c[k] for c in catches) for k in ("miss_m", "speed_m_s")), tries])
    position, heading, miss, speed, tries = np.array(errors).max(axis=0)
    print(
        f"worst of {len(errors)}: {1e3 * position:.2f} mm, {np.degrees(heading):.3f} deg at the end; grips met within"
        f" {1e3 * miss:.2f} mm, {1e3 * speed:.1f} mm/s; placed {tries:.0f} times at most, no slip"
    )
    assert not aborted
    assert position <= 1e-3
    assert heading <= np.radians(0.3)
    assert miss <= 3e-3
    assert speed <= 5e-3
    assert tries <= most_tries


@pytest.mark.slow
def test_the_object_is_placed_without_slip() -> None:
    check(range(1, 4), {}, most_tries=2)


@pytest.mark.slow
@pytest.mark.study
def test_the_object_is_placed_without_slip_for_a_hundred_seeds() -> None:
    check(range(1, 101), {}, most_tries=2)


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.01, 0.03])
def test_the_object_is_placed_where_joints_have_other_friction_than_the_controller_believes(friction: float) -> None:
    plant = "simulation.plant.modules"
    changes = {f"{plant}.{arm}.joints.{joint}.friction_n_m": friction for arm, joint in (n.split("_") for n in ARMS)}
    check(range(9001, 9004), changes, most_tries=4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "ends"),
    [
        # The left grip is not where the controller believes: the right hand alone closes, and opens again.
        ({"simulation.plant.modules.object.points.left.position_m": [-0.13, 0.0]}, ["grip", "halt"]),
        ({"controller.law.friction.coefficient": 1e-3}, ["carry", "stop", "halt"]),
        ({"behaviour.timeout_s": {"place": 0.5}}, ["place", "stop", "halt"]),
        ({"behaviour.close_m": 1e-6, "behaviour.timeout_s": {"grip": 1.0}}, ["grip", "halt"]),
    ],
)
def test_every_abort_ends_with_open_hands_and_all_at_rest(changes: dict[str, Any], ends: list[str]) -> None:
    log = simulate_in_memory(load(NAME, {**QUICK, **changes}))
    assert states(log)[-len(ends) :] == ends
    truth = log["/truth"]
    assert truth.left_grip_closed[-1] == truth.right_grip_closed[-1] == 0
    assert max(abs(truth[f"{joint}_rad_s"][-1]) for joint in ARMS) < 2e-3
    assert np.hypot(truth.object_body_x_m_s[-1], truth.object_body_y_m_s[-1]) < 2e-3
    assert replay(log).first is None


def state(t: float, q: Array, holding: tuple[float, float], gauges: int = 4) -> State:
    u, none = np.zeros(len(q)), np.zeros(0)
    return State(t, True, q, u, u, none, none, u, u, none, np.zeros(gauges), np.array(holding))


@pytest.fixture
def bed(monkeypatch: pytest.MonkeyPatch) -> Testbed:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    return load(NAME, QUICK)


def in_hand(bed: Testbed) -> tuple[PickAndPlace, ControlModel, Array]:
    """The machine in `carry`, its model, and coordinates with the hands at the grips."""
    start = load("fixed-dual-arm/carry").simulation.initial
    model = ControlModel(bed)
    machine: PickAndPlace = build("behaviour", bed.behaviour, model)
    q = np.array([start[c.key] for c in model.layout.positions])
    for t in (0.0, 2.5, 4.5):
        machine.decide(state(t, q, (0.0, 0.0)))
    machine.decide(state(4.505, q, (1.0, 1.0)))
    assert machine.name == "carry"
    return machine, model, q


def test_hands_close_together_and_a_lost_grip_opens_them(bed: Testbed) -> None:
    machine, _, q = in_hand(bed)
    assert machine.gripping == {"left_grip", "right_grip"}
    machine.decide(state(4.51, q, (1.0, 0.0)))
    assert (machine.name, machine.gripping) == ("halt", frozenset())


def test_a_grip_out_of_reach_brings_the_arms_to_rest(bed: Testbed) -> None:
    model = ControlModel(bed)
    machine: PickAndPlace = build("behaviour", bed.behaviour, model)
    start = {**load("fixed-dual-arm/carry").simulation.initial, "object_body_x_m": 3.0}
    q = np.array([start[c.key] for c in model.layout.positions])
    machine.decide(state(0.0, q, (0.0, 0.0)))
    assert machine.name == "halt"


def test_an_object_that_stays_beside_the_goal_is_not_let_go(bed: Testbed) -> None:
    """It is placed again, to the other side of the goal, and after the last of the tries the machine gives up."""
    machine, model, q = in_hand(bed)
    machine._has_lost = lambda now: False  # the arms of this test do not move with the object
    q, own, visited = q.copy(), model.layout.q["object"], [machine.name]
    t, aims = 4.51, []
    while machine.name != "halt":
        reference = machine.decide(state(t, q, (1.0, 1.0)))
        q[own] = reference.q[own]
        if machine.name == "settle":
            q[own.start] = X + 1e-3
            aims.append(machine._aim[0])
        if machine.name != visited[-1]:
            visited.append(machine.name)
        t += bed.loop.period_s
    assert visited == ["carry", *["place", "settle"] * 4, "halt"]
    assert aims[0] == X
    assert aims[-1] == pytest.approx(X - 1.5e-3, abs=5e-4)


def test_the_object_is_carried_only_while_all_hands_hold_and_it_has_a_task(bed: Testbed) -> None:
    machine, model, q = in_hand(bed)
    law: ReachAndCarry = build("law", bed.control.law, model)
    names = [c.name for c in bed.control.law.recorded(bed)]
    squeeze = names.index("left_grip_fx")

    def demanded(holding: tuple[float, float], reference: Reference) -> float:
        demand = law.control(state(4.51, q, holding), reference)
        assert np.isfinite(demand.force).all()
        assert demand.distribution[names.index("distribution_status")] >= 1
        return float(demand.distribution[squeeze])

    carried = machine.decide(state(4.51, q, (1.0, 1.0)))
    # 2.5 N along the object, which is turned by -45 degrees
    assert demanded((1.0, 1.0), carried) == pytest.approx(2.5 / np.sqrt(2), rel=0.1)
    assert demanded((1.0, 0.0), carried) == 0.0
    assert demanded((1.0, 1.0), carried._replace(task=np.zeros_like(carried.task))) == 0.0


def test_arms_that_hold_still_are_not_pushed_by_what_was_observed_in_the_squeeze(bed: Testbed) -> None:
    machine, model, q = in_hand(bed)
    law: ReachAndCarry = build("law", bed.control.law, model)
    arms = [model.layout.joint_u(name) for name in ARMS]
    task = machine.tasks.nothing(machine.code)
    for i in arms:
        machine.tasks.weigh(task, i, 1.0)
    zero, d = np.zeros(model.n), np.zeros(model.n)
    d[arms] = 0.035
    still = Reference(4.51, q, zero, zero, False, (), task)
    assert np.abs(law.control(state(4.51, q, (1.0, 1.0))._replace(disturbance=d), still).force).max() < 1e-9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"behaviour.goal_m": [0.25, 0.6]}, "expected less than 0.6 m"),
        ({"behaviour.goal_rad": 100.0}, "goal_rad = 100.0.*expected a number of at most 6.28319"),
        ({"behaviour.goal_rad": -6.3}, "goal_rad = -6.3.*expected a number of at least -6.28319"),
        ({"behaviour.contacts": ["left_grip"]}, "does not close grip 'right_grip'"),
        ({"behaviour.contacts": ["left_grip", "third_grip"]}, "'third_grip'"),
        ({"controller.law": {"kind": "task_space"}}, "expected 'reach_and_carry', which carries an object"),
        ({"behaviour.timeout_s": {"fly": 1.0}}, "no such state"),
        ({"behaviour.tries": 0}, "behaviour.tries = 0"),
    ],
)
def test_what_can_not_be_placed_is_refused_in_one_sentence(
    changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")

    def prepare() -> None:
        refused = load(NAME, changes)
        build("behaviour", refused.behaviour, ControlModel(refused))

    with pytest.raises(InputError, match=message):
        prepare()
