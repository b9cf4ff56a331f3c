"""A path of an object in space: velocities are the derivatives of the pose, and errors are seen along them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from granite.config.loader import load
from granite.config.records import Array, Reference, State
from granite.controllers.behaviours.object_path import ObjectPath
from granite.controllers.laws.pose_error import pose_error
from granite.controllers.model import ControlModel
from granite.mrds.start import start_of
from granite.mrds.system import System

BED = load(
    "spatial-dual-arm/carry",
    {
        "behaviour.legs": [
            {"duration_s": 2.0, "hold_s": 1.0, "move_m": [0.2, 0.1, -0.1], "turn_rad": [0.3, -0.2, 0.5]},
            {"duration_s": 2.0, "turn_rad": [0.0, 0.4, 0.0]},
        ]
    },
)


def path() -> tuple[ObjectPath, Array]:
    options = BED.behaviour
    assert isinstance(options, ObjectPath.Options)
    q, _ = start_of(BED, System(BED.modules, BED.contacts).contact_set())
    return ObjectPath(options, ControlModel(BED)), q


def at(behaviour: ObjectPath, q: Array, t: float) -> Reference:
    nothing = np.zeros(18)
    return behaviour.decide(State(t, True, q, nothing, nothing, np.zeros(1)))


def turned(q: Array) -> Rotation:
    return Rotation.from_quat(np.roll(q[15:19], -1))


@pytest.mark.usefixtures("interpreted")
def test_the_rates_are_derivatives_of_the_pose_and_the_accelerations_of_the_rates() -> None:
    behaviour, q = path()
    at(behaviour, q, 0.0)
    h = 1e-5
    for t in (0.3, 1.0, 1.7, 3.4, 4.2):
        before, now, after = (at(behaviour, q, t + k * h) for k in (-1, 0, 1))
        assert now.u[12:15] == pytest.approx((after.q[12:15] - before.q[12:15]) / (2 * h), abs=1e-7)
        rate = (turned(before.q).inv() * turned(after.q)).as_rotvec() / (2 * h)
        assert now.u[15:18] == pytest.approx(rate, abs=1e-7)
        assert now.a[12:18] == pytest.approx((after.u[12:18] - before.u[12:18]) / (2 * h), abs=1e-6)
    assert not at(behaviour, q, 4.9).done


def test_it_ends_where_the_legs_lead() -> None:
    behaviour, q = path()
    for t in np.linspace(0.0, 5.0, 51):
        end = at(behaviour, q, float(t))
    assert end.done
    assert end.q[12:15] == pytest.approx(q[12:15] + np.array([0.2, 0.1, -0.1]))
    wanted = turned(q) * Rotation.from_rotvec([0.3, -0.2, 0.5]) * Rotation.from_rotvec([0.0, 0.4, 0.0])
    assert (turned(end.q).inv() * wanted).magnitude() < 1e-12


def test_the_error_of_an_orientation_is_the_rotation_to_its_reference_in_body_axes() -> None:
    rng = np.random.default_rng(1)
    symbols = [ca.SX.sym(name, n) for name, n in (("q", 7), ("q_ref", 7), ("u", 6), ("u_ref", 6))]
    error = ca.Function("error", symbols, list(pose_error(*symbols)))
    for _ in range(20):
        here, step = Rotation.random(random_state=rng), rng.uniform(-1.5, 1.5, 3)
        there, u, u_ref = here * Rotation.from_rotvec(step), rng.normal(size=6), rng.normal(size=6)
        sign = rng.choice([-1, 1])  # a quaternion and its negative are the same rotation
        q, q_ref = (np.concatenate([np.ones(3), np.roll(r.as_quat(), 1)]) for r in (here, there))
        q_ref[3:] *= sign
        e, rates = (np.array(part).ravel() for part in error(q, q_ref, u, u_ref))
        assert e == pytest.approx(np.concatenate([np.zeros(3), step]), abs=1e-9)
        assert rates[3:] == pytest.approx(Rotation.from_rotvec(step).apply(u_ref[3:]) - u[3:], abs=1e-9)
