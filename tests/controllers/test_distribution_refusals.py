"""Terms that can't be used are refused at start, by name and in one sentence; a user's own term works like ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from granite.config.distribution import ForceDistributionTable
from granite.config.errors import InputError
from granite.controllers.distribution.force_distribution import DistributionOutcome, ForceDistribution
from granite.controllers.distribution.grasp import GraspShape, Grip
from tests.support.held_bar import PLANAR, bar

pytestmark = pytest.mark.usefixtures("interpreted")

TERMS = '''
import cvxpy as cp
import numpy as np
from granite.config.base import Positive
from granite.config.distribution import Objective
from granite.config.parts import PartTable


class Base:
    def __init__(self, options, shape):
        self.options = options

class NearTarget(Base):
    """A cost that has a scale of its own, and a variable that CVXPY adds."""
    class Options(Objective):
        target_n: Positive = 1.0
    def cost(self, known):
        return cp.sum(cp.abs(known.force(0) - self.options.target_n)) + cp.sum_squares(known.wrench)

class Concave(Base):
    def cost(self, known):
        return -cp.sum_squares(known.wrench)

class Quartic(Base):
    def cost(self, known):
        return cp.sum(cp.power(known.wrench, 4))

class TwoQuantities(Base):
    def cost(self, known):
        return cp.square(known.previous_torque @ known.torque)

class Unknown(Base):
    def cost(self, known):
        return cp.sum_squares(known.torques)

class Vector(Base):
    def cost(self, known):
        return known.wrench

class Broken(Base):
    def cost(self, known):
        return 1 / 0

class RoundCone(Base):
    def constraints(self, known):
        return [cp.norm(known.moment(0)) <= 1.0 * known.force(0)[0], cp.SOC(known.force(0)[0], known.force(1))]

class Inside(Base):
    def constraints(self, known):
        return [known.force(0) <= 0.25, cp.sum_squares(known.wrench) >= 1]

class Capped(Base):
    hard = True
    class Options(PartTable):
        most_n: Positive
    def constraints(self, known):
        return [known.force(0)[0] <= self.options.most_n]

class Whole(Base):
    def constraints(self, known):
        return [known.force(0)[0] == cp.Variable(boolean=True)]

class Mute(Base):
    pass
'''


@pytest.fixture
def own(tmp_path: Path) -> str:
    file = tmp_path / "terms.py"
    file.write_text(TERMS)
    return str(file)


def build(objective: list[Any], limit: list[Any] | None = None, shape: GraspShape = PLANAR) -> ForceDistribution:
    table = ForceDistributionTable.model_validate({"objective": objective, "limit": limit or []})
    return ForceDistribution(table, shape)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Concave", "not convex"),
        ("Quartic", "not one of a quadratic programme"),
        ("TwoQuantities", r"product of two quantities, which CVXPY can't reduce \(DPP\)"),
        ("Unknown", r"reads the quantity 'torques', but there is none .* \(did you mean 'torque'\?\)"),
        ("Vector", "its cost is not one number"),
        ("Broken", "it failed with ZeroDivisionError"),
    ],
)
def test_an_objective_that_can_not_be_used_is_refused_by_name(own: str, name: str, words: str) -> None:
    kind = f"{own}:{name}"
    with pytest.raises(InputError, match=words) as refusal:
        build(["least_internal_force", kind])
    assert refusal.value.key == "objective.1.kind"
    assert refusal.value.value == kind
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("RoundCone", "is not one of a quadratic programme|is a SOC"),
        ("Inside", "one of its constraints is not convex"),
        ("Whole", "is not one of a quadratic programme"),
    ],
)
def test_a_limit_that_can_not_be_used_is_refused_by_name(own: str, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as refusal:
        build(["least_internal_force"], ["torque", f"{own}:{name}"])
    assert refusal.value.key == "limit.1.kind"


def test_terms_of_a_user_are_used_like_ours(own: str) -> None:
    """A cost with absolute values, whose variables stay in the programme, and a hard limit."""
    objective = [{"kind": f"{own}:NearTarget", "target_n": 3.0, "weight": 10.0}]
    solver = build(objective, [{"kind": f"{own}:Capped", "most_n": 2.0}])
    answer = solver.solve(bar((0.0, 0.0, 0.0)))
    assert answer.outcome == DistributionOutcome.OPTIMAL
    # min 10 (|f_x - 3| + |f_y - 3| + w.w) with both grips alike: f_y = 1/4 without the moment it causes
    assert answer.wrench[0] == pytest.approx(0.25, abs=1e-6)
    assert max(answer.primal_residual, answer.dual_residual, answer.gap) < 1e-6
    pushed = solver.solve(bar((100.0, 0.0, 0.0)))
    assert pushed.wrench[0] <= 2.0 + 1e-6


def test_a_part_without_the_method_of_a_term_is_refused(own: str) -> None:
    with pytest.raises((InputError, ValidationError), match="no method `cost`"):
        build([f"{own}:Mute"])


@pytest.mark.parametrize(
    ("objective", "limit", "words"),
    [
        ({"kind": "torque_norm", "joint_weight": {"g": 1.0}}, None, "objective.0.joint_weight.g.*no such joint"),
        ({"kind": "task_load_sharing", "capacity": {"leftt": {}}}, None, "did you mean 'left'"),
        ({"kind": "internal_force_set_point", "first": "left", "second": "left", "squeeze_n": 1.0}, None, "twice"),
        ("least_strain_energy", None, "objective.0.kind.*all links are rigid"),
        ("least_elastic_acceleration", None, "all links are rigid"),
        ("least_internal_force", {"kind": "gripper_force"}, r"limit.0.force_n is missing"),
        ("least_internal_force", {"kind": "one_sided", "grip": "middle"}, "limit.0.grip.*no such grip"),
    ],
)
def test_options_that_do_not_fit_the_grasp_are_refused(objective: Any, limit: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        build([objective], [limit] if limit else [])


def test_joints_without_a_limit_can_not_share_by_it() -> None:
    shape = GraspShape((Grip("one", 2, 0),), ("a", "b"), np.array([1.0, np.inf]), np.zeros((0, 0)), 0.005)
    with pytest.raises(InputError, match="joint 'b' has no torque limit"):
        build(["joint_load_sharing"], shape=shape)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"objective": []}, "at least 1"),
        ({"objective": ["torque_norm"], "iterations": 0}, "greater than or equal to 10"),
        ({"objective": [{"kind": "torque_norm", "weight": -1.0}]}, "greater than or equal to 0"),
        ({"objective": ["torque_nrm"]}, "no such objective.*did you mean 'torque_norm'"),
        ({"objective": ["torque_norm"], "limit": ["torq"]}, "no such limit.*did you mean 'torque'"),
        ({"objective": ["torque_norm"], "limit": [{"kind": "friction_cone", "coefficient": 0.0}]}, "greater than 0"),
    ],
)
def test_tables_out_of_bounds_are_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises((ValidationError, InputError), match=words):
        ForceDistributionTable.model_validate(table)
