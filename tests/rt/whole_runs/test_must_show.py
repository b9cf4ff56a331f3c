"""What the free-flyers must show: exact control where nothing disturbs it, the report's dead band, arrival."""

from functools import cache

import numpy as np
import pytest

from granite.config.loader import load
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.quick_cases import quick

ARM, BASE = ("shoulder", "elbow"), ("base_x", "base_y")
PERFECT_SENSORS = (
    "devices.joint_sensors.simulated.perfect=true",
    "devices.vision.simulated.perfect=true",
    "simulation.table.ideal=true",
)


@cache
def errors(bed: str, *changes: str) -> dict[str, dict[str, float]]:
    """Tracking errors by coordinate, against the truth, of a run that went to its end."""
    testbed = load(bed, changes)
    log = simulate_in_memory(testbed)
    assert log.summary is not None
    assert log.summary["ended"] == "completed"
    assert log.summary["measured_against"] == "truth"
    return log.summary["tracking_error"]


def inertia_about_root(bed) -> float:
    """Of the planar vehicle with its joints locked where the move ends, about the root's origin [kg m2]."""
    (robot,) = bed.modules
    target = bed.behaviour.waypoints[-1].target
    joint_to = {joint.child: joint for joint in robot.joints}
    place = {robot.root.name: (np.zeros(2), 0.0)}
    total = 0.0
    for body in robot.in_tree_order():
        if body.name in joint_to:
            joint = joint_to[body.name]
            origin, angle = place[joint.parent]
            origin = origin + turned(joint.origin_m, angle)
            place[body.name] = origin, angle + target[f"{joint.name}_rad"]
        origin, angle = place[body.name]
        centre = origin + turned(body.com_m, angle)
        total += body.inertia_kg_m2 + body.mass_kg * centre @ centre
    return total


def turned(vector, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ np.array(vector[:2])


@pytest.mark.parametrize("bed", quick(["free-flyer/ideal", "two-arm-free-flyer/ideal"], "free-flyer/ideal"))
def test_the_ideal_vehicle_follows_its_path_to_a_tenth_of_a_millimetre(bed: str):
    assert max(error["max"] for error in errors(bed).values()) < 1e-4


@pytest.mark.slow
def test_the_valve_law_of_the_report_leaves_the_base_in_its_dead_band():
    bed = load("free-flyer/report-1987")
    sizes = errors("free-flyer/report-1987", *PERFECT_SENSORS)
    unit = bed.thrusters[0]
    threshold = bed.controller.allocation.modulation.threshold * unit.thrust_n
    mass = sum(body.mass_kg for body in bed.modules[0].bodies)
    stiffness, _ = bed.control.law.gain("base_x", False)
    assert bed.control.law.gain("base_heading", False)[0] == stiffness
    # Two thrusters share a force, four a moment, and none opens below its threshold (Stanford report, 4.4).
    band = 2 * threshold / (mass * stiffness)
    assert band == pytest.approx(0.028, abs=5e-4)
    for name in BASE:
        assert 0.75 * band < sizes[name]["max_in_last_5_s"] < 1.25 * band
    moment = 4 * unit.position_m[0] * threshold
    heading = moment / (inertia_about_root(bed) * stiffness)
    assert 0.01 < sizes["base_heading"]["max_in_last_5_s"] <= heading


@pytest.mark.slow
def test_valves_do_not_shake_the_arm_when_the_torques_know_what_they_deliver():
    frictionless = [f"modules.vehicle.joints.{joint}.friction_n_m=0" for joint in ARM]
    knowing = errors("free-flyer/report-1987", *PERFECT_SENSORS, *frictionless)
    plain = errors("free-flyer/report-1987", *PERFECT_SENSORS, *frictionless, "controller.resolve_delivered=false")
    for joint in ARM:
        assert knowing[joint]["max"] < 1e-3
        assert plain[joint]["max"] > 50 * knowing[joint]["max"]


@pytest.mark.parametrize("bed", ["free-flyer", "two-arm-free-flyer"])
def test_the_vehicle_arrives_within_two_millimetres_with_all_effects_of_the_lab(bed: str):
    limits = {"base_x": 2e-3, "base_y": 2e-3, "base_heading": 2e-3}
    for name, error in errors(bed).items():
        assert error["max_in_last_5_s"] < limits.get(name, 5e-3), name


@pytest.mark.slow
@pytest.mark.parametrize("bed", ["free-flyer/report-1987", "two-arm-free-flyer/report-1987"])
def test_the_valve_law_of_the_report_arrives_in_its_dead_band(bed: str):
    limits = {"base_x": 0.05, "base_y": 0.05, "base_heading": 0.12}
    for name, error in errors(bed).items():
        assert error["max_in_last_5_s"] < limits.get(name, 5e-3), name
