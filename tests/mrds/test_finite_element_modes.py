"""Modes of flexible links that carry bodies with a moment at the tip are those of finite elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.config.loader import load
from granite.config.modules import Flexible, Module
from granite.mrds.flexible.shapes import bending_shapes
from granite.mrds.initial_vibration import initial_modes
from granite.mrds.system import System
from granite.mrds.vibration_modes import modes
from tests.peers.interpreted import interpreted
from tests.support.beam_elements import HERE, Parts, Point, turn
from tests.support.flexible_arms import stiffness
from tests.support.quick_cases import quick

pytestmark = pytest.mark.usefixtures("interpreted")


def cell_of_sun(flexible: set[tuple[str, str]]) -> list[float]:
    """Frequencies above zero of the cell of Sun 1996, section 4.6.1, about its start: numbers of the thesis."""
    parts = Parts()
    bar = parts.body(13.5, 1.128, (0.0, 0.0), math.pi / 4)
    for arm, turned in (("left", 0.0), ("right", math.pi)):
        carrier: Point | None = None
        for link, angle, motor_numbers in (
            ("link1", turned + math.pi / 2, (14.0, 0.0510597, (0.0, -0.0398571))),
            ("link2", turned - math.pi / 4, (6.5, 0.0137506, (0.0, -0.0444615))),
        ):
            if (arm, link) in flexible:
                base, end = parts.beam(0.5, 0.8741918, 74.7374, angle)
                tip: Point = end, HERE
            else:
                base = parts.body(0.809, 0.0270918, (0.2645241, 0.0), angle)
                tip = base, 0.5 * turn(angle)[:, 0]
            parts.join((base, HERE), carrier, pinned=True)
            carrier = parts.body(*motor_numbers, angle), HERE
            parts.join(carrier, tip, pinned=False)
        along = turn(turned + math.pi / 4)[:, 0]
        hand = parts.body(0.3, 0.00025, (0.05, 0.0), turned + math.pi / 4)
        parts.join((hand, HERE), carrier, pinned=True)
        parts.join((hand, 0.1 * along), (bar, -0.4 * along), pinned=False)
    return [f for f in parts.frequencies() if f > 0.1]


@pytest.mark.parametrize("variant", quick(["frr-o-rrr", "rfr-o-rrr", "ffr-o-rrr", "frr-o-rrf"], "ffr-o-rrr"))
def test_the_cell_of_sun_vibrates_as_finite_elements_do(variant: str) -> None:
    bed = load(f"sun-planar/{variant}")
    flexible = {(module.name, body.name) for module in bed.modules for body in module.bodies if body.flexible}
    vibration = initial_modes(bed)
    frequencies = [mode.frequency for mode in vibration.modes if not mode.rigid]
    links = [body.flexible for module in bed.modules for body in module.bodies if body.flexible]
    n = sum(link.modes_y - 1 for link in links)  # the highest of each link is too high
    assert frequencies[:n] == pytest.approx(cell_of_sun(flexible)[:n], rel=0.01)
    assert not vibration.links_too_stiff


def carrying_link(**more: Any) -> Module:
    """A clamped beam of 1 m whose tip carries a heavy body on a joint."""
    link = {"length_m": 1.0, "line_density_kg_m": 0.5, "ei_n_m2": 4.0, "modes_y": 3, **more.pop("link", {})}
    joint = {"name": "mount", "parent": "beam", "child": "motor", "origin_m": [1.0, 0.0], **more}
    bodies = [{"name": "beam", "flexible": link}, {"name": "motor", "mass_kg": 3.0, "inertia_kg_m2": 0.2}]
    content = {"name": "arm", "dimension": "planar", "base": "fixed", "bodies": bodies, "joints": [joint]}
    return Module.model_validate(content)


def test_a_link_that_carries_a_moment_has_polynomial_shapes_unless_others_are_asked_for() -> None:
    slide = {"kind": "prismatic", "axis": [1.0, 0.0]}
    for module, shapes in (
        (carrying_link(), "cantilever"),
        (carrying_link(**slide), "polynomial"),
        (carrying_link(**slide, origin_m=[0.0, 0.0]), "cantilever"),  # at the base there is no bending moment of it
        (carrying_link(**slide, link={"shapes": "cantilever"}), "cantilever"),
    ):
        link = module.bodies[0].flexible
        assert link is not None
        assert link.shapes == shapes
    assert carrying_link(**slide, link={"shapes": "cantilever"}).links_too_stiff() == ("beam",)
    assert carrying_link(link={"shapes": "cantilever"}).links_too_stiff() == ()


@pytest.mark.parametrize(("axis", "shapes"), [("z", "cantilever"), ("y", "polynomial"), ("x", "polynomial")])
def test_a_joint_in_space_passes_on_the_moments_across_its_axis(axis: str, shapes: str) -> None:
    link = {"length_m": 1.0, "line_density_kg_m": 0.5, "eiz_n_m2": 4.0, "modes_y": 1, "polar_inertia_kg_m": 1e-3}
    # Its frame is turned by a quarter about x: the joint's y is the link's z.
    joint = {"name": "mount", "parent": "beam", "child": "motor", "origin_m": [1.0, 0.0, 0.0]}
    joint |= {"rotation_rad": [math.pi / 2, 0.0, 0.0], "axis": {"x": [1, 0, 0], "y": [0, 0, 1], "z": [0, 2, 0]}[axis]}
    motor = {"name": "motor", "mass_kg": 3.0, "inertia_kg_m2": [0.2, 0.2, 0.2, 0.0, 0.0, 0.0]}
    content = {"name": "arm", "dimension": "spatial", "base": "fixed", "joints": [joint]}
    module = Module.model_validate({**content, "bodies": [{"name": "beam", "flexible": link}, motor]})
    beam = module.bodies[0].flexible
    assert beam is not None
    assert beam.shapes == shapes


def test_polynomials_without_coefficients_are_the_beam_of_any_load_at_the_tip() -> None:
    """Three of them agree with elements for a mass with inertia that turns with the tip."""
    parts = Parts()
    base, tip = parts.beam(1.0, 0.5, 4.0, 0.3)
    parts.join((base, HERE), None, pinned=False)
    motor = parts.body(3.0, 0.2, (0.0, 0.0), 0.3)
    parts.join((motor, HERE), (tip, HERE), pinned=False)
    elements = parts.frequencies()[:2]
    slide = carrying_link(kind="prismatic", axis=[1.0, 0.0])
    motion = modes(System([slide]).contact_set(), np.zeros(4))
    frequencies = [mode.frequency for mode in motion if not mode.rigid]
    assert frequencies[:2] == pytest.approx(elements, rel=0.01)
    stiff = carrying_link(kind="prismatic", axis=[1.0, 0.0], link={"shapes": "cantilever"})
    too_high = [mode.frequency for mode in modes(System([stiff]).contact_set(), np.zeros(4)) if not mode.rigid]
    assert too_high[1] > 1.2 * elements[1]


def test_the_two_frequencies_of_a_mode_tell_shapes_that_do_not_fit() -> None:
    key = "modules.left.bodies.link1.flexible.shapes=cantilever"
    vibration = initial_modes(load("sun-planar/frr-o-rrr", [key]))
    first = next(i for i, mode in enumerate(vibration.modes) if not mode.rigid)
    assert vibration.modes[first].frequency > 1.2 * vibration.finer_frequencies[first]
    assert vibration.links_too_stiff == ("left.link1",)
    assert f"modes {first + 1}, " in str(vibration.coarseness)
    assert "left.link1" in str(vibration.coarseness)
    assert vibration.finer_frequencies[first] == pytest.approx(cell_of_sun({("left", "link1")})[0], rel=0.01)


LOADS = {"mass": (0.4, 0.0, 0.0), "motor": (3.0, 0.0, 0.2), "motor ahead": (3.0, 0.1, 0.2), "heavy": (40.0, -0.05, 5.0)}


@pytest.mark.parametrize(("mass", "ahead", "inertia"), LOADS.values(), ids=LOADS)
def test_tip_loaded_shapes_are_the_modes_of_a_cantilever_with_that_body(
    mass: float, ahead: float, inertia: float
) -> None:
    """By the characteristic equation, by finite elements, and by mass and stiffness, which they make diagonal."""
    length, density, ei = 1.3, 0.5, 4.0
    content = {"length_m": length, "line_density_kg_m": density, "ei_n_m2": ei, "modes_y": 4, "shapes": "tip_loaded"}
    content |= {"tip_mass_kg": mass, "tip_com_m": [ahead, 0.0], "tip_inertia_kg_m2": inertia}
    link = Flexible.model_validate(content)
    rate = math.sqrt(ei / density) / (2 * math.pi)
    frequencies = [rate * shape.b**2 for shape in bending_shapes(link)]
    if not ahead:
        mu, iota = mass / (density * length), inertia / (density * length**3)
        for B in (shape.b * length for shape in bending_shapes(link)):
            cos, sin, cosh, sinh = math.cos(B), math.sin(B), math.cosh(B), math.sinh(B)
            terms = [1 + cos * cosh, B * mu * (cos * sinh - sin * cosh), -(B**3) * iota * (cosh * sin + sinh * cos)]
            terms.append(B**4 * mu * iota * (1 - cos * cosh))
            assert sum(terms) == pytest.approx(0.0, abs=1e-11 * sum(map(abs, terms)))
    parts = Parts()
    base, end = parts.beam(length, density, ei, 0.0, elements=40)
    parts.join((base, HERE), None, pinned=False)
    parts.join((parts.body(mass, inertia, (ahead, 0.0), 0.0), HERE), (end, HERE), pinned=False)
    assert frequencies == pytest.approx(parts.frequencies()[:4], rel=1e-5)
    module = {"name": "arm", "dimension": "planar", "base": "fixed", "bodies": [{"name": "beam", "flexible": content}]}
    model = interpreted(Module.model_validate(module))
    M, K = model.mass_matrix(np.zeros(4)), stiffness(model)
    assert pytest.approx(np.diag(np.diag(M)), abs=1e-9 * np.diag(M).min()) == M
    assert np.sqrt(np.diag(K) / np.diag(M)) / (2 * math.pi) == pytest.approx(frequencies, rel=1e-9)


@pytest.mark.parametrize(("shapes", "error"), [("tip_loaded", (0.0, 0.001)), ("cantilever", (0.05, 1.0))])
def test_two_shapes_made_for_what_a_contact_holds_give_both_modes(shapes: str, error: tuple[float, float]) -> None:
    link = {"length_m": 1.0, "line_density_kg_m": 0.5, "ei_n_m2": 4.0, "modes_y": 2, "shapes": shapes}
    if shapes == "tip_loaded":
        link |= {"carried_mass_kg": 3.0, "carried_inertia_kg_m2": 0.2}
    beam: dict[str, Any] = {"bodies": [{"name": "beam", "flexible": link}]}
    beam["points"] = [{"name": "tip", "body": "beam", "position_m": [1.0, 0.0]}]
    motor: dict[str, Any] = {"bodies": [{"name": "motor", "mass_kg": 3.0, "inertia_kg_m2": 0.2}]}
    motor["points"] = [{"name": "mount", "body": "motor", "position_m": [0.0, 0.0]}]
    arm = Module.model_validate({"name": "arm", "dimension": "planar", "base": "fixed", **beam})
    load_ = Module.model_validate({"name": "load", "dimension": "planar", "base": "floating", **motor})
    sides = Side(module="arm", point="tip"), Side(module="load", point="mount")
    held = System([arm, load_], [Contact(name="held", kind="rigid_grasp", first=sides[0], second=sides[1])])
    frequencies = [mode.frequency for mode in modes(held.contact_set(), np.array([0.0, 0.0, 1.0, 0.0, 0.0]))]
    parts = Parts()
    base, end = parts.beam(1.0, 0.5, 4.0, 0.0)
    parts.join((base, HERE), None, pinned=False)
    parts.join((parts.body(3.0, 0.2, HERE, 0.0), HERE), (end, HERE), pinned=False)
    off = np.abs(np.array(frequencies) / parts.frequencies()[:2] - 1).max()
    assert error[0] <= off <= error[1]


def test_shapes_for_a_load_need_one_and_no_others_have_it() -> None:
    link = {"length_m": 1.0, "line_density_kg_m": 0.5, "ei_n_m2": 4.0, "modes_y": 1}
    with pytest.raises(ValueError, match='shapes = "tip_loaded": expected tip_mass_kg, carried_mass_kg or carried'):
        Flexible.model_validate(link | {"shapes": "tip_loaded"})
    with pytest.raises(ValueError, match=r"carried_mass_kg = 2\.0: expected none with shapes = 'cantilever'"):
        Flexible.model_validate(link | {"carried_mass_kg": 2.0})
