"""Damping and friction of joints: closed forms, rest, the energy that the audit accounts for, stable steps."""

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


def bed(
    kind: str,
    rate: float,
    base: str = "fixed",
    step: float = 1e-3,
    table: dict[str, Any] | None = None,
    seed: int = 1,
    **resistance: float,
) -> testbed.Testbed:
    """A link on a joint that starts at this rate, with this table of the joints' friction."""
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
            "seed": seed,
            "loop": {"period_s": 10 * step, "duration_s": 2.0},
            "modules": [module | {"joints": [joint | {keys[key]: value for key, value in resistance.items()}]}],
            "simulation": {
                "physics_step_s": step,
                "initial": {f"joint_{unit}_s": rate},
                "table": {"ideal": True},
                "joint_friction": table or {},
                "events": [{"kind": "push", "at_s": 1e3, "duration_s": 1.0, "body": "link"}],
                "audit": True,
            },
        }
    )


def load(kind: str, plant: Plant, of_joint: float) -> None:
    """A force on the joint of a fixed base from now on."""
    plant.pushes = np.array([0.0, 0.0, 0.0, of_joint] if kind == "revolute" else [of_joint, 0.0, 0.0, 0.0])


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


STICKS = {"sticks": True, "static_ratio": 1.5, "presliding_rad": 1e-3, "presliding_m": 1e-3}


def ramp(kind: str, plant: Plant, first: float, last: float, duration: float) -> None:
    """Change the load slowly, so that the joint does not swing on its bristles."""
    start, steps = plant.t, round(duration / 0.005)
    for k in range(1, steps + 1):
        load(kind, plant, first + (last - first) * k / steps)
        plant.advance(start + duration * k / steps)


@BOTH
def test_a_joint_that_sticks_rests_on_its_bristles_and_returns(kind: str, inertia: float) -> None:
    plant = Plant(bed(kind, 0.0, table=STICKS, friction=0.5))
    ramp(kind, plant, 0.0, 0.6 * 0.5, 2.0)
    plant.advance(8.0)
    # Stiffness is friction by presliding displacement, so the load deflects it by its part of the friction.
    assert plant.q[0] == pytest.approx(0.6e-3, rel=1e-6)
    ramp(kind, plant, 0.6 * 0.5, 0.0, 2.0)
    plant.advance(16.0)
    assert abs(plant.q[0]) < 1e-9


@BOTH
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_joint_breaks_away_at_static_friction_and_slides_against_coulomb_friction(
    kind: str, inertia: float, direction: float
) -> None:
    plant = Plant(bed(kind, 0.0, table=STICKS, friction=0.5, fades=1e-2))
    static = direction * 1.5 * 0.5
    ramp(kind, plant, 0.0, 0.9 * static, 3.0)
    plant.advance(8.0)
    assert abs(plant.u[0]) < 1e-6
    assert abs(plant.q[0]) < 4e-3
    ramp(kind, plant, 0.9 * static, 1.05 * static, 1.0)
    plant.advance(10.0)
    before = plant.u[0]
    plant.advance(10.5)
    assert before * direction > 0.1
    assert (plant.u[0] - before) / 0.5 == pytest.approx((1.05 - 1 / 1.5) * static / inertia, rel=1e-6)


@BOTH
def test_a_joint_that_sticks_does_not_drift_under_a_load_that_changes(kind: str, inertia: float) -> None:
    plant = Plant(bed(kind, 0.0, table=STICKS, friction=0.5))
    ramp(kind, plant, 0.0, 0.5 * 0.3, 1.0)
    plant.advance(3.0)
    angles = []
    for k in range(2000):
        load(kind, plant, 0.5 * (0.3 + 0.25 * math.sin(2 * math.pi * k / 200)))
        plant.advance(3 + (k + 1) / 200)
        angles.append(plant.q[0])
    cycles = np.array(angles).reshape(10, 200)
    np.testing.assert_allclose(cycles[4:].mean(axis=1), 0.3e-3, rtol=1e-4)
    assert np.ptp(cycles[4:]) > 0.5e-3


@BOTH
@pytest.mark.parametrize("sticks", [True, False])
def test_the_seed_draws_how_wrong_the_friction_is_and_in_which_direction(
    kind: str, inertia: float, sticks: bool
) -> None:
    def friction(seed: int, rate: float, spread: float, asymmetry: float) -> float:
        """Measured by the deceleration while it slides."""
        table = {"sticks": sticks, "presliding_m": 1e-3, "spread": spread, "asymmetry": asymmetry}
        plant = Plant(bed(kind, rate, table=table, seed=seed, friction=0.3, fades=1e-3))
        plant.advance(0.1)
        before = plant.u[0]
        plant.advance(0.3)
        return float(abs(plant.u[0] - before) / 0.2 * inertia / 0.3)

    assert friction(1, 1.5, 0.0, 0.0) == pytest.approx(1.0, rel=1e-5)
    drawn = [friction(seed, 1.5, 0.4, 0.0) for seed in range(8)]
    assert 0.6 <= min(drawn) < 0.9
    assert 1.1 < max(drawn) <= 1.4
    for seed in range(4):
        forth, back = (friction(seed, rate, 0.0, 0.4) for rate in (1.5, -1.5))
        assert (forth + back) / 2 == pytest.approx(1.0, rel=1e-5)
        assert 0.01 < abs(forth - back) / 2 <= 0.4


def test_a_fast_joint_slides_against_its_friction_only() -> None:
    plant = Plant(bed("revolute", 300.0, table={"sticks": True}, friction=0.5, fades=1e-3))
    plant.advance(1.0)
    before = plant.u[0]
    plant.advance(2.0)
    assert before - plant.u[0] == pytest.approx(0.5 / INERTIA, rel=1e-9)


def test_a_sliding_joint_comes_to_rest_and_stays() -> None:
    made = bed("revolute", 0.5, table=STICKS, friction=0.5)
    log = simulate_in_memory(made)
    audit = AuditVerdict(log.bed, log.channels)
    audit.update(log.rows)
    verdict = audit.result()
    assert verdict is not None
    assert verdict["checks"]["energy"]["largest"] < 1e-6
    plant = Plant(made)
    plant.advance(5.0)
    assert abs(plant.u[0]) < 1e-9
    rest = plant.q[0]
    plant.advance(10.0)
    assert plant.q[0] == pytest.approx(rest, abs=1e-9)
    # All its energy is gone with the friction of the path, but for Stribeck's part close to rest and the bristles.
    assert rest == pytest.approx(0.5 * INERTIA * 0.5**2 / 0.5, rel=0.02)


@pytest.mark.parametrize("part", [0.6, -0.85])
def test_a_joint_under_a_load_below_break_away_does_not_move_for_minutes(part: float) -> None:
    """No creep at all: Coulomb friction that fades out would turn it by 0.5 rad."""
    plant = Plant(bed("revolute", 0.0, table=STICKS, friction=0.5, fades=1e-2))
    ramp("revolute", plant, 0.0, part * 1.5 * 0.5, 2.0)
    plant.advance(20.0)
    rest = plant.q[0]
    plant.advance(200.0)
    assert abs(plant.q[0] - rest) < 1e-12
    assert abs(rest) < 3e-3


@pytest.mark.parametrize(
    "table", [STICKS, STICKS | {"asymmetry": 0.5, "spread": 0.5}, {}], ids=["sticks", "leans", "fades"]
)
def test_friction_never_gives_energy(table: dict[str, Any]) -> None:
    """Under a load that jumps at random, friction has never given more than it took, though bristles are springs."""
    plant, rng = Plant(bed("revolute", 0.0, table=table, friction=0.5, fades=1e-2)), np.random.default_rng(3)
    given, friction = 0.0, []
    for k in range(1500):
        torque, before = rng.uniform(-2, 2) if k % 3 == 0 else 0.0, plant.q[0]
        load("revolute", plant, torque)
        plant.advance((k + 1) / 100)
        given += torque * (plant.q[0] - before)
        friction.append(plant.work - given)
    assert max(friction) < 1e-7
    assert min(friction) < -0.02


def test_static_friction_needs_joints_that_stick() -> None:
    with pytest.raises(ValidationError, match=r"static_ratio = 1\.5: joints do not stick, expected sticks = true"):
        bed("revolute", 0.0, table={"static_ratio": 1.5})


@pytest.mark.parametrize("kind", KEYS)
def test_bristles_that_are_too_stiff_for_the_step_are_refused(kind: str) -> None:
    table = {"sticks": True, "presliding_rad": 1e-4, "presliding_m": 1e-4, "presliding_damping_s": 0.0}
    made = bed(kind, 0.0, table=table)
    M = Model(made.modules[0]).mass_matrix(np.zeros(len(made.positions)))
    longest = 2.785 / math.sqrt(0.5 / 1e-4 * np.linalg.inv(M)[-1, -1])
    plant = Plant(bed(kind, 1e-4, step=0.99 * longest, table=table, friction=0.5))
    plant.advance(200 * longest)
    assert abs(plant.u[0]) < 1e-2
    with pytest.raises(
        InputError, match=rf"at most {longest:.3g} s, or .*, or more simulation.joint_friction.presliding"
    ):
        Plant(bed(kind, 1e-4, step=1.01 * longest, table=table, friction=0.5))


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
