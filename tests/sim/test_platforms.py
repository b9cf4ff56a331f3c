"""The presets of known platforms: what their sources print, that their thrusters can push every way, and arrival."""

import numpy as np
import pytest

from granite.config.loader import load, presets
from granite.config.parts import PartTable
from granite.controllers.thrusters.contract import ThrusterSet
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.controllers.thrusters.least_propellant import LeastPropellant
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.quick_cases import quick

#: the source that the note must name
SOURCES = {
    "atmos": "Towards Open-Source and Modular Space Systems with ATMOS",
    "stanford-free-flyer": "Trajectory Optimization for Dynamic Grasping in Space using Adhesive Grippers",
    "spot": "Carleton-SRCL/SPOT",
    "astrobee": "Astrobee: A New Platform for Free-Flying Robotics",
}
#: total mass [kg] and inertia of the body or bodies on the base's axis [kg m2], as published
PUBLISHED = {
    "atmos": (17.8, 0.315),
    "stanford-free-flyer": (16.0, 0.18),
    "spot": (11.297, 0.198),
    "spot/black": (11.362, 0.200),
    "spot/blue": (10.826, 0.196),
    "astrobee": (18.9715, 0.2517),
}
PLATFORMS = [
    bed
    for p in presets()
    if p.name in SOURCES
    for bed in (p.name, *(f"{p.name}/{variant}" for variant, _ in p.variants))
]
#: the slope of this floor pushes, and no part of the controllers finds out
WIDER = {"atmos/rough-floor": 0.05, "astrobee/harsh": 0.01}
#: a platform and a variant that arrives in another way
QUICK = ("atmos", "atmos/rough-floor")


@pytest.mark.parametrize("name", SOURCES)
def test_a_platform_notes_its_source_and_what_is_ours(name: str) -> None:
    note = " ".join(load(name).note.split())
    assert SOURCES[name] in note
    assert "Ours: " in note
    assert max(map(len, load(name).note.splitlines())) <= 120


@pytest.mark.parametrize(("bed", "mass", "inertia"), [(bed, *numbers) for bed, numbers in PUBLISHED.items()])
def test_a_platform_has_the_published_mass_and_inertia(bed: str, mass: float, inertia: float) -> None:
    bodies = load(bed).module("vehicle").bodies
    assert sum(b.mass_kg for b in bodies) == pytest.approx(mass)
    assert sum(b.inertia_kg_m2 for b in bodies) == pytest.approx(inertia, rel=3e-3)


@pytest.mark.parametrize("bed", PLATFORMS)
def test_thrusters_push_both_ways_along_x_and_y_and_about_z(bed: str) -> None:
    thrusters = load(bed).devices["thrusters"]
    matrix, available = thruster_matrix(thrusters, "planar"), available_thrust(thrusters)
    given = ThrusterSet(matrix, available, np.array([1.0, 1.0, 8.0]), thrusters.valve, 0.01)
    sharing = LeastPropellant(PartTable(kind="least_propellant"), given)
    for axis in range(3):
        for sign in (-1.0, 1.0):
            wrench = np.zeros(3)
            wrench[axis] = sign * (0.1 * available.max() if axis < 2 else 0.01 * available.max())
            np.testing.assert_allclose(matrix @ sharing.share(wrench), wrench, atol=1e-6)


@pytest.mark.parametrize("bed", PLATFORMS)
def test_the_outline_holds_mass_centre_and_thrusters(bed: str) -> None:
    testbed = load(bed)
    root = testbed.module("vehicle").root
    corners = np.array(root.outline_m)
    inside = [root.com_m, *(unit.position_m for unit in testbed.thrusters)]
    for x, y in inside:
        assert np.all(corners.min(axis=0) <= (x, y))
        assert np.all((x, y) <= corners.max(axis=0))


def test_the_wheel_of_the_stanford_free_flyer_takes_up_the_angular_momentum_of_its_turn() -> None:
    bed = load("stanford-free-flyer")
    target = bed.behaviour.waypoints[0].target
    base, rotor = (body.inertia_kg_m2 for body in bed.module("vehicle").bodies)
    turned = (base + rotor) * target["base_heading_rad"] + rotor * target["wheel_rad"]
    assert turned == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("bed", quick(PLATFORMS, *QUICK))
def test_a_platform_arrives_within_millimetres_and_clamps_no_torque(bed: str) -> None:
    testbed = load(bed)
    summary = simulate_in_memory(testbed).summary
    assert summary is not None
    assert summary["ended"] == "completed"
    assert summary["guard"].keys() <= {"passed", "waiting_for_sensors"}
    for name, error in summary["tracking_error"].items():
        assert error["max_in_last_5_s"] < WIDER.get(bed, 4e-3), name
