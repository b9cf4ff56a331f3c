"""Two arms that hold one object: the torques give the demanded motion of the object, and the chosen squeeze."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Reference, State
from granite.config.testbed import Testbed
from granite.controllers.distribution.force_distribution import DistributionOutcome
from granite.controllers.laws.carrying import vehicle_accelerations
from granite.controllers.laws.object_impedance import ObjectImpedance
from granite.controllers.model import ControlModel
from granite.controllers.stack import build_stack
from granite.mrds.start import start_of
from granite.mrds.system import System

pytestmark = pytest.mark.usefixtures("interpreted")

CARRY = "fixed-dual-arm/carry"
#: the object with a second body on a joint
WITH_A_LID = {
    "modules.object.bodies": [{"name": name, "mass_kg": 1.0, "inertia_kg_m2": 0.01} for name in ("body", "lid")],
    "modules.object.joints": [{"name": "hinge", "parent": "body", "child": "lid"}],
}


def law_of(bed: Testbed) -> ObjectImpedance:
    options = bed.control.law
    assert isinstance(options, ObjectImpedance.Options)
    return ObjectImpedance(options, ControlModel(bed))


def state(q: Any, u: Any, ready: bool = True) -> State:
    return State(0.0, ready, q, u, np.zeros(len(u)), np.zeros(2))


def reference(q: Any, u: Any, a: Any) -> Reference:
    return Reference(0.0, q, u, a, False)


def test_the_torques_accelerate_the_object_as_demanded_with_the_chosen_squeeze() -> None:
    """Against the closed chain of `mrds`, in random poses and motions."""
    bed = load(CARRY, {"controller.law.distribution.objective.1.weight": 1e-6})
    law, contacts = law_of(bed), System(bed.modules, bed.contacts).contact_set()
    q0, u0 = start_of(bed, contacts)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, u = contacts.project(q0 + 0.03 * rng.standard_normal(len(q0)), u0 + 0.2 * rng.standard_normal(len(u0)))
        a = np.zeros(7)
        a[4:] = rng.uniform(-0.5, 0.5, 3)
        demand = law.control(state(q, u), reference(q, u, a))
        motion = contacts.accelerate(q, u, demand.force)
        assert demand.distribution[-5] == DistributionOutcome.OPTIMAL
        assert motion.acceleration == pytest.approx(demand.acceleration, abs=1e-6)
        assert motion.acceleration[4:] == pytest.approx(a[4:], abs=1e-6)
        # Forces of the arms on the object, in the axes of the forearms.
        for i in (0, 2):
            angle, w, f = q[i] + q[i + 1], demand.distribution[i : i + 2], motion.force[i : i + 2]
            c, s = np.cos(angle), np.sin(angle)
            assert w == pytest.approx([c * f[0] - s * f[1], s * f[0] + c * f[1]], abs=1e-6)
        along = np.array([np.cos(q[6]), np.sin(q[6])])
        assert along @ (demand.distribution[:2] - demand.distribution[2:4]) / 2 == pytest.approx(2.5, abs=1e-4)
        assert not demand.wrench.any()


def test_the_object_answers_to_errors_as_spring_damper_and_integral() -> None:
    bed = load(CARRY)
    law = law_of(bed)
    q, u = start_of(bed, System(bed.modules, bed.contacts).contact_set())
    error, slower = np.array([1e-3, -2e-3, 0.01]), np.array([0.01, 0.02, -0.03])
    moved, faster = q.copy(), u.copy()
    moved[4:] += error
    faster[4:] += slower
    demanded = law.control(state(q, u), reference(moved, faster, np.zeros(7))).acceleration[4:]
    assert demanded == pytest.approx(64 * error + 16 * slower, rel=1e-9)
    # The integral of one period acts in the next tick.
    again = law.control(state(q, u), reference(moved, faster, np.zeros(7))).acceleration[4:]
    assert again - demanded == pytest.approx(100 * 0.005 * error, rel=1e-6)


def test_the_integral_is_bounded_and_stops_where_limits_can_not_be_kept() -> None:
    bed = load(CARRY, {"controller.law.translation.integral_limit": 0.01})
    law = law_of(bed)
    q, u = start_of(bed, System(bed.modules, bed.contacts).contact_set())
    near, far = q.copy(), q.copy()
    near[4] += 5e-3
    far[4] += 5.0
    for _ in range(20):
        law.control(state(q, u), reference(near, u, np.zeros(7)))
    assert law._integral == pytest.approx([0.01, 0.0, 0.0])
    before = law._integral.copy()
    demand = law.control(state(q, u), reference(far, u, np.zeros(7)))
    assert demand.distribution[-5] == DistributionOutcome.RELAXED
    assert np.abs(demand.force[[0, 2]]).max() <= 2.0 + 1e-9
    assert np.abs(demand.force[[1, 3]]).max() <= 1.0 + 1e-9
    assert law._integral == pytest.approx(before)


def test_a_straight_arm_gives_a_demand_that_the_guard_refuses_instead_of_a_large_torque() -> None:
    bed = load(CARRY)
    q, u = start_of(bed, System(bed.modules, bed.contacts).contact_set())
    q = q.copy()
    q[1] = 0.0
    demand = law_of(bed).control(state(q, u), reference(q, u, np.ones(7)))
    assert np.isnan(demand.force[:4]).all()
    assert demand.distribution[-5] == DistributionOutcome.FAILED


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"controller.objects": []}, "controller.law.object is missing, expected the name of a known object"),
        ({"controller.law.object": "left"}, "controller.law.object.*the controller knows no such object"),
        ({"contacts.left_grip.kind": "prismatic"}, "grip 'left_grip' is of kind prismatic"),
        ({"contacts.left_grip.kind": "rigid_grasp"}, "2 joints on a fixed base, but its grip 'left_grip' constrains 3"),
        (WITH_A_LID, "it has joints or modes"),
        ({"contacts": []}, "arm 'left' has 0 contacts with it"),
        ({"controller.law.translation.damping_1_s": -1.0}, "controller.law.translation.damping_1_s"),
    ],
)  # fmt: skip
def test_an_object_that_the_arms_can_not_lead_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        load(CARRY, changes)


def test_a_term_that_does_not_fit_is_refused_with_its_key_before_anything_moves() -> None:
    bed = load(CARRY, {"controller.law.distribution.objective.0.first": "left"})
    with pytest.raises(InputError, match=r"controller.law.distribution.objective.0.first.*did you mean 'left_grip'"):
        build_stack(bed)


def test_a_testbed_names_a_term_in_a_file_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import cvxpy as cp\n"
        "class Even:\n"
        "    def __init__(self, options, shape): ...\n"
        "    def cost(self, known):\n"
        "        return cp.sum_squares(known.torque)\n"
    )
    bed = load(CARRY, {"controller.law.distribution.objective": ["mine.py:Even", "least_internal_force"]})
    kinds = [o.kind for o in bed.control.law.distribution.objective]  # type: ignore[attr-defined]
    assert kinds == [f"{tmp_path / 'mine.py'}:Even", "least_internal_force"]
    assert bed.fingerprint is None
    assert law_of(bed).distribution.shape.joints[0] == "left_shoulder"


FLOATING = {"two-arm-carry": ("left_grip", "right_grip", 1.0), "two-flyers/beam": ("left_grip", "right_grip", 0.0)}


@pytest.mark.parametrize("name", FLOATING)
def test_torques_and_base_wrenches_of_vehicles_move_object_and_bases_as_demanded(name: str) -> None:
    """Against the closed chain of `mrds`, in random poses and motions; the thrusters give what they are asked for."""
    bed = load(name, {"controller.law.ramp_s": 0.0})
    law, model, contacts = law_of(bed), ControlModel(bed), System(bed.known.modules, bed.contacts).contact_set()
    q0, u0 = start_of(bed, contacts)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, u = contacts.project(q0 + 0.03 * rng.standard_normal(len(q0)), u0 + 0.1 * rng.standard_normal(len(u0)))
        a, free = np.zeros(model.n), [i for i in range(model.n) if i not in model.driven]
        a[free] = rng.uniform(-0.05, 0.05, len(free))
        demand = law.control(state(q, u), reference(q, u, a))
        assert demand.distribution[-5] == DistributionOutcome.OPTIMAL
        # What the joints resist is no part of the closed chain; the law adds it at the rates that go with the path.
        resisted = np.array(ca.Function("r", [model.u], [model.resistance(model.u)])(u)).ravel()
        motion = contacts.accelerate(q, u, demand.force + resisted)
        assert motion.acceleration == pytest.approx(demand.acceleration, abs=1e-6)
        assert motion.acceleration[free] == pytest.approx(a[free], abs=1e-6)
        for module in model.floating:
            root, own = model.layout.root_u(module), demand.wrench[model.wrench_slice(module)]
            c, s = np.cos(q[root.stop - 1]), np.sin(q[root.stop - 1])
            turned = [c * own[0] - s * own[1], s * own[0] + c * own[1], own[2]]
            assert demand.force[root] == pytest.approx(turned, abs=1e-12)  # of the object: nothing
        held = bed.module(bed.control.objects[0])
        ends = [np.array(point.position_m[:2]) for point in held.points]
        line, heading = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0]), q[-1]
        along = np.array([[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]]) @ line
        squeeze = along @ (demand.distribution[:2] - demand.distribution[2:4]) / 2
        assert squeeze == pytest.approx(FLOATING[name][2], abs=2e-3)


def test_the_integral_of_an_object_in_the_hands_of_a_vehicle_is_no_load_of_its_thrusters() -> None:
    bed = load("two-arm-carry", {"controller.law.ramp_s": 0.0})
    law = law_of(bed)
    q, u = start_of(bed, System(bed.known.modules, bed.contacts).contact_set())
    before = law.control(state(q, u), reference(q, u, np.zeros(len(u))))
    law._integral[:] = 0.1, -0.05, 0.5
    after = law.control(state(q, u), reference(q, u, np.zeros(len(u))))
    assert after.wrench == pytest.approx(before.wrench, abs=1e-9)
    assert np.abs(after.force - before.force).max() > 0.01


def test_feedback_and_squeeze_grow_from_nothing() -> None:
    bed = load("two-arm-carry/clean")
    law = law_of(bed)
    q, u = start_of(bed, System(bed.known.modules, bed.contacts).contact_set())
    moved = q + 0.01
    demands = [law.control(state(q, u), reference(moved, u, np.zeros(len(u)))) for _ in range(201)]
    assert not np.abs(demands[0].force).max() > 1e-9
    half, whole = (demands[i].acceleration[-3:] for i in (100, 200))
    assert half == pytest.approx(whole / 2, rel=0.02)
    law.restart()
    assert np.abs(law.control(state(q, u), reference(moved, u, np.zeros(len(u)))).force).max() < 1e-9


PIN = (
    "contacts=[{name='left_grip', kind='revolute', first={module='vehicle', point='left_tip'},"
    " second={module='target', point='left'}}]"
)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("two-arm-carry", [PIN, "controller.law.distribution.objective=['joint_load_sharing']"],
         "'vehicle' has 4 joints, but its grips constrain 2"),
        ("two-arm-carry", ["modules.target.points.right.position_m=[0.0, 0.1]"], "left_grip, right_grip can't hold it"),
        ("two-flyers/beam", ["contacts.right_grip.second.point=left"], "left_grip, right_grip can't hold it"),
        ("two-flyers/beam", ["devices.thrusters_two=none"], r"the thrusters of 'two' give no \+fx, -fx, \+fy, -fy"),
        ("two-flyers/beam", ["controller.law.distribution.limit=['torque', 'thrusters']"],
         "limit.1 = \"thrusters\": sharing = 'pseudo_inverse' reaches less"),
        ("fixed-dual-arm/carry",
         ["controller.law.distribution.limit=['thrusters']", "controller.allocation.sharing=least_propellant"],
         "no arm is on a base with thrusters"),
        ("two-flyers/beam", ["controller.law.base.damping_1_s=0"], "controller.law.base.damping_1_s"),
        ("two-flyers/beam", ["controller.estimator.modules.bean.rotation_rad_s2_per_rthz=0.1"],
         r"estimator.modules.bean: the controller knows no such module, expected one of one, two, beam \(did you mean"),
    ],
)  # fmt: skip
def test_a_grasp_that_vehicles_can_not_hold_is_refused_in_one_sentence(
    name: str, changes: list[str], words: str
) -> None:
    with pytest.raises(InputError, match=words) as refused:
        build_stack(load(name, changes))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("n_joints", [0, 1, 2])
def test_hands_with_fewer_joints_than_constraints_take_the_base_along_and_turn_it_last(n_joints: int) -> None:
    rng = np.random.default_rng(3)
    J, rhs, base = rng.normal(size=(2, 3 + n_joints)), rng.normal(size=2), rng.normal(size=3)
    v = np.array(ca.DM(ca.evalf(vehicle_accelerations(ca.SX(J), ca.SX(rhs), ca.SX(base))))).ravel()
    assert J @ v == pytest.approx(rhs, abs=1e-9)
    if n_joints == 2:
        assert v[:3] == pytest.approx(base)
    else:
        assert abs(v[2] - base[2]) < np.abs(v[:2] - base[:2]).max()
