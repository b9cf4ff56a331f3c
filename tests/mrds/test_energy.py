"""Energy goes where power takes it, and momentum where forces from outside do: along trajectories, by differences."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.config.modules import Module
from granite.kernels.kernel import Array
from granite.mrds.energy import Energy
from granite.mrds.system import System
from tests.peers.interpreted import interpreted
from tests.peers.random_trees import random_module, random_state
from tests.support.flexible_arms import bent_state, flexible, planar_arm, spatial_robot
from tests.support.four_bar import COUPLER, COUPLER_MASS, CRANK, CRANK_MASS, GRAVITY, at_angle, four_bar

pytestmark = pytest.mark.usefixtures("interpreted")

#: of the differences [s]
STEP = 1e-6


def damped_pair() -> tuple[System, Array, Array]:
    """A flexible arm on the ground, placed askew, damped, that holds a floating damped link; in gravity."""
    more = {"gravity_m_s2": [1.0, -3.0]}
    arm = planar_arm(
        [flexible(1.0, 2, damping_ratio=0.03), flexible(0.5, 2)], "arm", placement_m=[0.4, -0.7],
        placement_rad=[0.0, 0.0, 0.6], **more,
    )  # fmt: skip
    link = flexible(0.8, 2, material_damping_s=1e-3, tip_mass_kg=0.3)
    foot = {"name": "foot", "body": "link", "position_m": [0.0, 0.0]}
    content = {"dimension": "planar", "base": "floating", "bodies": [{"name": "link", "flexible": link}], **more}
    loose = Module.model_validate({"name": "loose", **content, "points": [foot]})
    sides = Side(module="arm", point="tip"), Side(module="loose", point="foot")
    system = System([arm, loose], [Contact(name="hold", kind="revolute", first=sides[0], second=sides[1])])
    states = [bent_state(interpreted(m), 3) for m in (arm, loose)]
    q, u = (np.concatenate([s[i] for s in states]) for i in (0, 1))
    return system, *system.contact_set().project(q, 0.3 * u)


def floating_pair() -> tuple[System, Array, Array]:
    """A flexible robot in space and a rigid one, joined, both floating and falling."""
    robot = spatial_robot(gravity_m_s2=[1.0, -2.0, 3.0])
    load = random_module(4, "spatial", "floating", 1).model_copy(update={"gravity_m_s2": (1.0, -2.0, 3.0)})
    sides = Side(module=robot.name, point="tip"), Side(module=load.name, point="point0")
    system = System([robot, load], [Contact(name="hold", kind="revolute", first=sides[0], second=sides[1])])
    first, second = bent_state(interpreted(robot), 3), random_state(load, np.random.default_rng(1))
    q, u = np.concatenate([first[0], second.q]), np.concatenate([first[1], second.u])
    return system, *system.contact_set().project(q, 0.2 * u)


@pytest.mark.parametrize("make", [damped_pair, floating_pair])
def test_energy_changes_by_the_power_of_forces_less_the_dissipation(make) -> None:
    system, q, u = make()
    closed, audit = system.contact_set(), Energy(list(system.modules.values()))
    force = np.random.default_rng(5).normal(size=len(u))
    for _ in range(5):
        there, back = (closed.rk4(q, u, force, s * STEP) for s in (1, -1))
        rate = (audit.balance(*there).energy - audit.balance(*back).energy) / (2 * STEP)
        assert rate == pytest.approx(force @ u - audit.balance(q, u).dissipation, rel=1e-6, abs=1e-6)
        for _ in range(20):
            q, u = closed.rk4(q, u, force, 1e-3, project=True)


def test_damping_takes_energy_and_an_undamped_system_none() -> None:
    system, q, u = damped_pair()
    assert Energy(list(system.modules.values())).balance(q, u).dissipation > 1e-3
    system, q, u = floating_pair()
    assert Energy(list(system.modules.values())).balance(q, u).dissipation == 0


def test_momentum_changes_by_weight_alone() -> None:
    """p' = m g and L' = c x m g, whatever motors, joints and contacts do inside."""
    system, q, u = floating_pair()
    closed, audit = system.contact_set(), Energy(list(system.modules.values()))
    inside = np.random.default_rng(6).normal(size=len(u))
    n = len(interpreted(system.modules["flexible_robot"]).velocities)
    inside[[*range(6), *range(n, n + 6)]] = 0.0
    there, back = (closed.rk4(q, u, inside, s * STEP) for s in (1, -1))
    after, before = (audit.balance(*x) for x in (there, back))
    mass, moment = 0.0, np.zeros(3)
    parts = np.split(q, [n + 1])
    for part, module in zip(parts, system.modules.values(), strict=True):
        flexible_mass = [b.flexible.line_density_kg_m * b.flexible.length_m + b.flexible.tip_mass_kg
                         for b in module.bodies if b.flexible]  # fmt: skip
        weight = sum(b.mass_kg for b in module.bodies) + sum(flexible_mass)
        model = interpreted(module)
        mass, moment = mass + weight, moment + weight * model.centre_of_mass(part, np.zeros(model.n_u))[0]
    g = np.array([1.0, -2.0, 3.0])
    assert (after.momentum - before.momentum) / (2 * STEP) == pytest.approx(mass * g, rel=1e-6)
    turned = (after.angular_momentum - before.angular_momentum) / (2 * STEP)
    assert turned == pytest.approx(np.cross(moment, g), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("dimension", ["planar", "spatial"])
def test_a_linkage_on_placed_bases_has_the_energies_of_its_rods(dimension: str) -> None:
    angle, rate = -1.0, 0.8
    q = at_angle(dimension, angle)
    u = np.zeros(len(q) - (dimension == "spatial"))
    u[:4] = rate, rate, -rate * q[3], rate * q[2]
    balance = Energy(list(four_bar(dimension).modules.values())).balance(q, u)
    inertia = (2 * CRANK_MASS / 3 + COUPLER_MASS) * CRANK**2
    assert balance.kinetic == pytest.approx(inertia * rate**2 / 2, rel=1e-12)
    height = CRANK * np.sin(angle)
    assert balance.gravity == pytest.approx(GRAVITY * (CRANK_MASS + COUPLER_MASS) * height, rel=1e-12)
    assert balance.strain == balance.dissipation == 0
    assert balance.momentum == pytest.approx((CRANK_MASS + COUPLER_MASS) * np.array([u[2], u[3], 0.0]), rel=1e-12)
    # The cranks about their pivots, the right one with its pivot's arm, and the coupler, which does not turn.
    angular = 2 * CRANK_MASS * CRANK**2 / 3 * rate + COUPLER * CRANK_MASS * u[3] / 2
    angular += COUPLER_MASS * ((q[2] + COUPLER / 2) * u[3] - q[3] * u[2])
    assert balance.angular_momentum == pytest.approx([0.0, 0.0, angular], rel=1e-12)


def test_gravity_and_strain_are_the_potential_energy_of_the_model() -> None:
    system, q, u = floating_pair()
    balance = Energy(list(system.modules.values())).balance(q, u)
    n = len(interpreted(system.modules["flexible_robot"]).positions)
    models = [interpreted(m) for m in system.modules.values()]
    parts = list(zip(models, (q[:n], q[n:]), (u[: n - 1], u[n - 1 :]), strict=True))
    assert balance.strain > 0
    assert balance.gravity + balance.strain == pytest.approx(sum(m.potential_energy(x) for m, x, _ in parts), rel=1e-12)
    assert balance.kinetic == pytest.approx(sum(m.kinetic_energy(x, v) for m, x, v in parts), rel=1e-12)
    both = np.concatenate([balance.momentum, balance.angular_momentum])
    assert both == pytest.approx(sum(m.momentum(x, v).copy() for m, x, v in parts), rel=1e-12)
