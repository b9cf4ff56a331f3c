"""Lilly and Orin 1991, acceptance test 10: a hip is a joint of the vehicle, or a contact with a known torque."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from granite.config.contacts import Contact, Side
from granite.config.modules import Body, Joint, Module, Point
from granite.mrds.system import System
from tests.peers.interpreted import interpreted
from tests.validation.claims import Claims

GRAVITY = (0.0, 0.0, -9.81)
LEGS = 3


def _bodies(k: int) -> tuple[Body, Body]:
    thigh = Body(
        name=f"thigh{k}", mass_kg=1.1, com_m=(0.02, 0.0, -0.15), inertia_kg_m2=(0.01, 0.012, 0.004, 0, 0, 0.001)
    )
    shank = Body(name=f"shank{k}", mass_kg=0.6, com_m=(0.0, 0.01, -0.12), inertia_kg_m2=(0.006, 0.005, 0.002, 0, 0, 0))
    return thigh, shank


def _knee(k: int) -> Joint:
    return Joint(
        name=f"knee{k}", parent=f"thigh{k}", child=f"shank{k}", origin_m=(0.0, 0.05, -0.3), axis=(0.2, 1.0, 0.0)
    )


def _hip(k: int) -> tuple[tuple[float, ...], tuple[float, float, float]]:
    angle = 2 * np.pi * k / LEGS
    return (0.3 * float(np.cos(angle)), 0.3 * float(np.sin(angle)), -0.05), (1.3, 0.2, angle)


def _foot(k: int) -> Point:
    return Point(name=f"foot{k}", body=f"shank{k}", position_m=(0.0, 0.0, -0.3))


def _ground(k: int) -> Side:
    return Side(position_m=(0.5, 0.1 * k, 0.0), rotation_rad=(0.1, 0.2, 0.3 * k))


TRUNK = Body(name="trunk", mass_kg=9.0, com_m=(0.01, 0.0, 0.03), inertia_kg_m2=(0.3, 0.35, 0.5, 0.01, 0.0, 0.02))


def as_one_module() -> System:
    """Type 1 as people build it: actuated hips inside the vehicle, unpowered feet as contacts with the ground."""
    bodies, joints = [TRUNK], []
    for k in range(LEGS):
        bodies += _bodies(k)
        at, turned = _hip(k)
        joints.append(Joint(name=f"hip{k}", parent="trunk", child=f"thigh{k}", origin_m=at, rotation_rad=turned))
        joints.append(_knee(k))
    thighs = tuple(Point(name=f"thigh{k}", body=f"thigh{k}", position_m=(0.0, 0.0, 0.0)) for k in range(LEGS))
    vehicle = Module(
        name="vehicle", dimension="spatial", base="floating", gravity_m_s2=GRAVITY, bodies=tuple(bodies),
        joints=tuple(joints), points=(*(_foot(k) for k in range(LEGS)), *thighs),
    )  # fmt: skip
    feet = [
        Contact(name=f"foot{k}", kind="hard_point", first=_ground(k), second=Side(module="vehicle", point=f"foot{k}"))
        for k in range(LEGS)
    ]
    return System([vehicle], feet)


def as_chains() -> System:
    """The same as a body and chains from the ground to it: the hip is the tip joint, its torque a known free force."""
    hips = tuple(
        Point(name=f"hip{k}", body="trunk", position_m=_hip(k)[0], rotation_rad=_hip(k)[1]) for k in range(LEGS)
    )
    trunk = Module(
        name="trunk", dimension="spatial", base="floating", gravity_m_s2=GRAVITY, bodies=(TRUNK,), points=hips
    )
    legs, contacts = [], []
    for k in range(LEGS):
        top = Point(name="top", body=f"thigh{k}", position_m=(0.0, 0.0, 0.0))
        legs.append(
            Module(
                name=f"leg{k}",
                dimension="spatial",
                base="floating",
                gravity_m_s2=GRAVITY,
                bodies=_bodies(k),
                joints=(_knee(k),),
                points=(top, _foot(k)),
            )
        )
        leg, body = Side(module=f"leg{k}", point="top"), Side(module="trunk", point=f"hip{k}")
        contacts.append(Contact(name=f"hip{k}", kind="revolute", first=body, second=leg))
        foot = Side(module=f"leg{k}", point=f"foot{k}")
        contacts.append(Contact(name=f"foot{k}", kind="hard_point", first=_ground(k), second=foot))
    return System([trunk, *legs], contacts)


@pytest.mark.slow
def test_l10_a_hip_as_joint_and_as_contact_move_the_vehicle_alike(
    monkeypatch: pytest.MonkeyPatch, claims: Claims
) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    whole, parts = as_one_module(), as_chains()
    rng = np.random.default_rng(3)
    q, u = rng.normal(size=whole.n_q), rng.normal(size=whole.n_u)
    q[3:7] /= np.linalg.norm(q[3:7])
    vehicle = interpreted(whole.modules["vehicle"])
    names = [v.name for v in vehicle.velocities]
    torque = np.zeros(whole.n_u)
    torque[6:] = rng.normal(size=2 * LEGS)
    expected = whole.contact_set().accelerate(q, u, torque).acceleration

    pose, speed, force, hip_torque = [q[:7]], [u[:6]], [np.zeros(6)], []
    for k in range(LEGS):
        thigh = vehicle.point(f"thigh{k}", q, u)
        x, y, z, w = Rotation.from_matrix(thigh.rotation).as_quat()
        knee = names.index(f"knee{k}")
        pose.append(np.array([*thigh.position, w, x, y, z, q[knee + 1]]))
        speed.append(np.array([*thigh.twist[:3], *(thigh.rotation.T @ thigh.twist[3:]), u[knee]]))
        force.append(np.array([0, 0, 0, 0, 0, 0, torque[knee]]))
        hip_torque += [torque[names.index(f"hip{k}")], 0, 0, 0]  # the foot is free to turn about three axes
    chains = parts.contact_set()
    gap, slip = chains.errors(np.concatenate(pose), np.concatenate(speed))
    hips = np.concatenate([np.arange(*chains.rows[f"hip{k}"].indices(chains.n_held)) for k in range(LEGS)])
    assert np.abs(gap[hips]).max() < 1e-12
    assert np.abs(slip[hips]).max() < 1e-12
    motion = chains.accelerate(
        np.concatenate(pose), np.concatenate(speed), np.concatenate(force), free_force=hip_torque
    ).acceleration
    scale = np.abs(expected).max()
    off = np.abs(motion[:6] - expected[:6]).max() / scale
    claims.below("Lilly-Orin L10", "trunk with hips as joints and as contacts, relative", 1e-9, off)
    knees = [expected[names.index(f"knee{k}")] for k in range(LEGS)]
    off = np.abs(motion[6:].reshape(LEGS, 7)[:, 6] - knees).max() / scale
    claims.below("Lilly-Orin L10", "knees with hips as joints and as contacts, relative", 1e-9, off)
