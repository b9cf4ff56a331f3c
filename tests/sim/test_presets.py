"""The published systems that come with Granite: which there are, and that on the plant they keep energy and contacts.

Everything runs in the virtual machine, which is the compiled code to the bit and there at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from scipy.integrate import simpson

from granite.config.loader import load, presets
from granite.config.records import Array
from granite.controllers.behaviours.holds import Holds
from granite.logs.audit import AuditVerdict
from granite.mrds.energy import Energy
from granite.rt.run import simulate
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.lab import Lab
from granite.sim.plant.plant import Plant
from tests.support.dense_model import Model

if TYPE_CHECKING:  # pytest takes a class of this name for a test
    from granite.config.testbed import Testbed

#: published systems, and how many velocities they have
SIZES = {
    "mrds-1": 3,
    "mrds-2a": 6,
    "mrds-2b": 6,
    "mrds-2c": 6,
    "mrds-3": 10,
    "mrds-4": 12,
    "mrds-5a": 16,
    "mrds-5b": 16,
    "mrds-5c": 17,
    "mrds-6a": 12,
    "mrds-6b": 12,
    "flx-pendulum": 2,
    "flx-pendulum/flexible": 2,
    "flx-pendulum/rigid": 1,
    "flx-pendulum/double": 2,
    "bracing": 12,
    "flx-joint-mass": 2,
    "flx-joint-mass/no-joint-mass": 2,
    "flx-joint-mass/heavy": 2,
    "flx-three-link": 7,
    "flx-three-link/rigid": 3,
    "flx-three-link/pid": 7,
    "flx-three-link/pid-rigid": 3,
    "fixed-dual-arm/open-loop": 7,
    "fixed-dual-arm/one-arm": 7,
    "leap-open-loop": 8,
    "leap-open-loop/ideal": 8,
    "spatial-dual-arm/open-loop": 18,
    "spatial-dual-arm/flexible": 26,
    "spatial-dual-arm/floating": 30,
    "chains": 30,
    "chains/type-0": 30,
    "chains/type-1": 54,
    "chains-2x3": 12,
    "chains-2x3/type-1": 24,
    "chains-8x3": 30,
}
SOURCES = ("Bonaventura 2002", "Mackay 1988", "Sun 1996", "Lilly and Orin 1991", "Stanford report of 1987")
PRESETS = [bed for bed in SIZES if "/" not in bed]

#: the others of each list take part in the slow test of the whole run
QUICK = {
    "flx-pendulum/flexible", "flx-pendulum/double", "flx-joint-mass", "chains/type-0", "chains-2x3/type-1",
    "mrds-1", "mrds-6a", "flx-three-link",
    "fixed-dual-arm/open-loop", "spatial-dual-arm/open-loop",
    "mrds-3", "mrds-5c",
}  # fmt: skip

#: nothing pushes them
FREE = [
    "flx-pendulum/flexible", "flx-pendulum/rigid", "flx-pendulum/double", "flx-joint-mass",
    "flx-joint-mass/no-joint-mass", "flx-joint-mass/heavy", "chains/type-0",
    "chains/type-1", "chains-2x3", "chains-2x3/type-1", "chains-8x3",
]  # fmt: skip
#: motors push them
PUSHED = [
    "mrds-1", "mrds-2a", "mrds-2b", "mrds-2c", "mrds-6a", "mrds-6b", "flx-three-link", "flx-three-link/rigid",
    "fixed-dual-arm/open-loop",
    "spatial-dual-arm/open-loop", "spatial-dual-arm/flexible", "spatial-dual-arm/floating",
]  # fmt: skip
#: torques and motions act in their contacts
DRIVEN = ["mrds-3", "mrds-4", "mrds-5a", "mrds-5b", "mrds-5c"]


def quick_first(beds: list[str]) -> list[Any]:
    """Some in every run of the tests, the others in the slow ones."""
    return [bed if bed in QUICK else pytest.param(bed, marks=pytest.mark.slow) for bed in beds]


@pytest.fixture(autouse=True, scope="module")
def _in_the_virtual_machine() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANITE_NO_COMPILER", "1")
        yield


class Run(NamedTuple):
    """What a bed did, tick by tick."""

    energy: Array  #: [J]
    work: Array  #: of the motors so far [J]
    stirred: float  #: the most that was kinetic or strain energy [J]
    gap: float  #: the most that any closed contact was off [m, rad]

    @property
    def error(self) -> float:
        """Energy that came from nowhere, of all that was moved."""
        return float(np.abs(self.energy - self.energy[0] - self.work).max() / self.stirred)


def run(bed: Testbed, duration: float) -> Run:
    """Every motor follows its profile, as the open-loop controllers have it: held from the middle of each period."""
    lab, period = Lab(bed), bed.loop.period_s
    plant, motors = lab.plant, lab.device("motors") if bed.motors else None
    profiles = [bed.torques.get(motor.joint) for motor in bed.motors]
    joints = [bed.layout.joint_q(motor.joint) for motor in bed.motors]
    measured, balance = Energy(bed.modules), []
    work, gap, looks = [0.0], [], max(1, round(duration / period) // 50)
    for tick in range(round(duration / period)):
        balance.append(measured.balance(plant.q, plant.u))
        torque = np.array([p.at((tick + 0.5) * period) if p else 0.0 for p in profiles])
        if motors:
            torque = motors.write(tick * period, torque).values.copy()
        before = plant.q[joints]
        plant.advance((tick + 1) * period)
        work.append(work[-1] + float(torque @ (plant.q[joints] - before)))
        if tick % looks == 0:
            gap.append(plant.contact_loads().gap)
    balance.append(measured.balance(plant.q, plant.u))
    stirred = max(b.kinetic + b.strain for b in balance)
    return Run(np.array([b.energy for b in balance]), np.array(work), stirred, max(gap))


def test_all_published_systems_are_presets() -> None:
    there = {bed for p in presets() for bed in (p.name, *(f"{p.name}/{variant}" for variant, _ in p.variants))}
    assert SIZES.keys() <= there


@pytest.mark.parametrize(("bed", "size"), SIZES.items())
def test_a_preset_loads_under_its_name_with_its_degrees_of_freedom(bed: str, size: int) -> None:
    testbed = load(bed)
    assert testbed.name == bed
    assert len(testbed.velocities) == size


@pytest.mark.parametrize("bed", PRESETS)
def test_a_preset_notes_its_source_and_has_a_title_of_one_line(bed: str) -> None:
    note = load(bed).note
    assert any(source in " ".join(note.split()) for source in SOURCES)
    assert "ours" in note or bed in ("mrds-1", "mrds-5c")
    assert max(map(len, note.splitlines())) <= 120
    assert "\n" not in load(bed).title


@pytest.mark.parametrize("bed", SIZES)
def test_only_what_floats_on_the_granite_has_a_table(bed: str) -> None:
    assert load(bed).simulation.table.ideal == (bed != "leap-open-loop")


@pytest.mark.parametrize("bed", SIZES)
def test_motors_can_give_the_torques_they_are_asked_for(bed: str) -> None:
    testbed = load(bed)
    limits = {motor.joint: motor.torque_limit_n_m for motor in testbed.motors}
    for joint, profile in testbed.torques.items():
        assert abs(profile.amplitude_n_m) + abs(profile.offset_n_m) < limits[joint]


@pytest.mark.parametrize(
    ("variant", "flexible"),
    [
        ("frr-o-rrr", {("left", "link1")}),
        ("rfr-o-rrr", {("left", "link2")}),
        ("ffr-o-rrr", {("left", "link1"), ("left", "link2")}),
        ("frr-o-rrf", {("left", "link1"), ("right", "link1")}),
    ],
)
def test_letters_of_suns_set_ups_say_which_links_are_flexible(variant: str, flexible: set[tuple[str, str]]) -> None:
    bed = load(f"sun-planar/{variant}")
    assert {(m.name, b.name) for m in bed.modules for b in m.bodies if b.flexible} == flexible
    assert variant.upper() in bed.title
    assert not any(b.flexible for m in load("sun-planar").modules for b in m.bodies)


@pytest.mark.parametrize(
    ("bed", "chains", "joints"), [("chains", 4, 6), ("chains/type-0", 4, 6), ("chains-2x3", 2, 3), ("chains-8x3", 8, 3)]
)
def test_chains_of_type_0_stand_on_the_ground_and_touch_the_body(bed: str, chains: int, joints: int) -> None:
    testbed = load(bed)
    assert [m.base for m in testbed.modules] == ["fixed"] * chains + ["floating"]
    assert [len(m.joints) for m in testbed.modules] == [joints] * chains + [0]
    assert len(testbed.contacts) == chains
    assert all(c.second.module == "body" for c in testbed.contacts)
    assert len(testbed.motors) == chains * joints


@pytest.mark.parametrize(("bed", "chains", "joints"), [("chains/type-1", 4, 6), ("chains-2x3/type-1", 2, 3)])
def test_chains_of_type_1_stand_on_the_body_and_touch_the_ground(bed: str, chains: int, joints: int) -> None:
    testbed = load(bed)
    assert [len(m.joints) for m in testbed.modules] == [joints] * chains + [0]
    hips = [c for c in testbed.contacts if c.kind == "rigid_grasp"]
    tips = [c for c in testbed.contacts if c.kind == "hard_point"]
    assert len(hips) == len(tips) == chains
    assert {c.first.module for c in hips} == {"body"}
    assert all(c.first.grounded for c in tips)
    assert len(testbed.motors) == chains * joints


def test_one_arm_comes_to_its_target_under_pd() -> None:
    """Without gravity and friction PD leaves no error but that of its sensors, and the object alone stays."""
    summary = simulate_in_memory(load("fixed-dual-arm/one-arm")).summary
    end = {name: state["value"] for name, state in summary["final_state"].items()}
    assert summary["ended"] == "completed"
    assert end["left_shoulder"] == pytest.approx(1.0, abs=1e-3)
    assert end["left_elbow"] == pytest.approx(-1.0, abs=1e-3)
    assert end["object_body_y"] == 0.4


@pytest.mark.slow
def test_a_braced_arm_goes_on_with_its_tool_when_the_brace_lets_go() -> None:
    """Contacts within one module chain and a loop: every check of the audit holds, over the change of the set too."""
    log = simulate_in_memory(load("bracing", {"simulation.audit": True, "loop.duration_s": 4.0}))
    assert log.summary["ended"] == "completed"
    checks = log.summary["audit"]["checks"]
    assert {"energy", "gap", "slip"} <= checks.keys()
    assert all(check["held"] for check in checks.values()), checks
    assert [event["name"] for event in log.events] == ["pin_opened"]
    pinned, free = (log.rows[k, log.channels.column("/truth", "pin_fx_n")] for k in (250, 350))
    assert abs(pinned) > 1e-4
    assert free == 0.0


def test_the_leaping_vehicle_holds_one_bar_then_none_then_the_other() -> None:
    assert [hold.closed for hold in load("leap-open-loop").holds] == [("grip1",), (), ("grip2",)]


@pytest.mark.parametrize("bed", quick_first(FREE))
def test_free_motion_keeps_its_energy_and_its_contacts(bed: str) -> None:
    motion = run(load(bed), 0.1)
    assert not load(bed).torques
    assert motion.stirred > 1e-2
    assert motion.error < 1e-9
    assert motion.gap < 1e-9


@pytest.mark.parametrize("bed", quick_first(PUSHED))
def test_energy_is_the_work_of_the_motors_and_contacts_stay_closed(bed: str) -> None:
    motion = run(load(bed), 0.1)
    assert motion.work[-1] > 0
    # Torques begin from zero: much of the little energy so far is in the fast modes that their first steps stir.
    assert motion.error < 1e-6
    assert motion.gap < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("bed", [*FREE, *PUSHED])
def test_energy_is_kept_for_ten_seconds_or_the_whole_run(bed: str) -> None:
    testbed = load(bed)
    motion = run(testbed, min(10.0, testbed.loop.duration_s))
    assert motion.error < 1e-8
    assert motion.gap < 1e-9


@pytest.mark.parametrize("bed", quick_first(DRIVEN))
def test_energy_is_the_work_of_motors_and_driven_contacts(bed: str) -> None:
    testbed = load(bed)
    plant, models = Plant(testbed), {module.name: Model(module) for module in testbed.modules}
    measured, step = Energy(testbed.modules), testbed.simulation.physics_step_s
    energy, power, gap = [], [], []
    for k in range(401):
        plant.advance(k * step)
        felt = plant.contact_loads()
        energy.append(measured.balance(plant.q, plant.u).energy)
        power.append(contact_power(testbed, models, plant, felt.wrench))
        gap.append(felt.gap)
    work = [simpson(power[: k + 1], dx=step) for k in range(0, 401, 2)]
    assert max(energy) > 1e-9
    np.testing.assert_allclose(np.array(energy[::2]) - energy[0], work, atol=1e-6 * max(energy))
    assert max(gap) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("bed", DRIVEN)
def test_the_books_of_a_driven_run_balance_to_its_end(bed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRANITE_NO_COMPILER")
    log = simulate_in_memory(load(bed, ["simulation.audit=true"]))
    verdict = AuditVerdict(log.bed, log.channels)
    verdict.update(log.rows)
    result = verdict.result()
    assert result is not None
    assert result["checks"]["energy"]["largest"] < 1e-8
    assert result["held"]


def contact_power(bed: Testbed, models: dict[str, Model], plant: Plant, wrench: Array) -> float:
    """What the contacts do to the modules: each its wrench on the second side against how that moves from the first."""
    states, at_q, at_u = {}, 0, 0
    for name, model in models.items():
        states[name] = plant.q[at_q : at_q + model.n_q], plant.u[at_u : at_u + model.n_u]
        at_q, at_u = at_q + model.n_q, at_u + model.n_u
    total = 0.0
    for contact, push in zip(bed.contacts, wrench.reshape(-1, 3), strict=True):
        for side, sign in ((contact.first, -1.0), (contact.second, 1.0)):
            if not side.grounded:
                twist = models[side.module].point(str(side.point), *states[side.module]).twist
                total += sign * float(push @ twist[[0, 1, 5]])
    return total


def test_the_moving_base_of_system_3_takes_its_pin_along() -> None:
    bed = load("mrds-3")
    plant = Plant(bed)
    for t in (0.1, 0.2, 0.4):
        plant.advance(t)
        # The integral of eq. 135.
        assert plant.q[0] == pytest.approx(0.1 * 5 / (2 * np.pi) * (1 - np.cos(2 * np.pi * t / 5)), abs=1e-12)
        assert abs(plant.q[1]) < 1e-12


@pytest.mark.parametrize("bed", ["leap-open-loop", pytest.param("leap-open-loop/ideal", marks=pytest.mark.slow)])
def test_the_leaping_vehicle_lets_go_flies_and_takes_hold(bed: str) -> None:
    testbed = load(bed)
    lab = Lab(testbed)
    plant, motors, grips = lab.plant, lab.device("motors"), lab.device("grips")
    model, period = Model(testbed.modules[0]), testbed.loop.period_s
    joints = [testbed.layout.joint_q(motor.joint) for motor in testbed.motors]
    profiles = [testbed.torques[motor.joint] for motor in testbed.motors]
    assert plant.contacts is not None
    holds = Holds(testbed)
    work, closed, energy, momentum = 0.0, {}, {}, {}
    for tick in range(round(testbed.loop.duration_s / period)):
        torque = np.array([p.at((tick + 0.5) * period) for p in profiles])
        grips.write(tick * period, *holds.at(tick * period))
        motors.write(tick * period, torque)
        before = plant.q[joints]
        plant.advance((tick + 1) * period)
        work += float(torque @ (plant.q[joints] - before))
        if (tick + 1) % 200 == 0:
            t = round((tick + 1) * period)
            closed[t] = plant.contacts.closed.tolist()
            energy[t] = model.kinetic_energy(plant.q, plant.u)
            momentum[t] = model.momentum(plant.q, plant.u).copy()
            assert plant.contact_loads().gap < 1e-9
    assert closed[1] == [1, 0]
    assert closed[5] == closed[12] == [0, 0]
    assert closed[14] == closed[18] == [0, 1]
    assert momentum[5][0] > 4.0
    assert plant.contacts.caught[1] > 0
    if bed == "leap-open-loop/ideal":
        np.testing.assert_allclose(momentum[12], momentum[5], atol=1e-9)
        assert energy[12] == pytest.approx(work, rel=1e-8)
        assert energy[18] == pytest.approx(work - plant.contacts.lost, rel=1e-8)


@pytest.mark.parametrize(
    ("name", "expected", "bound"),
    [
        ("mrds-1", {"joint": 180.017}, 0.01),
        pytest.param("mrds-2a", {"joint1": 195.419}, 0.02, marks=pytest.mark.slow),
        pytest.param("mrds-2c", {"joint1": 170.868}, 0.02, marks=pytest.mark.slow),
        pytest.param("mrds-4", {"arm_joint1": 87.036}, 0.01, marks=pytest.mark.slow),
        pytest.param(
            "mrds-4", {"link3_link_heading": -848.12, "link4_link_heading": -925.47}, 0.4, marks=pytest.mark.slow
        ),
        pytest.param(
            "mrds-5a",
            {"arm_joint1": 45.022, "link3_link_heading": -48.251, "link4_link_heading": 5.918},
            0.02,
            marks=pytest.mark.slow,
        ),
        pytest.param("mrds-5c", {"arm_joint1": 26.949, "link3_link_heading": 127.421}, 0.02, marks=pytest.mark.slow),
    ],
    ids=["mrds-1", "mrds-2a", "mrds-2c", "mrds-4 arm", "mrds-4 links", "mrds-5a", "mrds-5c"],
)
def test_presets_end_where_the_acceptance_tests_end(
    name: str, expected: dict[str, float], bound: float, tmp_path: Path
) -> None:
    """The numbers of MRDS 9, 13, 16, 20, 21 and 23 [deg], by the presets and the run themselves."""
    summary = simulate(load(name), tmp_path / "a.mcap")
    for coordinate, degrees in expected.items():
        value = summary["final_state"][coordinate]["value"]
        assert np.degrees(value) == pytest.approx(degrees, abs=bound), coordinate
    assert not summary["redundant"]  # a straight start is no redundancy
