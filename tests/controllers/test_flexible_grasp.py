"""Inverse dynamics of flexible arms that carry an object: the affine maps, the stability check, and the loop."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.parts import build
from granite.controllers.laws.carrying import arm_grips, carried_object, grasp_in_symbols
from granite.controllers.laws.flexible_grasp import arms_at, with_modes
from granite.controllers.model import ControlModel
from granite.rt.run_in_memory import simulate_in_memory

NAME = "fixed-dual-arm/carry-flexible"
PLAIN = {"controller.law.distribution.objective": ["least_internal_force"]}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ControlModel:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    return ControlModel(load(NAME))


def test_torques_and_elastic_accelerations_are_those_of_one_dense_solve(model: ControlModel) -> None:
    """M a + h = B tau - J^T w and J a + J' u = tip acceleration, for the flexible arm with random velocities."""
    rng, bed = np.random.default_rng(1), model.bed
    carried = carried_object(bed, None)
    grips = arm_grips(bed, carried)
    demanded, w = ca.SX.sym("a", 3), rng.normal(size=4)
    grasp = with_modes(model, carried, grips, demanded, grasp_in_symbols(model, carried, grips, demanded))
    tip, held, dynamics = model.point("left", "tip"), model.point("object", "left"), model.dynamics["left"]
    motion = held.jacobian[:2, :] @ demanded + held.drift[:2] - tip.drift[:2]
    given, names = [model.q, model.u, demanded], ("free_torque", "torque_map", "free_elastic", "elastic_map")
    solve = ca.Function("found", given, [ca.densify(getattr(grasp, name)) for name in names])
    terms = ca.Function("terms", given, [dynamics.mass_matrix, dynamics.bias, tip.jacobian[:2, :], motion])
    start = bed.simulation.initial
    q = np.array([start.get(c.key, 1e-3) for c in model.layout.positions])
    at = q, 0.1 * rng.normal(size=model.n), rng.normal(size=3)
    free_torque, torque_map, free_elastic, elastic_map = (x.full() for x in solve(*at))
    M, h, J, wanted = (x.full() for x in terms(*at))
    # Unknowns: two joint accelerations, one elastic acceleration, two torques.
    A = np.block([[M, -np.eye(3, 2)], [J, np.zeros((2, 2))]])
    solved = np.linalg.solve(A, np.concatenate([-h.ravel() - J.T @ w[:2], wanted.ravel()]))
    assert (free_torque.ravel() + torque_map.T @ w)[:2] == pytest.approx(solved[3:], rel=1e-9)
    assert free_elastic.ravel() + elastic_map.T @ w == pytest.approx(solved[2:3], rel=1e-9)


def test_the_stiffness_of_the_mode_is_that_of_the_beam(model: ControlModel) -> None:
    """K = beta^4 EI / l^3 with beta = 1.8751 of the first cantilever shape, whose integral of squares is one."""
    grips = arm_grips(model.bed, carried_object(model.bed, None))
    flexible, rigid = arms_at(model, grips, np.full(model.q.numel(), 0.3))
    assert flexible.K[0, 0] == pytest.approx(1.8751041**4 * 2.0 / 0.3**3, rel=1e-6)
    assert (rigid.K.size, flexible.M_ee.shape) == (0, (1, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (PLAIN, "elastic motion grows by 157 1/s"),
        ({"modules.left.bodies.upper_arm.flexible": None}, "all links are rigid"),
    ],
)
def test_what_would_diverge_is_refused_before_the_run(changes: dict[str, Any], message: str) -> None:
    bed = load(NAME, {**changes, "devices.strain_gauges": None} if "rigid" in message else changes)
    with pytest.raises(InputError, match=message):
        build("law", bed.control.law, ControlModel(bed))


@pytest.mark.slow
def test_the_stabilising_law_carries_where_plain_inverse_dynamics_diverges() -> None:
    stable = simulate_in_memory(load(NAME)).summary
    assert stable is not None
    assert stable["ended"] == "completed", stable["text"]
    assert stable["guard"].keys() == {"passed", "waiting_for_sensors"}
    assert stable["tracking_error"]["object_body_x"]["max"] < 1e-3
    diverging = simulate_in_memory(load(NAME, {**PLAIN, "controller.law.allow_unstable": True})).summary
    assert diverging is not None
    assert diverging["ended"] != "completed"
    assert diverging["duration_s"] < 2.0
