"""Joint PD and PID: the formula, the bound of the integral, anti-windup, and joints that follow from an object."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Array, Reference, State
from granite.controllers.laws.joint_pid import JointPid
from granite.controllers.model import ControlModel
from granite.rt.replay import replay
from granite.rt.run_in_memory import simulate_in_memory

BED = "fixed-dual-arm/joint-pd"
OWN = {"controller.law.object": None}


def law(**gains: float) -> JointPid:
    """Without an object: the joints have references of their own."""
    changes = {f"controller.law.gains.joints.{key}": value for key, value in gains.items()}
    bed = load(BED, {**OWN, **changes})
    return JointPid(bed.control.law, ControlModel(bed))


def torque(law: JointPid, error: Array, rate: Array | None = None) -> Array:
    nothing = np.zeros(7)
    q, u = np.zeros(7), np.zeros(7)
    q[:4], u[:4] = error, np.zeros(4) if rate is None else rate
    state = State(0.0, True, nothing, nothing, nothing, nothing)
    return law.control(state, Reference(0.0, q, u, nothing, False)).force[:4]


def test_a_pd_law_is_linear_in_angle_and_rate() -> None:
    error, rate = np.array([0.01, -0.02, 0.03, 0.0]), np.array([0.1, 0.0, -0.1, 0.2])
    torques = torque(law(stiffness_n_m_rad=5.0, damping_n_m_s_rad=0.5), error, rate)
    assert torques == pytest.approx(5.0 * error + 0.5 * rate)


def test_the_integral_grows_with_the_error_up_to_its_limit() -> None:
    pid = law(stiffness_n_m_rad=1.0, integral_n_m_rad_s=20.0, integral_limit_n_m=0.05)
    torques = np.array([torque(pid, np.full(4, 0.1)) for _ in range(20)])[:, 0]
    assert np.diff(torques)[:3] == pytest.approx(20.0 * 0.1 * 0.005)
    assert torques[-1] == pytest.approx(0.1 + 0.05)


def test_the_integral_stops_while_the_motor_is_at_its_limit() -> None:
    pid = law(stiffness_n_m_rad=30.0, integral_n_m_rad_s=100.0, integral_limit_n_m=100.0)
    far = np.full(4, 0.1)
    stuck = np.array([torque(pid, far) for _ in range(100)])
    assert stuck[-1] == pytest.approx(30.0 * far)
    assert torque(pid, np.zeros(4)) == pytest.approx(np.zeros(4))


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
def test_the_joints_follow_from_the_object_without_squeezing_it() -> None:
    log = simulate_in_memory(load(BED, {"loop.duration_s": 4.0}))
    assert log.summary["ended"] == "completed"
    error = log.summary["tracking_error"]
    assert list(error) == ["object_body_x", "object_body_y", "object_body_heading"]
    assert max(error[name]["max"] for name in list(error)[:2]) < 2e-3
    assert log.summary["squeeze"]["object"]["max"] < 0.5
    assert replay(log).first is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"controller.law.gains.joints.stiffness_n_m_rad": -1.0}, "stiffness_n_m_rad"),
        ({"controller.law.gains.joints.stiffness_n_m_rad": [1.0, 2.0]}, "stiffness_n_m_rad"),
        ({"controller.law.gains.knee.damping_n_m_s_rad": 1.0}, "no motor there"),
        ({"controller.law.object": "nothing"}, "the controller knows no such object"),
    ],
)
def test_gains_and_objects_that_do_not_fit_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        load(BED, changes)
    assert sentence in str(refusal.value)
    assert "controller.law" in str(refusal.value)
