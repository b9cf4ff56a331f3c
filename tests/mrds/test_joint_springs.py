"""Springs in joints: frequencies in closed form, energy, MuJoCo as a referee, and a flexible joint without inertia."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from granite.config.modules import Module
from granite.mrds.energy import Energy
from granite.mrds.system import System
from granite.mrds.vibration_modes import modes
from tests.peers.interpreted import interpreted

pytestmark = pytest.mark.usefixtures("interpreted")

ROTOR, LINK, SPRING = 0.04, 0.3, 25.0


def flexible_joint(rotor: float = ROTOR, **spring: Any) -> Module:
    """A motor whose rotor drives a link through a spring: two joints about one axis."""
    spring = {"stiffness_n_m_rad": SPRING} | spring
    bodies = [
        {"name": "ground", "mass_kg": 1.0, "inertia_kg_m2": 1.0},
        {"name": "rotor", "mass_kg": 1.0 if rotor else 0.0, "inertia_kg_m2": rotor},
        {"name": "link", "mass_kg": 2.0, "com_m": [0.2, 0.0], "inertia_kg_m2": LINK - 2.0 * 0.2**2},
    ]
    joints = [
        {"name": "motor", "parent": "ground", "child": "rotor"},
        {"name": "spring", "parent": "rotor", "child": "link", **spring},
    ]
    content = {"name": "arm", "dimension": "planar", "base": "fixed", "bodies": bodies, "joints": joints}
    return Module.model_validate(content)


def test_rotor_and_link_vibrate_against_each_other_as_in_the_closed_form() -> None:
    """w^2 = k (1/J + 1/I)."""
    vibrations = [mode for mode in modes(System([flexible_joint()]).contact_set(), np.zeros(2)) if not mode.rigid]
    expected = math.sqrt(SPRING * (1 / ROTOR + 1 / LINK)) / (2 * math.pi)
    assert [mode.frequency for mode in vibrations] == pytest.approx([expected], rel=1e-9)


def test_power_of_the_spring_is_the_change_of_its_energy() -> None:
    module = flexible_joint(slack_rad=0.3)
    model, energy = interpreted(module), Energy([module])
    q, u = np.array([0.4, -0.2]), np.array([0.7, 1.1])
    h, none = 1e-6, np.zeros(2)
    rates = [energy.balance(q + s * h * u, u).strain for s in (1, -1)]
    assert (rates[0] - rates[1]) / (2 * h) == pytest.approx(model.bias(q, none)[1] * u[1], rel=1e-7)
    assert energy.balance(q, none).strain == pytest.approx(SPRING * 0.5**2 / 2)
    assert model.potential_energy(q) == pytest.approx(SPRING * 0.5**2 / 2)


def test_mujoco_accelerates_a_flexible_joint_in_the_same_way() -> None:
    mujoco = pytest.importorskip("mujoco")
    xml = f"""<mujoco><option gravity="0 0 0"/><worldbody><body>
      <joint name="motor" type="hinge" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1" diaginertia="{ROTOR} {ROTOR} {ROTOR}"/>
      <body><joint name="spring" type="hinge" axis="0 0 1" stiffness="{SPRING}" springref="{math.degrees(0.3)}"/>
      <inertial pos="0.2 0 0" mass="2" diaginertia="0.3 0.3 {LINK - 2.0 * 0.2**2}"/></body></body>
      </worldbody></mujoco>"""
    other = mujoco.MjModel.from_xml_string(xml)
    data, model = mujoco.MjData(other), interpreted(flexible_joint(slack_rad=0.3))
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, u, force = rng.normal(size=2), rng.normal(size=2), rng.normal(size=2)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, u, force
        mujoco.mj_forward(other, data)
        assert model.forward_dynamics(q, u, force) == pytest.approx(data.qacc, rel=1e-9, abs=1e-9)


def test_a_stiffness_without_inertia_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="can move without moving a mass, expected mass that resists every motion"):
        flexible_joint(rotor=0.0)


def test_a_spring_has_the_units_of_its_joint() -> None:
    with pytest.raises(ValueError, match="expected stiffness_n_m_rad for a revolute joint"):
        flexible_joint(stiffness_n_m_rad=0.0, stiffness_n_m=4.0)
