"""Damping and Coulomb friction of joints: closed forms, the energy that the audit accounts for, stable steps."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from granite.config import testbed
from granite.config.errors import InputError
from granite.config.joints import Joint
from granite.logs.audit import AuditVerdict
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.plant.plant import Plant
from tests.support.dense_model import Model

pytestmark = pytest.mark.usefixtures("interpreted")

INERTIA = 0.3 + 2.0 * 0.5**2  #: of the link about its joint [kg m^2]
MASS = 2.0  #: of the link [kg]
KEYS = {
    "revolute": ("damping_n_m_s", "friction_n_m", "friction_rate_rad_s", "rad"),
    "prismatic": ("damping_n_s_m", "friction_n", "friction_speed_m_s", "m"),
}


def bed(kind: str, rate: float, base: str = "fixed", step: float = 1e-3, **resistance: float) -> testbed.Testbed:
    """A link on a joint that starts at this rate."""
    damping, friction, fades, unit = KEYS[kind]
    keys = {"damping": damping, "friction": friction, "fades": fades}
    joint: dict[str, Any] = {"name": "joint", "kind": kind, "parent": "base", "child": "link"}
    joint |= {"axis": [0.0, 0.0, 1.0] if kind == "revolute" else [1.0, 0.0]}
    bodies = [
        {"name": "base", "mass_kg": 5.0, "inertia_kg_m2": 0.4},
        {"name": "link", "mass_kg": MASS, "com_m": [0.5, 0.0], "inertia_kg_m2": 0.3},
    ]
    module = {"name": "arm", "dimension": "planar", "base": base, "bodies": bodies}
    return testbed.Testbed.model_validate(
        {
            "name": "arm",
            "title": "Arm",
            "seed": 1,
            "loop": {"period_s": 10 * step, "duration_s": 2.0},
            "modules": [module | {"joints": [joint | {keys[key]: value for key, value in resistance.items()}]}],
            "simulation": {
                "physics_step_s": step,
                "initial": {f"joint_{unit}_s": rate},
                "table": {"ideal": True},
                "audit": True,
            },
        }
    )


BOTH = pytest.mark.parametrize(("kind", "inertia"), [("revolute", INERTIA), ("prismatic", MASS)])


@BOTH
@pytest.mark.parametrize("rate", [1.5, -1.5])
def test_damping_slows_a_joint_exponentially(kind: str, inertia: float, rate: float) -> None:
    plant = Plant(bed(kind, rate, damping=0.7))
    plant.advance(2.0)
    assert plant.u[0] == pytest.approx(rate * math.exp(-0.7 / inertia * 2.0), rel=1e-9)
    assert plant.q[0] == pytest.approx(rate * inertia / 0.7 * (1 - math.exp(-0.7 / inertia * 2.0)), rel=1e-9)


@BOTH
@pytest.mark.parametrize("rate", [1.5, -1.5])
def test_coulomb_friction_slows_a_joint_evenly_until_it_rests(kind: str, inertia: float, rate: float) -> None:
    plant = Plant(bed(kind, rate, friction=0.5, fades=1e-3))
    plant.advance(1.0)
    slower = 1.5 - 0.5 / inertia
    assert plant.u[0] == pytest.approx(math.copysign(slower, rate), rel=2e-6)
    # The smooth law has w + v0 log(v / (v0 + w)) = const - f t / I with w = sqrt(v^2 + v0^2).
    assert _gone(abs(plant.u[0]), 1e-3) == pytest.approx(_gone(1.5, 1e-3) - 0.5 / inertia, abs=1e-12)
    plant.advance(1.5 / 0.5 * inertia + 0.1)
    assert abs(plant.u[0]) < 1e-3


def _gone(v: float, v0: float) -> float:
    w = math.hypot(v, v0)
    return w + v0 * math.log(v / (v0 + w))


@pytest.mark.parametrize("kind", KEYS)
def test_a_joint_of_a_floating_base_gives_energy_away_and_no_momentum(kind: str) -> None:
    made = bed(kind, 1.5, "floating", damping=0.2, friction=0.1)
    log = simulate_in_memory(made)
    audit = AuditVerdict(log.bed, log.channels)
    audit.update(log.rows)
    verdict = audit.result()
    assert verdict is not None
    assert verdict["held"]
    assert verdict["checks"]["energy"]["largest"] < 1e-9
    plant, model = Plant(made), Model(made.modules[0])
    before, momentum = model.kinetic_energy(plant.q, plant.u), model.momentum(plant.q, plant.u).copy()
    plant.advance(1.0)
    assert model.kinetic_energy(plant.q, plant.u) < 0.9 * before
    assert plant.work == pytest.approx(model.kinetic_energy(plant.q, plant.u) - before, rel=1e-9)
    np.testing.assert_allclose(model.momentum(plant.q, plant.u), momentum, atol=1e-12)


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("resistance", [{"damping": 400.0}, {"friction": 4.0, "fades": 0.01}])
def test_a_step_that_is_too_long_is_refused_with_the_longest(
    kind: str, base: str, resistance: dict[str, float]
) -> None:
    made = bed(kind, 1e-4, base)
    M = Model(made.modules[0]).mass_matrix(np.zeros(len(made.positions)))
    longest = 2.785 / (400.0 * np.linalg.inv(M)[-1, -1])
    plant = Plant(bed(kind, 1e-4, base, step=0.99 * longest, **resistance))
    plant.advance(200 * longest)
    assert abs(plant.u[-1]) < 1e-4
    with pytest.raises(
        InputError,
        match=rf"damping or friction stops joint 'joint' of module 'arm' .* expected at most {longest:.3g} s, or",
    ):
        Plant(bed(kind, 1e-4, base, step=1.01 * longest, **resistance))


@pytest.mark.parametrize(("kind", "other"), [("revolute", "prismatic"), ("prismatic", "revolute")])
def test_the_units_of_the_other_kind_are_refused_by_name(kind: Any, other: str) -> None:
    for key, wrong in zip(KEYS[kind][:3], KEYS[other][:3], strict=True):
        said = rf"{wrong} = 0.5: expected {key} for a {kind} joint"
        with pytest.raises(ValidationError, match=said):
            Joint.model_validate({"name": "j", "kind": kind, "parent": "a", "child": "b", wrong: 0.5})


def test_a_stored_joint_is_read_again() -> None:
    joint = Joint(name="j", kind="prismatic", parent="a", child="b", friction_n=2.0)
    assert Joint.model_validate_json(joint.model_dump_json()) == joint


def test_the_joints_of_the_document_are_joints() -> None:
    document = (Path(__file__).parents[2] / "docs" / "testbeds.md").read_text()
    [written] = re.findall(r"```toml\n(joints = \[\n.*?)```", document, re.DOTALL)
    hip, slide = (Joint.model_validate(table) for table in tomllib.loads(written)["joints"])
    assert hip.resistance == (0.02, 0.05, 0.01)
    assert slide.resistance == (1.0, 0.5, 0.001)
