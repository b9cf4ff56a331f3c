"""Sun 1996, Examples 3.1 to 5.6, from runs of the presets under the product's own loop (tests 17, 20, 21, 23, 25)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.controllers.distribution.stability import Stability, joints_held, tips_led_by_torque, tips_led_from_outside
from granite.controllers.laws.carrying import arm_grips, carried_object
from granite.controllers.laws.flexible_grasp import arms_at
from granite.controllers.model import ControlModel
from granite.controllers.stack import build_stack
from granite.rt.run_in_memory import simulate_in_memory
from tests.validation.claims import Claims

JOINTS = ("base", "elbow", "wrist")


@cache
def flown(name: str) -> Any:
    """The log of a whole run."""
    log = simulate_in_memory(load(name))
    assert log.summary["ended"] == "completed", log.summary["text"]
    assert set(log.summary["guard"]) <= {"passed", "waiting_for_sensors"}, "no torque was clamped"
    return log


def peaks(name: str, side: str) -> list[float]:
    """Largest torque of base, elbow and wrist [N m]."""
    applied = flown(name).summary["applied"]
    return [applied[f"motors_{side}_{joint}_torque"]["max"] for joint in JOINTS]


def turned(name: str, bound: float) -> None:
    assert flown(name).summary["tracking_error"]["object_bar_heading"]["max"] < bound


@pytest.mark.slow
def test_sun20_the_preset_gives_table_5_2(claims: Claims) -> None:
    left, right = peaks("sun-planar", "left"), peaks("sun-planar", "right")
    for joint, expected, *got in zip(JOINTS, (13.5, 3.14, 1.37), left, right, strict=True):
        what = f"granite sim sun-planar, Table 5.2: largest torque, {joint}"
        claims.near("Sun 20", what, expected, max(got), 0.02, "N m")
    for joint, expected in zip(JOINTS, (9.0, 7.9, 13.9), strict=True):
        size = flown("sun-planar").summary["applied"][f"motors_left_{joint}_torque"]
        what = f"the same in % of the limit, {joint}"
        claims.near("Sun 20", what, expected, 100 * size["max"] / size["limit"], 0.02, "%")
    turned("sun-planar", 1e-3)


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("example-5-2", (4.65, 3.71, 7.13)),
        pytest.param("example-5-1", (24.2, 4.31, 1.14), marks=pytest.mark.slow),
    ],
)
def test_sun21_the_presets_give_the_torques_of_other_objectives(
    example: str, expected: tuple[float, ...], claims: Claims
) -> None:
    for joint, value, got in zip(JOINTS, expected, peaks(f"sun-planar/{example}", "left"), strict=True):
        what = f"granite sim sun-planar/{example}: largest torque, {joint}"
        claims.near("Sun 21", what, value, got, 0.01, "N m")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ffr-o-rrr", "frr-o-rrr", "rfr-o-rrr", "example-3-2"])
def test_sun23_a_flexible_arm_is_led_by_its_tip(name: str, claims: Claims) -> None:
    """Examples 3.2, 4.2 and 5.3."""
    bed = f"sun-planar/{name}"
    ratio = max(peaks(bed, "left")) / max(peaks(bed, "right"))
    what = f"granite sim {bed}: torques of the flexible arm over those of the rigid one"
    claims.below("Sun 23", what, 1e-6, ratio)
    off = max(flown(bed).summary["tracking_error"][f"object_bar_{c}"]["max"] for c in ("x", "y", "heading"))
    claims.below("Sun 23", f"granite sim {bed}: bar off its path", 1e-4, off, "m, rad")
    loads = flown(bed).summary["contacts"]
    left, right = (loads[f"{side}_grasp"]["force"]["max"] for side in ("left", "right"))
    claims.near(
        "Sun 23", f"granite sim {bed}: force of the left grasp, by that of the right one", right, left, 0.02, "N"
    )


@pytest.mark.slow
def test_sun25_least_elastic_acceleration_is_stable_for_a_short_time(claims: Claims) -> None:
    """Example 5.4: bounded over 2 s; its torques of the rigid arm are those of the arm that leads (45 N m)."""
    turned("sun-planar/example-5-4", 1e-4)
    strain = flown("sun-planar/example-5-4").summary["energy"]["largest_elastic_j"]
    claims.below("Sun 25", "granite sim sun-planar/example-5-4: largest strain energy", 1e-3, strain, "J")


@pytest.mark.slow
def test_sun17_the_stabilising_law_turns_the_bar_by_the_rigid_arm(claims: Claims) -> None:
    """Example 6.1 without stretch: the rigid arm's motors do most of the work."""
    bed = "sun-planar/example-6-1"
    off = max(flown(bed).summary["tracking_error"][f"object_bar_{c}"]["max"] for c in ("x", "y", "heading"))
    claims.below("Sun 17", f"granite sim {bed}: bar off its path", 1e-4, off, "m, rad")
    assert all(rigid > flexible for rigid, flexible in zip(peaks(bed, "right"), peaks(bed, "left"), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["joint_load_sharing", "torque_norm", "least_internal_force"])
def test_two_flexible_arms_turn_the_bar(objective: str) -> None:
    log = simulate_in_memory(load("sun-planar/frr-o-rrf", {"controller.law.distribution.objective": [objective]}))
    assert log.summary["ended"] == "completed", log.summary["text"]
    assert set(log.summary["guard"]) <= {"passed", "waiting_for_sensors"}, "no torque was clamped"
    assert max(error["max"] for error in log.summary["tracking_error"].values()) < 5e-4


@pytest.mark.slow
@pytest.mark.parametrize("links", ["frr", "rfr", "ffr"])
def test_sun15_least_torque_of_an_arm_and_strain_energy_turn_the_bar(links: str, claims: Claims) -> None:
    """Table 6.4, row 4: no more strain than under the first alone, which bends the link by its own inertia."""
    bed = f"sun-planar/table-6-4-{links}"
    off = max(flown(bed).summary["tracking_error"][f"object_bar_{c}"]["max"] for c in ("x", "y", "heading"))
    claims.below("Sun 15", f"granite sim {bed}: bar off its path", 1e-4, off, "m, rad")
    alone = flown(f"sun-planar/{links}-o-rrr").summary["energy"]["largest_elastic_j"]
    strain = flown(bed).summary["energy"]["largest_elastic_j"]
    what = f"granite sim {bed}: largest strain energy over that of the passive arm"
    claims.below("Sun 15", what, 0.1 if links != "ffr" else 1.1, strain / alone)


@pytest.mark.slow
@pytest.mark.parametrize("example", ["ex5-5", "ex5-6"])
def test_sun25_least_strain_energy_in_space(example: str, claims: Claims) -> None:
    """Examples 5.5 and 5.6: less than 3e-4 J in his arms, whose drawings are lost."""
    summary = flown(f"spatial-dual-arm/{example}").summary
    what = f"granite sim spatial-dual-arm/{example}: largest strain energy, in space"
    claims.below("Sun 25", what, 3e-4, summary["energy"]["largest_elastic_j"], "J")
    off = max(summary["tracking_error"][f"object_bar_{c}"]["max"] for c in "xyz")
    claims.below("Sun 25", f"granite sim spatial-dual-arm/{example}: bar off its path", 1e-3, off, "m")


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("objective", ["least_internal_force", "torque_norm", "joint_load_sharing"])
def test_sun24_an_arm_that_leads_its_own_tip_is_refused_before_it_moves(objective: str, claims: Claims) -> None:
    """Example 3.1 and the first half of Example 5.3."""
    bed = load("sun-planar/example-3-2", {"controller.law.distribution.objective": [objective]})
    with pytest.raises(InputError, match=r"elastic motion grows by") as refusal:
        build_stack(bed)
    growth = float(str(refusal.value).split("grows by ")[1].split()[0])
    claims.above("Sun 24", f"{objective}, sun-planar/example-3-2 is refused: growth", 100.0, growth, "1/s")


@pytest.mark.usefixtures("interpreted")
def test_sun17_the_link_of_example_6_1_has_its_eigenvalues(claims: Claims) -> None:
    """RFR with one cubic element and stretch, from the modules of the testbed."""
    link = "modules.left.bodies.link2.flexible"
    cubic = {f"{link}.modes_y": 2, f"{link}.modes_stretch": 1, f"{link}.rotary_inertia": True}
    model = ControlModel(load("sun-planar/rfr-o-rrr", cubic))
    initial = model.bed.simulation.initial
    q = np.array([initial.get(c.key, 0.0) for c in model.layout.positions])
    arms = arms_at(model, arm_grips(model.bed, carried_object(model.bed, None)), q)
    for plant, expected in (
        (joints_held, (3209.9, 146.4, 15.83)),
        (tips_led_from_outside, (1230.2, 780.4, 124.94)),
    ):
        eigenvalues = np.linalg.eigvals(plant(arms)).imag
        frequencies = np.sort(eigenvalues[eigenvalues > 1e-6])[::-1]
        off = float(np.abs(frequencies / np.array(expected) - 1).max())
        what = f"sun-planar/rfr-o-rrr with stretch, {plant.__name__}: eigenvalues off by, relative"
        claims.below("Sun 17", what, 1e-3, off)
    largest = Stability.of(tips_led_by_torque(arms)).largest
    claims.near("Sun 17", "sun-planar/rfr-o-rrr with stretch, led by torques: growth", 24206.0, largest, 2e-3, "1/s")
