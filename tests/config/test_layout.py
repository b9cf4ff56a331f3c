"""Where the coordinates of each module stand: by the module's name, whatever its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.layout import Layout
from granite.config.loader import load
from granite.config.modules import Module
from granite.config.start import initial_motion
from granite.config.testbed import Testbed as Bed
from tests.support.jointed_beds import box_in_space


def module(name: str, base: str = "floating", dimension: str = "planar", flexible: bool = False) -> Module:
    """A base with a link on a hinge, which may bend."""
    inertia = 0.1 if dimension == "planar" else [0.1, 0.1, 0.1, 0.0, 0.0, 0.0]
    beam = {"length_m": 0.5, "line_density_kg_m": 1.0, "ei_n_m2": 5.0, "modes_y": 2}
    link: dict[str, Any] = {"name": "link", "mass_kg": 1.0, "inertia_kg_m2": inertia}
    if flexible:
        link = {"name": "link", "flexible": beam}
    bodies = [{"name": "base", "mass_kg": 5.0, "inertia_kg_m2": inertia}, link]
    joints = [{"name": "hip", "parent": "base", "child": "link"}]
    return Module.model_validate(
        {"name": name, "dimension": dimension, "base": base, "bodies": bodies, "joints": joints}
    )


PLANAR = (module("arm", "fixed"), module("boat"), module("reed", flexible=True))


def test_modules_stand_one_after_the_other() -> None:
    layout = Layout(PLANAR, True)
    assert layout.q == {"arm": slice(0, 1), "boat": slice(1, 5), "reed": slice(5, 11)}
    assert layout.u == layout.q
    assert [c.key for c in layout.positions] == [
        "arm_hip_rad",
        *("boat_base_x_m", "boat_base_y_m", "boat_base_heading_rad", "boat_hip_rad"),
        *("reed_base_x_m", "reed_base_y_m", "reed_base_heading_rad", "reed_hip_rad", "reed_link_y1_m"),
        "reed_link_y2_m",
    ]
    assert layout.joints == ("arm_hip", "boat_hip", "reed_hip")


def test_a_module_alone_keeps_its_own_names() -> None:
    layout = Layout(PLANAR[1:2], False)
    assert [c.name for c in layout.velocities] == ["base_x", "base_y", "base_heading", "hip"]
    assert layout.name(PLANAR[1], "hip") == "hip"


def test_roots_and_joints_are_found_by_name() -> None:
    layout = Layout(PLANAR, True)
    for m in PLANAR:
        joint = f"{m.name}_hip"
        assert layout.positions[layout.joint_q(joint)].name == joint
        assert layout.velocities[layout.joint_u(joint)].name == joint
        assert layout.module_of(joint) is m
    assert layout.root_q(PLANAR[0]) == slice(0, 0)
    assert [c.key for c in layout.positions[layout.root_q(PLANAR[2])]] == [
        "reed_base_x_m",
        "reed_base_y_m",
        "reed_base_heading_rad",
    ]


def test_in_space_places_in_q_and_u_differ() -> None:
    first, second = module("first", dimension="spatial"), module("second", dimension="spatial")
    layout = Layout((first, second), True)
    assert (layout.q["second"], layout.u["second"]) == (slice(8, 16), slice(7, 14))
    assert (layout.root_q(second), layout.root_u(second)) == (slice(8, 15), slice(7, 13))
    assert (layout.joint_q("second_hip"), layout.joint_u("second_hip")) == (15, 13)


def test_what_is_not_there_is_no_index() -> None:
    with pytest.raises(ValueError):
        Layout(PLANAR, True).joint_q("hip")


def bed(**more: Any) -> Bed:
    """Three modules, of which the middle one has a motor."""
    content: dict[str, Any] = {
        "name": "three",
        "title": "Three modules",
        "loop": {"period_s": 0.005, "duration_s": 1.0},
        "modules": [m.model_dump() for m in PLANAR],
        "devices": {"motors": {"units": [{"joint": "boat_hip", "torque_limit_n_m": 1.0}]}},
        "controller": {},
    }
    return Bed.model_validate(content | more)


def test_what_has_actuators_is_controlled() -> None:
    testbed = bed()
    assert [m.name for m in testbed.controlled] == ["boat"]
    assert testbed.known.u == {"boat": slice(0, 4)}
    assert testbed.layout.u["boat"] == slice(1, 5)


def test_known_objects_stand_behind_what_is_controlled() -> None:
    testbed = bed(controller={"modules": ["reed", "boat"], "objects": ["arm"]})
    assert list(testbed.known.u.values()) == [slice(0, 6), slice(6, 10), slice(10, 11)]
    assert list(testbed.known.u) == ["reed", "boat", "arm"]
    assert testbed.known.joints == ("reed_hip", "boat_hip", "arm_hip")


def test_names_are_the_same_whether_a_module_is_known_or_not() -> None:
    testbed = bed()
    assert {c.name for c in testbed.known.positions} <= {c.name for c in testbed.positions}


def test_an_actuator_on_a_module_that_is_not_controlled_is_refused() -> None:
    with pytest.raises(ValueError, match=r"devices\.motors\.units\.0\.joint.*not of a controlled module"):
        bed(controller={"modules": ["reed"]})


def test_a_module_must_be_named_where_several_float() -> None:
    testbed = bed()
    with pytest.raises(InputError) as refusal:
        testbed.floating_module(None)
    assert (refusal.value.key, refusal.value.problem) == ("module", "2 modules float")
    assert "boat, reed" in refusal.value.expected
    with pytest.raises(InputError, match="no module of that name floats"):
        testbed.floating_module("arm")
    assert testbed.floating_module("reed").name == "reed"


def test_a_copy_has_the_layout_of_its_own_modules() -> None:
    testbed = load("free-flyer")
    assert len(testbed.positions) == 5
    assert len(testbed.model_copy(update={"modules": PLANAR}).positions) == 11
    assert len(testbed.positions) == 5


def test_what_is_named_starts_there_and_the_rest_at_zero() -> None:
    bed = load("free-flyer")
    key = bed.positions[0].key
    q, u = initial_motion(load("free-flyer", [f"simulation.initial.{key}=0.25"]))
    assert q[0] == 0.25
    assert (len(q), len(u)) == (len(bed.positions), len(bed.velocities))


@pytest.mark.parametrize(
    ("given", "expected"), [({}, [1, 0, 0, 0]), ({"body_qw": 3.0, "body_qz": 4.0}, [0.6, 0.0, 0.0, 0.8])]
)
def test_a_quaternion_is_normalised_and_without_rotation_where_none_is_given(given: dict, expected: list) -> None:
    bed = box_in_space()
    keys = {c.name: c.key for c in bed.positions}
    initial = {next(key for name, key in keys.items() if name.endswith(end)): v for end, v in given.items()}
    start = bed.model_copy(update={"simulation": bed.simulation.model_copy(update={"initial": initial})})
    q, _ = initial_motion(start)
    np.testing.assert_allclose(q[[i for i, c in enumerate(bed.positions) if c.unit == "1"]], expected)
