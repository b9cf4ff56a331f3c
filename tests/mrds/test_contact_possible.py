"""Contacts that cannot all be closed are refused by name; redundant ones are reported."""

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.config.errors import InputError
from granite.mrds.contacts.possible import redundancy, refuse_impossible
from granite.mrds.system import System
from tests.support.flexible_arms import planar_arm
from tests.support.random_systems import closed_chains, plain_body

pytestmark = pytest.mark.usefixtures("interpreted")


def pinned(apart: float, kind: str = "revolute") -> System:
    """A bar of 0.3 m between two pins on the ground."""
    bar = plain_body("bar", "planar", {"left": (-0.15, 0.0), "right": (0.15, 0.0)}, (0.0, 0.0))
    pins = [
        Contact(name=f"{p}_pin", kind=k, first=Side(position_m=(x, 0.0)), second=Side(module="bar", point=p))
        for p, x, k in (("left", 0.0, "revolute"), ("right", apart, kind))
    ]
    return System([bar], pins)


def test_pins_farther_apart_than_their_bar_is_long_contradict_and_are_named():
    with pytest.raises(InputError, match=r"contacts 'left_pin', 'right_pin' cannot all be closed") as refusal:
        refuse_impossible(pinned(0.5).contact_set(), [0.2, 0.1, 0.3])
    assert "0.1 m remains along " in str(refusal.value)


def test_pins_that_fit_hold_something_twice_and_that_is_fine():
    closed = pinned(0.3).contact_set()
    pose = refuse_impossible(closed, [0.2, 0.02, 0.1])
    np.testing.assert_allclose(pose, [0.15, 0, 0], atol=1e-9)
    held = redundancy(closed, pose)
    assert held.redundant
    assert held.contacts == ("left_pin", "right_pin")
    # Along the bar both pins hold the same; across it they hold different ends.
    assert held.directions == ("left_pin.x", "right_pin.x")
    assert held.condition > 1e9
    # The least force: half of a pull along the bar each.
    motion = closed.accelerate(pose, np.zeros(3), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(motion.force, [-0.5, 0, -0.5, 0], atol=1e-12)


def test_a_slot_for_one_of_the_pins_makes_them_independent():
    closed = pinned(0.3, "x_slide_turning").contact_set()
    held = redundancy(closed, [0.15, 0.0, 0.0])
    assert not held.redundant
    assert held.contacts == ()
    assert held.condition < 10
    # The same number as the motion says, which measures it by elimination.
    assert held.independence > 0.1
    refuse_impossible(pinned(0.35, "x_slide_turning").contact_set(), [0.2, 0.02, 0.1])


def test_what_an_arm_cannot_reach_is_refused_with_the_distance_that_remains():
    system, q, _ = closed_chains(2, 6, "rigid_grasp", seed=26)
    far = Contact(name="far", kind="spherical", first=Side(position_m=(50.0, 0.0, 0.0)),
                  second=Side(module="chain0", point="tip"))  # fmt: skip
    torn = System(list(system.modules.values()), [*system.contacts.values(), far]).contact_set()
    with pytest.raises(InputError, match=r"'far', 'tip0', 'tip1' cannot all be closed .* m remains along"):
        refuse_impossible(torn, q)


def test_a_contact_on_what_cannot_move_is_said_to_be_redundant():
    """A grip on the foot of an arm that stands on the ground."""
    arm = planar_arm([{"length_m": 1.0, "line_density_kg_m": 0.5, "ei_n_m2": 4.0, "modes_y": 1}])
    foot = arm.points[0].model_copy(update={"name": "foot", "body": "ground", "position_m": (0.0, 0.0)})
    arm = arm.model_copy(update={"points": (*arm.points, foot)})
    hold = Contact(name="hold", kind="rigid_grasp", first=Side(), second=Side(module=arm.name, point="foot"))
    closed = System([arm], [hold]).contact_set()
    held = redundancy(closed, np.zeros(2))
    assert held.redundant
    assert held.directions == ("hold.x", "hold.y", "hold.rz")
    assert held.condition == np.inf


def test_nothing_closed_is_nothing_to_refuse():
    system = pinned(0.5)
    empty = system.contact_set([])
    np.testing.assert_array_equal(refuse_impossible(empty, [0.1, 0.2, 0.3]), [0.1, 0.2, 0.3])
    assert not redundancy(empty, [0.1, 0.2, 0.3]).redundant


def test_a_moved_contact_has_to_be_possible_where_its_motion_starts():
    """A pin that is moved along the bar by 0.2 m at the start: 0.1 m too near, it fits then, and only then."""
    system = pinned(0.1)
    right = system.contacts["right_pin"]
    for at_start, fits in ((0.2, True), (0.0, False)):
        motion = {"x": {"offset_m": at_start, "speed_m_s": -0.1}}
        moved = Contact.model_validate({**right.model_dump(), "motion": motion})
        closed = System(list(system.modules.values()), [system.contacts["left_pin"], moved]).contact_set()
        if fits:
            np.testing.assert_allclose(refuse_impossible(closed, [0.2, 0.02, 0.1]), [0.15, 0, 0], atol=1e-9)
        else:
            with pytest.raises(InputError, match="cannot all be closed from this pose"):
                refuse_impossible(closed, [0.2, 0.02, 0.1])
