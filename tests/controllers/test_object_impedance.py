"""Two arms that hold one object: the torques give the demanded motion of the object, and the chosen squeeze."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Reference, State
from granite.config.testbed import Testbed
from granite.controllers.distribution.force_distribution import DistributionOutcome
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
