"""The plant with contacts: what holds, what is let go, what is caught, and what that takes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from granite.config import testbed
from granite.config.errors import InputError
from granite.config.loader import load
from granite.logs.audit import AuditVerdict
from granite.logs.contact_changes import ContactChanges
from granite.logs.log import Log
from granite.mrds.energy import Energy
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.plant.plant import Plant
from tests.support.pucks import bed, puck
from tests.support.quick_cases import quick

pytestmark = pytest.mark.usefixtures("interpreted")

GRIP = {"name": "grip", "kind": "rigid_grasp"}


def truth(log: Log, entry: str) -> np.ndarray:
    values: np.ndarray = log.rows[:, log.channels.columns("/truth", entry)]
    return values


def verdict(log: Log) -> dict[str, Any]:
    audit = AuditVerdict(log.bed, log.channels)
    audit.update(log.rows)
    result = audit.result()
    assert result is not None
    return result


def chase(holds: Any, gap: float = 0.2) -> testbed.Testbed:
    """One puck at 0.5 m/s behind another at rest, with so much way between them that 0.2 m are gone after 0.4 s."""
    return bed(
        [puck("hunter"), puck("prey")],
        [{**GRIP, "first": {"module": "prey", "point": "back"}, "second": {"module": "hunter", "point": "front"}}],
        holds=holds,
        initial={"hunter_body_x_m_s": 0.5, "prey_body_x_m": 0.2 + gap},
    )


HOLDS = [{"from_s": 0.0, "closed": []}, {"from_s": 0.4, "closed": ["grip"]}, {"from_s": 1.0, "closed": []}]


def test_a_catch_keeps_momentum_and_says_what_energy_it_took() -> None:
    log = simulate_in_memory(chase(HOLDS))
    u, t = truth(log, "u"), truth(log, "t")
    caught = (t > 0.405) & (t < 0.995)
    np.testing.assert_allclose(u[caught], np.tile([0.25, 0, 0, 0.25, 0, 0], (caught.sum(), 1)), atol=1e-12)
    assert truth(log, "lost")[-1] == pytest.approx(0.5 * 2.0 * 0.5**2 / 2)
    assert truth(log, "caught")[-1] == pytest.approx(2.0 * 0.25)
    assert verdict(log)["held"]


def test_a_catch_with_a_gap_keeps_momentum_on_a_table_that_pushes() -> None:
    """The audit counts the impulse of slope and drag; of the gap of 6 mm it would find 1e-3 of the momentum."""
    table = {"tilt_g": 1e-3, "drag_ratio": 1e-3, "pad_radius_m": 0.1}
    start = {"prey_body_y_m": 0.006, "hunter_body_heading_rad_s": 0.02}
    bed = chase(HOLDS)
    log = simulate_in_memory(
        bed.with_changes({"simulation.table": table, "simulation.initial": {**bed.simulation.initial, **start}})
    )
    checks = verdict(log)["checks"]
    assert truth(log, "closed")[60, 0] == 1.0
    assert max(checks["momentum"]["largest"], checks["angular momentum"]["largest"]) < 1e-12
    moved = truth(log, "audit")
    assert np.abs(moved[-1] - moved[0])[[3, 8]].min() > 0.002  # momentum and angular momentum themselves change
    rows = log.rows.copy()
    rows[50:, log.channels.column("/truth", "momentum_x_n_s")] += 1e-6
    spoilt = AuditVerdict(log.bed, log.channels)
    spoilt.update(rows[:30])
    spoilt.update(rows[30:])
    assert not (spoilt.result() or {})["checks"]["momentum"]["held"]


def test_letting_go_leaves_velocities_as_they_were() -> None:
    log = simulate_in_memory(chase(HOLDS))
    u, t = truth(log, "u"), truth(log, "t")
    np.testing.assert_array_equal(u[t > 1.0], np.tile(u[np.searchsorted(t, 0.9)], ((t > 1.0).sum(), 1)))
    closed = truth(log, "closed")[:, 0]
    assert closed[t < 0.395].max() == closed[t > 1.005].max() == 0.0


def test_what_happened_to_a_contact_is_found_in_the_rows() -> None:
    log = simulate_in_memory(chase(HOLDS))
    changes = list(ContactChanges(log.bed, log.channels).look(log.rows))
    assert [(c.what, round(c.t, 2)) for c in changes] == [("closed", 0.41), ("opened", 1.01)]
    assert changes[0].energy_lost == pytest.approx(0.125)
    assert changes[0].impulse == pytest.approx(0.5)


def test_a_grip_out_of_reach_goes_on_trying_and_is_seen_to() -> None:
    log = simulate_in_memory(chase([HOLDS[0], {"from_s": 0.1, "closed": ["grip"]}]))
    closed, t = truth(log, "closed")[:, 0], truth(log, "t")
    assert set(closed[(t > 0.105) & (t < 0.375)]) == {3.0}
    assert set(closed[t > 0.405]) == {1.0}
    np.testing.assert_allclose(truth(log, "u")[-1, [0, 3]], 0.25)


def test_a_held_object_feels_the_force_that_carries_it_and_no_squeeze() -> None:
    """A spring of torque turns two pucks that are one: the contact force is mass times acceleration of the second."""
    alone = chase([])
    contact = alone.contacts[0].model_copy(update={"kind": "rigid_grasp"})
    turning = alone.model_copy(
        update={
            "contacts": (contact,),
            "simulation": alone.simulation.model_copy(
                update={"initial": {"prey_body_x_m": 0.2, "hunter_body_heading_rad_s": 1.0}, "fit_start": True}
            ),
        }
    )
    log = simulate_in_memory(turning)
    rate = truth(log, "u")[-1, 2]
    force = np.linalg.norm(truth(log, "wrench")[1:, :2], axis=1)
    np.testing.assert_allclose(force, 2.0 * rate**2 * 0.1, rtol=1e-9)
    assert truth(log, "squeeze").shape[1] == 0
    assert verdict(log)["held"]


FALLS = {"gravity_m_s2": [0.0, -9.81]}


def pins(contacts: int, first: dict[str, str] | None = None, **more: Any) -> list[dict[str, Any]]:
    """The bob by its back on the ground, or on something else, by one pin or by several that say the same."""
    pin = {"kind": "revolute", "first": first or {}, "second": {"module": "bob", "point": "back"}}
    return [{"name": f"pin{i}", **pin, **more} for i in range(contacts)]


def pendulum(contacts: int, **more: Any) -> testbed.Testbed:
    """A puck that hangs on the ground by its back."""
    return bed([puck("bob", **FALLS)], pins(contacts, **more), initial={"body_x_m": 0.1})


@pytest.mark.slow
def test_pins_that_say_the_same_move_it_like_one_and_share_its_force() -> None:
    one, two = (simulate_in_memory(pendulum(n)) for n in (1, 2))
    np.testing.assert_allclose(truth(two, "q"), truth(one, "q"), atol=1e-9)
    shares = truth(two, "wrench").reshape(len(two.rows), 2, 3)
    np.testing.assert_allclose(shares[1:, 0], truth(one, "wrench")[1:] / 2, atol=1e-8)
    np.testing.assert_allclose(shares[:, 0], shares[:, 1], atol=1e-9)
    checks = verdict(two)["checks"]
    assert not checks["condition"]["held"]
    assert verdict(one)["checks"]["energy"]["largest"] < 1e-8


def shaken(contacts: int) -> testbed.Testbed:
    """A pendulum whose pins are moved, at first as fast as it is."""
    shake = {"amplitude_m": 0.05, "period_s": 0.7, "phase_rad": np.pi / 2, "offset_m": -0.05}
    return pendulum(contacts, motion={"x": shake})


def turned(contacts: int) -> testbed.Testbed:
    """A pendulum with a known torque about its pins, half of it about each where there are two."""
    return pendulum(contacts, force={"rz": {"amplitude_n_m": 1.0 / contacts, "period_s": 0.7}})


def rubbing(contacts: int) -> testbed.Testbed:
    """A pendulum on a shoe that rubs down a steep rail."""
    steep = {"rotation_rad": [0.0, 0.0, np.pi / 2 + 0.7]}
    rail = {"name": "rail", "kind": "sliding", "first": steep, "second": {"module": "shoe", "point": "back"}}
    rail |= {"parameters": {"friction": 0.3}}
    hung = pins(contacts, {"module": "shoe", "point": "front"})
    initial = {"shoe_body_x_m": 0.1, "bob_body_x_m": 0.3}
    return bed([puck("shoe", **FALLS), puck("bob", **FALLS)], [rail, *hung], initial=initial)


def damped(contacts: int) -> testbed.Testbed:
    """A pendulum of a link that bends and takes energy by its damping, its motor swinging it."""
    beam = {"length_m": 0.5, "line_density_kg_m": 0.4, "ei_n_m2": 3.0, "modes_y": 2, "damping_ratio": 0.05}
    hub, link = ({"name": n, "mass_kg": 0.2, "inertia_kg_m2": 0.01} for n in ("hub", "link"))
    bob = {
        "name": "bob", "dimension": "planar", "base": "floating", **FALLS,
        "bodies": [hub, {**link, "flexible": beam}],
        "joints": [{"name": "joint", "parent": "hub", "child": "link"}],
        "points": [{"name": "back", "body": "hub", "position_m": [0.0, 0.1]}],
    }  # fmt: skip
    content = bed([bob], pins(contacts), initial={"hub_y_m": -0.1}).model_dump()
    content["devices"] = {"motors": {"units": [{"joint": "joint", "torque_limit_n_m": 1.0}]}}
    content["behaviour"]["torques"] = {"joint": {"amplitude_n_m": 0.3, "period_s": 0.5}}
    return testbed.Testbed.model_validate(content)


@pytest.mark.slow
@pytest.mark.parametrize("swung", [shaken, damped, turned, rubbing])
def test_the_work_of_what_drives_and_rubs_is_counted_where_pins_say_the_same(swung: Callable[..., Any]) -> None:
    one, two = (simulate_in_memory(swung(n)) for n in (1, 2))
    np.testing.assert_allclose(truth(two, "q"), truth(one, "q"), atol=1e-9)
    work = [log.rows[:, log.channels.column("/truth", "work_j")] for log in (one, two)]
    assert np.ptp(work[0]) > 0.01
    np.testing.assert_allclose(work[1], work[0], atol=1e-9)
    for log in (one, two):
        assert verdict(log)["checks"]["energy"]["largest"] < 1e-8


def test_the_swing_of_a_pinned_puck_is_that_of_a_pendulum() -> None:
    log = simulate_in_memory(pendulum(1))
    balance = [
        Energy(log.bed.modules).balance(q, u).energy for q, u in zip(truth(log, "q"), truth(log, "u"), strict=True)
    ]
    np.testing.assert_allclose(balance, balance[0], atol=1e-9)
    inertia, arm = 0.05 + 2.0 * 0.1**2, 0.1
    angle, rate = truth(log, "q")[:, 2], truth(log, "u")[:, 2]
    np.testing.assert_allclose(0.5 * inertia * rate**2, -2.0 * 9.81 * arm * np.sin(angle), atol=1e-8)


def test_a_start_that_does_not_fit_is_refused_or_moved() -> None:
    apart = {"initial": {"body_x_m": 0.13}}
    with pytest.raises(InputError, match=r"leaves contact 'pin0' off by 0.03 m or rad, expected a start that fits it"):
        Plant(bed([puck("bob")], [c.model_dump() for c in pendulum(1).contacts], **apart))
    plant = Plant(bed([puck("bob")], [c.model_dump() for c in pendulum(1).contacts], **apart, fit_start=True))
    np.testing.assert_allclose(plant.q, [0.1, 0.0, 0.0], atol=1e-9)


def test_contacts_that_contradict_each_other_are_refused_by_name() -> None:
    pins = [
        {"name": name, "kind": "revolute", "first": {"position_m": at}, "second": {"module": "bob", "point": "back"}}
        for name, at in (("here", [0.0, 0.0]), ("there", [1.0, 0.0]))
    ]
    with pytest.raises(InputError, match="contacts 'here', 'there' cannot all be closed") as refusal:
        Plant(bed([puck("bob")], pins, initial={"body_x_m": 0.1}, fit_start=True))
    assert "0.5 m remains along" in str(refusal.value)


def test_too_many_modes_for_the_step_are_refused_with_the_limit() -> None:
    many = load("mrds-1", ["modules.arm.bodies.link.flexible.modes_y=6", "simulation.physics_step_s=0.01"])
    with pytest.raises(
        InputError, match=r"a step of 0.01 s is too long for the mode of .* Hz, expected at most"
    ) as refused:
        Plant(many)
    limit = float(str(refused.value).split("at most ")[1].split(" s")[0])
    good = load("mrds-1", ["modules.arm.bodies.link.flexible.modes_y=6", "loop.period_s=0.01", "loop.duration_s=0.5"])
    steps = int(np.ceil(0.01 / limit))
    fine = good.model_copy(update={"simulation": good.simulation.model_copy(update={"physics_step_s": 0.01 / steps})})
    log = simulate_in_memory(fine)
    assert np.isfinite(log.rows[:, log.channels.columns("/truth", "q")]).all()


@pytest.mark.parametrize("method", quick(["projection", "baumgarte", "none"], "projection"))
def test_a_loop_stays_closed(method: str) -> None:
    log = simulate_in_memory(
        load(
            "mrds-6a",
            [f"simulation.constraint_stabilisation.method={method}", "simulation.audit=true", "loop.duration_s=2"],
        )
    )
    result = verdict(log)
    assert result["held"]
    assert result["checks"]["gap"]["largest"] < {"projection": 1e-14, "baumgarte": 1e-10, "none": 1e-9}[method]


def test_an_audit_notices_energy_from_nowhere() -> None:
    log = simulate_in_memory(load("mrds-6a", ["simulation.audit=true", "loop.duration_s=1"]))
    rows = log.rows.copy()
    rows[50:, log.channels.column("/truth", "energy_j")] += 1e-6
    spoilt = AuditVerdict(log.bed, log.channels)
    spoilt.update(rows)
    assert not (spoilt.result() or {})["held"]


def test_a_preset_from_a_file_with_a_bumper_bounces(tmp_path: Path) -> None:
    ball = puck("ball", gravity_m_s2=[0.0, -9.81])
    floor = {"name": "floor", "kind": "bumper", "first": {"rotation_rad": [0.0, 0.0, np.pi / 2]}}
    floor |= {"second": {"module": "ball", "point": "front"}, "parameters": {"restitution": 0.8, "radius_m": 0.0}}
    ball["points"] = [{"name": "front", "body": "body", "position_m": [0.0, 0.0]}]
    log = simulate_in_memory(bed([ball], [floor], initial={"body_y_m": 1.0}))
    strikes = [c for c in ContactChanges(log.bed, log.channels).look(log.rows) if c.what == "struck"]
    falls = np.sqrt(2 / 9.81) * np.cumsum([1.0, *(2 * 0.8**n for n in range(1, len(strikes)))])
    np.testing.assert_allclose([c.t for c in strikes], falls, atol=0.011)
    np.testing.assert_allclose(
        [c.energy_lost for c in strikes], 2 * 9.81 * 0.64 ** np.arange(len(strikes)) * 0.36, rtol=1e-9
    )
    assert verdict(log)["held"]


def floor(module: str, point: str, **parameters: float) -> dict[str, Any]:
    """The ground as a stop from below."""
    first = {"rotation_rad": [0.0, 0.0, np.pi / 2]}
    return {"name": "floor", "kind": "edge", "first": first, "second": {"module": module, "point": point},
            "parameters": parameters}  # fmt: skip


def thrown(step: float, corner: float, drag: float = 0.0, **surface: float) -> testbed.Testbed:
    """A puck that falls on its corner, turning and moving sideways, over a table with drag or without."""
    disc = puck("disc", **FALLS)
    disc["points"] = [{"name": "corner", "body": "body", "position_m": [corner, -0.1]}]
    start = {"body_y_m": 0.2, "body_x_m_s": 1.0, "body_heading_rad_s": 2.0}
    table = {"ideal": drag == 0.0, "drag_ratio": drag}
    return bed([disc], [floor("disc", "corner", **surface)], initial=start, physics_step_s=step, table=table)


def driven_down(step: float, **surface: float) -> testbed.Testbed:
    """A rod that a motor and its weight drive against the ground, and that its tip slides along."""
    content = bed([ARM], [floor("arm", "tip", **surface)], physics_step_s=step).model_dump()
    content["contacts"][0]["first"]["position_m"] = [0.0, -0.2]
    content["devices"]["motors"] = {"units": [{"joint": "joint", "torque_limit_n_m": 5.0}]}
    content["behaviour"]["torques"] = {"joint": {"amplitude_n_m": 3.0, "period_s": 0.9}}
    return testbed.Testbed.model_validate(content)


def blows(landing: testbed.Testbed) -> tuple[int, float]:
    """How often the stop was struck in 0.6 s, and the largest error of the energy."""
    loop = landing.loop.model_copy(update={"duration_s": 0.6})
    log = simulate_in_memory(landing.model_copy(update={"loop": loop}))
    return np.count_nonzero(np.diff(truth(log, "caught")[:, 0])), verdict(log)["checks"]["energy"]["largest"]


@pytest.mark.parametrize("restitution", [0.6, pytest.param(0.0, marks=pytest.mark.slow)])
def test_the_step_of_a_blow_is_accounted_for_with_its_loads_and_its_friction(restitution: float) -> None:
    """Before and after the blow in one step the modules move under their own forces, and those do their work."""
    for landing in (
        thrown(1e-3, 0.03, friction=0.3, restitution=restitution),
        thrown(1e-3, 0.0, drag=0.02, friction=0.3, restitution=restitution),
        driven_down(1e-3, friction=0.3, restitution=restitution),
    ):
        struck, error = blows(landing)
        assert struck > 0
        assert error < 1e-8


def test_the_energy_error_of_bounces_shrinks_with_the_fourth_power_of_the_step() -> None:
    coarse, fine, finest = (
        blows(thrown(step, 0.03, drag=0.02, friction=0.3, restitution=0.6))[1] for step in (2e-3, 1e-3, 5e-4)
    )
    assert fine < coarse / 8
    assert finest < fine / 8


ROD = {"name": "rod", "mass_kg": 1.0, "com_m": [0.5, 0.0], "inertia_kg_m2": 0.08}
ARM = {
    "name": "arm", "dimension": "planar", "base": "fixed", **FALLS,
    "bodies": [{"name": "ground", "mass_kg": 1.0, "inertia_kg_m2": 1.0}, ROD],
    "joints": [{"name": "joint", "parent": "ground", "child": "rod"}],
    "points": [{"name": "tip", "body": "rod", "position_m": [1.0, 0.0]}],
}  # fmt: skip


def test_a_single_joint_that_nothing_senses_swings_as_well() -> None:
    log = simulate_in_memory(bed([ARM], []))
    assert np.ptp(truth(log, "q")) > 3
    assert verdict(log)["held"]


def test_sensors_see_a_joint_after_the_blow_of_its_stop() -> None:
    """A rod that swings against a bumper: its joint sensor never shows the step that the stop called off."""
    floor = {
        "name": "floor",
        "kind": "edge",
        "first": {"position_m": [0.0, -0.2], "rotation_rad": [0.0, 0.0, np.pi / 2]},
    }
    floor |= {"second": {"module": "arm", "point": "tip"}, "parameters": {"restitution": 0.7}}
    content = bed([ARM], [floor]).model_dump()
    sensor = {"joints": ["joint"], "angle_noise_rad": 0.0, "range_rad": 7.0, "converter_bits": 32}
    content["devices"]["joint_sensors"] = sensor | dict.fromkeys(
        ("filter_a_rad_s", "filter_b_rad_s", "rate_noise_rad_s"), 0.0
    )
    plant = Plant(testbed.Testbed.model_validate(content))
    for k in range(1, 800):
        plant.advance(k * 1e-3)
        np.testing.assert_array_equal(plant.joints, [plant.q[0], plant.u[0]])
        assert np.sin(plant.q[0]) >= -0.2 - 1e-12
    assert plant.contacts is not None
    assert plant.contacts.caught[0] > 0


@pytest.mark.slow
def test_a_controlled_robot_does_the_same_beside_a_puck_it_does_not_touch() -> None:
    changes = ["loop.duration_s=2", "simulation.table.ideal=true"]
    alone = simulate_in_memory(load("free-flyer", changes))
    beside = load("free-flyer", changes).model_dump()
    beside["modules"] += (puck("puck"),)
    joints = {name: f"vehicle_{name}" for name in ("shoulder", "elbow")}
    beside["devices"]["joint_sensors"]["joints"] = list(joints.values())
    for motor, limit in zip(beside["devices"]["motors"]["units"], beside["safety"]["joints"], strict=True):
        motor["joint"], limit["joint"] = joints[motor["joint"]], joints[limit["joint"]]
    beside["devices"]["vision"]["module"] = beside["devices"]["thrusters"]["module"] = "vehicle"
    beside["controller"]["law"]["hold"]["gains"] = {
        name.replace("base_heading", "vehicle_base_heading"): gain
        for name, gain in beside["controller"]["law"]["hold"]["gains"].items()
    }
    beside["simulation"]["initial"] = {f"vehicle_{k}": x for k, x in beside["simulation"]["initial"].items()}
    for waypoint in beside["behaviour"]["waypoints"]:
        waypoint["target"] = {f"vehicle_{key}": x for key, x in waypoint["target"].items()}
    together = simulate_in_memory(testbed.Testbed.model_validate(beside))
    np.testing.assert_array_equal(truth(together, "q")[:, :5], truth(alone, "q"))
    assert not truth(together, "u")[:, 5:].any()
