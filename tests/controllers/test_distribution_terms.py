"""What each objective and each limit of the force distribution does to the wrenches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.distribution import ForceDistributionTable
from granite.controllers.distribution.force_distribution import DistributedForce, DistributionOutcome, ForceDistribution
from granite.controllers.distribution.grasp import Grasp, GraspShape, Grip
from tests.support.held_bar import PLANAR, bar
from tests.support.random_grasps import draw, grasp_matrix

pytestmark = pytest.mark.usefixtures("interpreted")

STIFFNESS = np.array([[300.0, 20.0, 0.0], [20.0, 100.0, 0.0], [0.0, 0.0, 50.0]])
FLEXIBLE = GraspShape(PLANAR.grips, PLANAR.joints, PLANAR.torque_limit, STIFFNESS, 0.005)


def solve(grasp: Grasp, objective: list[Any], limit: list[Any] = [], shape: GraspShape = PLANAR) -> DistributedForce:  # noqa: B006
    table = ForceDistributionTable.model_validate({"objective": objective, "limit": limit, "tie_break": 1e-12})
    return ForceDistribution(table, shape).solve(grasp)


def best(grasp: Grasp, W: Any, c: Any) -> Any:
    """The equality-constrained optimum in its null-space form."""
    x = np.linalg.pinv(grasp.matrix) @ grasp.load
    N = np.linalg.svd(grasp.matrix)[2][3:].T
    return x - N @ np.linalg.solve(N.T @ W @ N, N.T @ (W @ x + c))


def test_least_internal_force_is_the_pseudo_inverse() -> None:
    grasp = bar()
    answer = solve(grasp, ["least_internal_force"])
    assert answer.wrench == pytest.approx(np.linalg.pinv(grasp.matrix) @ grasp.load, abs=1e-12)


def test_task_load_sharing_loads_the_stronger_arm() -> None:
    """A force along the line between the grips is shared in proportion to the capacities."""
    capacity = {"left": {"force_n": 30.0}, "right": {"force_n": 10.0, "moment_weight_1_m2": 4.0}}
    answer = solve(bar((4.0, 0.0, 0.0)), [{"kind": "task_load_sharing", "capacity": capacity}])
    assert answer.wrench[[0, 3]] == pytest.approx([3.0, 1.0])
    grasp = bar()
    W = np.diag([1 / 30, 1 / 30, 1 / 30, 0.1, 0.1, 0.4])
    answer = solve(grasp, [{"kind": "task_load_sharing", "capacity": capacity}])
    assert answer.wrench == pytest.approx(best(grasp, W, np.zeros(6)), abs=1e-9)


def test_torque_norms_are_the_weighted_optimum() -> None:
    grasp, limits = bar(), np.array([5.0, 2.0, 1.0, 5.0, 2.0, 1.0])
    weights = {"a": 3.0, "f": 0.0}
    W = np.diag([3.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    for kind, W_T in (
        ({"kind": "torque_norm", "joint_weight": weights}, W),
        ("joint_load_sharing", np.diag(1 / limits)),
    ):
        shape = GraspShape(PLANAR.grips, PLANAR.joints, limits, np.zeros((0, 0)), 0.005)
        J = grasp.torque_map
        expected = best(grasp, J.T @ W_T @ J, J.T @ W_T @ grasp.free_torque)
        assert solve(grasp, [kind], shape=shape).wrench == pytest.approx(expected, abs=1e-7)


def flexible() -> Grasp:
    rng = np.random.default_rng(2)
    return bar(
        free_elastic=rng.normal(size=3), elastic_map=rng.normal(size=(3, 6)), elastic=0.01 * rng.normal(size=3),
        elastic_rate=rng.normal(size=3),
    )  # fmt: skip


def test_least_elastic_acceleration_stops_what_it_can() -> None:
    """Three free forces stop three elastic coordinates."""
    grasp = flexible()
    answer = solve(grasp, ["least_elastic_acceleration"], shape=FLEXIBLE)
    assert grasp.free_elastic + grasp.elastic_map @ answer.wrench == pytest.approx(np.zeros(3), abs=1e-8)


def test_least_strain_energy_is_zero_after_its_time() -> None:
    """With weights as in (5.32) and (5.33): c = J3 K (dt^2/2 q0'' + dt q' + q), W = dt^2/2 J3 K J3^T."""
    grasp, dt = flexible(), 0.02
    answer = solve(grasp, [{"kind": "least_strain_energy", "ahead_s": dt}], shape=FLEXIBLE)
    acceleration = grasp.free_elastic + grasp.elastic_map @ answer.wrench
    assert grasp.elastic + dt * grasp.elastic_rate + dt**2 / 2 * acceleration == pytest.approx(np.zeros(3), abs=1e-9)
    J, h = grasp.elastic_map, dt**2 / 2
    W = h * J.T @ STIFFNESS @ J + np.eye(6)
    c = J.T @ STIFFNESS @ (h * grasp.free_elastic + dt * grasp.elastic_rate + grasp.elastic)
    both = [{"kind": "least_strain_energy", "ahead_s": dt}, "least_internal_force"]
    assert solve(grasp, both, shape=FLEXIBLE).wrench == pytest.approx(best(grasp, W, c), abs=1e-9)


def test_the_internal_force_reaches_its_set_point() -> None:
    answer = solve(bar(), [{"kind": "internal_force_set_point", "first": "left", "second": "right", "squeeze_n": 3.0}])
    # Compressed: the left grip pushes to the right, the right one to the left.
    assert (answer.wrench[0] - answer.wrench[3]) / 2 == pytest.approx(3.0)


def test_weights_weigh() -> None:
    set_point = {"kind": "internal_force_set_point", "first": "left", "second": "right", "squeeze_n": 3.0}
    answer = solve(bar((0.0, 0.0, 0.0)), ["least_internal_force", {**set_point, "weight": 2.0}])
    # min f^2 + (f - 3)^2, both grips having f
    assert answer.wrench[0] == pytest.approx(1.5)


def test_a_share_of_the_torque_limit_is_kept() -> None:
    grasp = bar((3.0, -3.0, 1.0))
    free = solve(grasp, ["least_internal_force"], ["torque"])
    most = np.abs(free.torque).max()
    bound = {"kind": "torque", "share": 0.9 * most / 5.0}
    answer = solve(grasp, ["least_internal_force"], [bound])
    assert answer.outcome == DistributionOutcome.OPTIMAL
    assert np.abs(answer.torque).max() == pytest.approx(0.9 * most)


def test_torques_change_no_faster_than_their_rate() -> None:
    grasp = bar((3.0, -3.0, 1.0))
    wanted = solve(grasp, ["torque_norm"]).torque
    grasp = grasp._replace(previous_torque=wanted + np.array([1.0, 0, 0, 0, 0, 0]))
    answer = solve(grasp, ["torque_norm"], [{"kind": "torque_rate", "rate_n_m_s": 100.0}])
    assert answer.outcome == DistributionOutcome.OPTIMAL
    assert answer.torque[0] - grasp.previous_torque[0] == pytest.approx(-0.5)


def test_friction_needs_a_squeeze() -> None:
    """Grips that carry 2 N across by friction of 0.5 press with 2 N each."""
    grasp = bar((0.0, 2.0, 0.0))
    answer = solve(grasp, ["least_internal_force"], [{"kind": "friction_cone", "coefficient": 0.5}])
    assert answer.wrench == pytest.approx([2.0, 1.0, 0.0, -2.0, 1.0, 0.0], abs=1e-9)


SPATIAL = GraspShape(
    (Grip("left", 3, 3), Grip("right", 3, 3)), tuple("abcdefghijkl"), np.full(12, 50.0), np.zeros((0, 0)), 0.005
)
BESIDE = np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]])
INTO = np.array([np.eye(3), np.diag([-1.0, -1.0, 1.0])])


@pytest.mark.parametrize(("form", "sides"), [("pyramid", 4), ("pyramid", 8), ("pyramid", 32), ("box", 4)])
def test_the_linear_cone_lies_in_the_cone_and_touches_it(form: str, sides: int) -> None:
    mu, pressed = 0.5, []
    cone = {"kind": "friction_cone", "coefficient": mu, "form": form, "sides": sides}
    table = ForceDistributionTable.model_validate({"objective": ["least_internal_force"], "limit": [cone]})
    solver = ForceDistribution(table, SPATIAL)
    for angle in np.linspace(0.0, np.pi / 2, 33):
        load = np.array([0.0, 2 * np.cos(angle), 2 * np.sin(angle), 0.0, 0.0, 0.0])
        grasp = Grasp.rigid(grasp_matrix(SPATIAL, BESIDE), load, np.zeros(12), np.eye(12), positions=BESIDE, axes=INTO)
        answer = solver.solve(grasp)
        assert answer.outcome == DistributionOutcome.OPTIMAL
        for i in range(2):
            normal, *tangent = INTO[i] @ answer.wrench[6 * i : 6 * i + 3]
            assert np.linalg.norm(tangent) <= mu * normal + 1e-9
        pressed.append(answer.wrench[0])
    # One newton across needs two at the edges of the pyramid, and more between them.
    assert min(pressed) == pytest.approx(2.0, abs=1e-6)
    assert max(pressed) <= 2.0 / np.cos(np.pi / sides) + 1e-6


def test_a_one_sided_grip_only_pushes() -> None:
    pulled = bar((-4.0, 0.0, 0.0))
    assert solve(pulled, ["least_internal_force"]).wrench[0] == pytest.approx(-2.0)
    answer = solve(pulled, ["least_internal_force"], [{"kind": "one_sided", "least_n": 0.25}])
    assert answer.wrench[[0, 3]] == pytest.approx([0.25, -4.25])


def test_a_gripper_holds_no_more_than_it_can() -> None:
    squeeze = {"kind": "internal_force_set_point", "first": "left", "second": "right", "squeeze_n": 9.0, "weight": 99.0}
    limit = {"kind": "gripper_force", "grip": "right", "force_n": 4.0, "moment_n_m": 0.1}
    answer = solve(bar((1.0, 0.0, 2.0)), ["least_internal_force", squeeze], [limit])
    assert answer.wrench[[0, 3]] == pytest.approx([5.0, -4.0])
    assert abs(answer.wrench[5]) <= 0.1 + 1e-9


def test_the_stress_in_the_bar_is_bounded() -> None:
    """Squeezed to 9 N by its objective, the bar bears 2 MPa on a square millimetre: 2 N."""
    squeeze = {"kind": "internal_force_set_point", "first": "left", "second": "right", "squeeze_n": 9.0}
    stress = {"kind": "object_stress", "first": "left", "second": "right", "area_m2": 1e-6, "section_modulus_m3": 1e-9,
              "stress_pa": 2e6}  # fmt: skip
    answer = solve(bar((0.0, 0.0, 0.0)), [squeeze], [stress])
    assert answer.wrench == pytest.approx([2.0, 0.0, 0.0, -2.0, 0.0, 0.0], abs=1e-6)
    # A load that moves the bar is no stress: only what is left of the wrenches without it.
    assert solve(bar((8.0, 0.0, 0.0)), [squeeze], [stress]).wrench[[0, 3]] == pytest.approx([6.0, 2.0], abs=1e-6)


def test_every_kind_is_tested_here_or_with_random_grasps() -> None:
    from granite.config.parts import registry
    from tests.support.random_grasps import CASES

    used = {o.kind for c in CASES for o in (*c.table.objective, *c.table.limit)}
    assert used == {*registry("objective"), *registry("limit")}
    assert draw(CASES[0], np.random.default_rng(0)).load.shape == (3,)
