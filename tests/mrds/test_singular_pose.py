"""Accelerations at a pose where constraints depend on each other: the solution says what it does not determine."""

import math

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.config.modules import Body, Joint, Module, Point
from granite.mrds.contacts.possible import redundancy
from granite.mrds.contacts.solution import ContactSolution, SolutionStatus
from granite.mrds.system import System

FORCE = np.array([1.0, 0.5])


@pytest.fixture(autouse=True)
def virtual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")


def pinned(x: float, y: float) -> System:
    """An arm of two links of 1 m on the ground, its tip pinned to the ground."""
    links = tuple(Body(name=f"link{i}", mass_kg=1.0, com_m=(0.5, 0.0), inertia_kg_m2=0.08) for i in (1, 2))
    arm = Module(
        name="arm", dimension="planar", base="fixed", gravity_m_s2=(0.0, -9.81),
        bodies=(Body(name="ground", mass_kg=1.0, inertia_kg_m2=1.0), *links),
        joints=(Joint(name="joint1", parent="ground", child="link1"),
                Joint(name="joint2", parent="link1", child="link2", origin_m=(1.0, 0.0))),
        points=(Point(name="tip", body="link2", position_m=(1.0, 0.0)),),
    )  # fmt: skip
    pin = Contact(name="pin", kind="revolute", first=Side(position_m=(x, y)), second=Side(module="arm", point="tip"))
    return System([arm], [pin])


def solved(system: System, q: tuple[float, float], u: tuple[float, float] = (0.0, 0.0)) -> ContactSolution:
    contacts = system.contact_set()
    assert np.abs(np.concatenate(contacts.errors(q, u))).max() < 1e-12
    return contacts.accelerate(q, u, FORCE)


def test_a_bent_arm_is_determined() -> None:
    motion = solved(pinned(1.0, 1.0), (0.0, math.pi / 2))
    assert motion.status is SolutionStatus.UNIQUE
    assert motion.independence > 0.1
    np.testing.assert_allclose(motion.acceleration, 0, atol=1e-12)


@pytest.mark.parametrize("direction", [0.0, math.pi / 4, math.pi / 2, 2.0])
def test_an_arm_at_full_stretch_does_not_determine_its_tension(direction: float) -> None:
    """Along the arm no joint moves the tip, to the bit or but for rounding: any force there would do."""
    motion = solved(pinned(2 * math.cos(direction), 2 * math.sin(direction)), (direction, 0.0))
    assert motion.status is SolutionStatus.NOT_UNIQUE
    assert motion.independence < 1e-9
    assert math.copysign(1.0, motion.independence) == 1.0
    assert np.abs(motion.force).max() < 100


@pytest.mark.parametrize("direction", [0.0, math.pi / 4, 2.0])
def test_a_folded_arm_is_singular_though_its_joint_is_at_pi_but_for_rounding(direction: float) -> None:
    """The tip is on the base and only the elbow moves it, across the arm."""
    motion = solved(pinned(0.0, 0.0), (direction, math.pi))
    assert motion.status is SolutionStatus.NOT_UNIQUE
    assert motion.independence < 1e-9
    assert np.abs(motion.force).max() < 100


def test_motion_that_no_acceleration_can_continue_is_contradictory() -> None:
    """Stretched and turning in opposite directions, the tip must accelerate by -2 m/s^2 along the arm."""
    motion = solved(pinned(2.0, 0.0), (0.0, 0.0), (1.0, -2.0))
    assert motion.status is SolutionStatus.CONTRADICTORY


def test_the_constraints_in_question_have_names() -> None:
    system = pinned(2.0, 0.0)
    held = redundancy(system.contact_set(), (0.0, 0.0))
    assert held.redundant
    assert held.directions == ("pin.x",)
