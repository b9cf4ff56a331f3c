"""Computed torque in task space: the point accelerates as its own errors demand, also on a moving base."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Reference, State
from granite.config.testbed import Testbed
from granite.controllers.laws.task_computed_torque import TaskComputedTorque
from granite.controllers.model import ControlModel
from granite.controllers.stack import build_stack
from granite.rt.run_in_memory import simulate_in_memory


def bed(**law: Any) -> Testbed:
    table = {"kind": "task_computed_torque", "point": "tip", "damping_m": 0.0, **law}
    return load("free-flyer/clean", {"controller.law": table, "loop.duration_s": 10.0})


def test_the_point_accelerates_as_its_errors_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    own = bed(point_stiffness_1_s2=9.0, point_damping_1_s=5.0)
    model = ControlModel(own)
    law = TaskComputedTorque(own.control.law, model)
    (module,) = own.controlled
    point = model.point(module.name, "tip")
    a = ca.SX.sym("a", model.n)
    task = [point.position[:2], point.velocity[:2], (point.jacobian @ a + point.drift)[:2]]
    at = ca.Function("at", [model.q, model.u, a], task)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, q_ref = (np.array([0.0, 0.0, 0.0, 0.6, 1.0]) + 0.1 * rng.normal(size=5) for _ in range(2))
        u, u_ref, a_ref = (0.2 * rng.normal(size=5) for _ in range(3))
        state = State(0.0, True, q, u, np.zeros(5), np.zeros(2))
        demand = law.control(state, Reference(0.0, q_ref, u_ref, a_ref, False))
        x, v, acceleration = (np.array(part).ravel() for part in at(q, u, demand.acceleration))
        x_ref, v_ref, wanted = (np.array(part).ravel() for part in at(q_ref, u_ref, a_ref))
        assert acceleration == pytest.approx(wanted + 5.0 * (v_ref - v) + 9.0 * (x_ref - x))


@pytest.mark.slow
def test_it_flies_the_moves_of_the_free_flyer() -> None:
    summary = simulate_in_memory(bed(damping_m=1e-3)).summary
    assert summary["ended"] == "completed", summary["text"]
    assert summary["tracking_error"]["base_x"]["max"] < 5e-3
    assert summary["tracking_error"]["shoulder"]["max"] < 20e-3


@pytest.mark.usefixtures("interpreted")
def test_a_point_on_a_flexible_link_is_refused_because_its_modes_would_grow() -> None:
    leads = load("flexible-arm", {"controller.law": {"kind": "task_computed_torque", "point": "tip"}})
    with pytest.raises(InputError, match=r"law.kind = \"task_computed_torque\": the modes of flexible links grow by"):
        build_stack(leads)
    for kind in ("computed_torque", "joint_pid"):
        build_stack(load("flexible-arm", {"controller.law": {"kind": kind}}))


@pytest.mark.parametrize(
    ("law", "sentence"),
    [
        ({"point": "nose"}, "no such point"),
        ({"module": "other"}, "no such controlled module"),
        ({"point_stiffness_1_s2": 0.0}, "point_stiffness_1_s2"),
        ({"point_damping_1_s": [1.0]}, "point_damping_1_s"),
    ],
)
def test_points_and_gains_that_do_not_fit_are_refused(law: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        bed(**law)
    assert sentence in str(refusal.value)
