"""Testbeds of several modules: their names, copies, contacts and holds, and what is wrong with them in one sentence."""

import pytest

from granite.config.errors import InputError
from granite.config.loader import from_json, load, to_json


def complaint(*overrides: str, bed: str = "mrds-6a") -> str:
    with pytest.raises(InputError) as refusal:
        load(bed, overrides)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_coordinates_carry_the_name_of_their_module() -> None:
    bed = load("mrds-6a")
    assert bed.joints == ("left_joint1", "left_joint2", "right_joint1", "right_joint2")
    assert [c.key for c in bed.positions[:3]] == ["left_joint1_rad", "left_joint2_rad", "left_link1_y1_m"]
    assert [c.name for c in bed.velocities] == [c.name for c in bed.positions]
    assert [c.name for c in load("mrds-1").positions] == ["joint", "link_y1", "link_y2"]


def test_without_a_controller_nothing_is_estimated() -> None:
    assert load("mrds-6a").known.positions == ()
    bed = load("free-flyer")
    assert bed.known.positions == bed.positions


def test_a_module_like_another_differs_in_what_it_says_itself() -> None:
    left, right = load("mrds-6a").modules
    assert left.bodies == right.bodies
    assert (left.placement_m, right.placement_m) == ((0.0, 0.0), (2.0, 0.0))


def test_a_change_to_a_module_is_not_one_of_its_copy() -> None:
    left, right = load("mrds-6a", ["modules.left.bodies.link2.flexible.length_m=0.5"]).modules
    assert [m.bodies[2].flexible.length_m for m in (left, right) if m.bodies[2].flexible] == [0.5, 1.0]


def test_a_testbed_with_contacts_is_the_same_after_its_way_through_a_log() -> None:
    bed = load("mrds-6a")
    assert from_json(to_json(bed)) == bed


def test_the_sets_of_the_holds_are_named_once_each() -> None:
    holds = "behaviour.holds=[{from_s=0, closed=['pin']}, {from_s=1, closed=[]}, {from_s=2, closed=['pin']}]"
    assert load("mrds-6a", [holds]).contact_sets == (("pin",), ())
    assert load("mrds-6a").contact_sets == (("pin",),)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            "contacts.pin.first.module=lft",
            'contacts.pin.first.module = "lft": no such module, '
            "expected one of left, right, ground (did you mean 'left'?)",
        ),
        (
            "contacts.pin.second.point=tp",
            "contacts.pin.second.point = \"tp\": no such point, expected tip (did you mean 'tip'?)",
        ),
        (
            "behaviour.holds=[{from_s=0, closed=['pn']}]",
            "behaviour.holds.0.closed = [\"pn\"]: no contact 'pn', expected pin (did you mean 'pin'?)",
        ),
        (
            "behaviour.holds=[{from_s=1, closed=['pin']}]",
            "behaviour.holds.0.from_s = 1.0: expected 0, because the run begins with it",
        ),
        (
            "behaviour.holds=[{from_s=0, closed=[]}, {from_s=0, closed=['pin']}]",
            "behaviour.holds.1.from_s = 0.0: expected more than 0.0, when the last began",
        ),
        (
            "behaviour.torques.left_joint9.offset_n_m=1",
            "behaviour.torques.left_joint9: no motor there, expected one of left_joint1, right_joint1 "
            "(did you mean 'left_joint1'?)",
        ),
        (
            "behaviour.waypoints=[{duration_s=1, target={}}]",
            "controller is missing, expected a table, because behaviour.waypoints needs one",
        ),
        ("modules.right.like=up", 'modules.right.like = "up": no module before it, expected left'),
        ("modules.right.name=left", "modules: module 'left' occurs twice, expected it once"),
        (
            "modules.right.bodies.link1.flexible.ei_n_m2=-1",
            "modules.right.bodies.link1.flexible.ei_n_m2 = -1: expected a number greater than 0",
        ),
        (
            "modules.right.bodies.link1.flexible.length_m=0",
            "modules.right.bodies.link1.flexible.length_m = 0: expected a number greater than 0",
        ),
        (
            "modules.right.base=floats",
            "modules.right.base = \"floats\": expected 'fixed' or 'floating'",
        ),
        (
            "simulation.initial.joint1_rad=1",
            "simulation.initial.joint1_rad = 1.0: no such coordinate, expected one of left_joint1_rad",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(override: str, expected: str) -> None:
    assert expected in complaint(override)


def test_beside_a_controller_torques_are_refused() -> None:
    assert "expected none beside a controller" in complaint("behaviour.torques.elbow.offset_n_m=1", bed="free-flyer")


def test_a_module_that_can_not_move_is_refused() -> None:
    rock = "[{name='rock', mass_kg=1.0, inertia_kg_m2=1.0}]"
    modules = f"[{{name='rock', dimension='planar', base='fixed', bodies={rock}}}]"
    sentence = complaint(f"modules={modules}", "contacts=[]", "devices={}", "behaviour.torques={}")
    assert "modules.rock.base = \"fixed\": no part of the module can move, expected 'floating' or a joint" in sentence


def test_errors_of_tracking_always_have_a_limit() -> None:
    sentence = complaint("safety.tracking_error_m=none", bed="free-flyer")
    assert "safety.tracking_error_m = none: expected a number" in sentence


def test_a_module_may_be_squeezed_where_others_hold_it_at_several_places():
    assert load("fixed-dual-arm/open-loop").squeezed == ("object",)
    assert load("sun-planar").squeezed == ("object",)
    assert load("mrds-6a").squeezed == ()
