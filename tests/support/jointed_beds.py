"""Testbeds of several modules without a controller: arms that hold a bar, a chain, arms and a box in space."""

import math
from typing import Any

from granite.config.loader import load
from granite.config.testbed import Testbed

LOOP = {"period_s": 0.01, "duration_s": 0.3}
GROUND = {"name": "ground", "mass_kg": 1.0, "inertia_kg_m2": 1.0}


def bed(name: str, modules: list[dict[str, Any]], **tables: Any) -> Testbed:
    simulation = {"physics_step_s": 0.001, "table": {"ideal": True}, **tables.pop("simulation", {})}
    head = {"name": name, "title": f"A testbed called {name}", "seed": 1, "loop": LOOP}
    return Testbed.model_validate({**head, "modules": modules, "simulation": simulation, **tables})


def contact(name: str, kind: str, first: tuple[str, str], second: tuple[str, str]) -> dict[str, Any]:
    first_side, second_side = ({"module": module, "point": point} for module, point in (first, second))
    return {"name": name, "kind": kind, "first": first_side, "second": second_side}


def bar_between_arms(**tables: Any) -> Testbed:
    """Two rigid arms of 0.5 m at x = 0 and x = 1, each with a grip on an end of a bar of 0.4 m."""
    upright = {"dimension": "planar", "base": "fixed"}
    link = {"name": "link", "mass_kg": 1.0, "com_m": [0.25, 0.0], "inertia_kg_m2": 0.02}
    arm = {
        "bodies": [GROUND, link],
        "joints": [{"name": "joint", "parent": "ground", "child": "link"}],
        "points": [{"name": "tip", "body": "link", "position_m": [0.5, 0.0]}],
    }
    bar = {
        "name": "bar", "dimension": "planar", "base": "floating",
        "bodies": [{"name": "body", "mass_kg": 2.0, "inertia_kg_m2": 0.03}],
        "points": [{"name": end, "body": "body", "position_m": [x, 0.0]} for end, x in (("a", -0.2), ("b", 0.2))],
    }  # fmt: skip
    modules = [{"name": "left", **upright, **arm}, {"name": "right", "placement_m": [1.0, 0.0], **upright, **arm}, bar]
    grips = [
        contact("left_grip", "revolute", ("left", "tip"), ("bar", "a")),
        contact("right_grip", "revolute", ("right", "tip"), ("bar", "b")),
    ]
    motors = [{"joint": f"{side}_joint", "torque_limit_n_m": 1.0} for side in ("left", "right")]
    return bed("bar", modules, contacts=grips, devices={"motors": {"units": motors}}, **tables)


def free_flyer_and_bar() -> Testbed:
    """The free-flyer holds its pose beside the bar of `bar_between_arms`."""
    flyer = load("free-flyer").model_dump()
    devices = flyer["devices"]
    units = [{**motor, "joint": f"vehicle_{motor['joint']}"} for motor in devices["motors"]["units"]]
    devices["motors"]["units"] = units
    sensors = devices["joint_sensors"]
    sensors["joints"] = [f"vehicle_{joint}" for joint in sensors["joints"]]
    for name in ("vision", "thrusters"):
        devices[name]["module"] = "vehicle"
    hold = flyer["controller"]["law"]["hold"]
    hold["gains"] = {
        f"vehicle_{name}" if name == "base_heading" else name: gain for name, gain in hold["gains"].items()
    }
    tables = {"controller": flyer["controller"], "devices": devices, "safety": {**flyer["safety"], "joints": []}}
    return bed("beside", [*flyer["modules"], bar_between_arms().modules[2].model_dump()], **tables)


def chain(n: int) -> Testbed:
    """Flexible links of 0.4 m, each a module that floats, pinned base to tip."""
    flexible = {"length_m": 0.4, "line_density_kg_m": 0.2, "ei_n_m2": 1.0, "modes_y": 2}
    ends = [{"name": end, "body": "beam", "position_m": [x, 0.0]} for end, x in (("base", 0.0), ("tip", 0.4))]
    links = [
        {"name": f"link{i}", "dimension": "planar", "base": "floating", "points": ends,
         "bodies": [{"name": "beam", "flexible": flexible}]}
        for i in range(n)
    ]  # fmt: skip
    pins = [contact(f"pin{i}", "revolute", (f"link{i}", "tip"), (f"link{i + 1}", "base")) for i in range(n - 1)]
    return bed("chain", links, contacts=pins)


def puck_and_wall() -> Testbed:
    """A puck of 0.1 m radius, and a wall through (1, 0) that faces the origin, turned by 30 degrees."""
    puck = {
        "name": "puck", "dimension": "planar", "base": "floating",
        "bodies": [{"name": "body", "mass_kg": 2.0, "inertia_kg_m2": 0.01}],
        "points": [{"name": "middle", "body": "body", "position_m": [0.0, 0.0]}],
    }  # fmt: skip
    wall = {"position_m": [1.0, 0.0], "rotation_rad": [0.0, 0.0, math.radians(210.0)]}
    second = {"module": "puck", "point": "middle"}
    bumper = {"name": "bumper", "kind": "bumper", "first": wall, "second": second, "parameters": {"radius_m": 0.1}}
    return bed("puck", [puck], contacts=[bumper])


def box_in_space(**tables: Any) -> Testbed:
    """An arm that stands at y = 1 and turns about x, so that it moves in y and z, and a box that floats."""
    moments = [0.02, 0.03, 0.04, 0.0, 0.0, 0.0]
    link = {"name": "link", "mass_kg": 1.0, "com_m": [0.0, 0.4, 0.0], "inertia_kg_m2": moments}
    arm = {
        "name": "arm", "dimension": "spatial", "base": "fixed", "placement_m": [0.0, 1.0, 0.0],
        "bodies": [{**GROUND, "inertia_kg_m2": moments}, link],
        "joints": [{"name": "joint", "parent": "ground", "child": "link", "axis": [1.0, 0.0, 0.0]}],
        "points": [{"name": "hand", "body": "link", "position_m": [0.0, 0.8, 0.0]}],
    }  # fmt: skip
    box = {
        "name": "box", "dimension": "spatial", "base": "floating",
        "bodies": [{"name": "body", "mass_kg": 2.0, "inertia_kg_m2": moments}],
        "points": [{"name": "handle", "body": "body", "position_m": [0.0, 0.1, 0.0]}],
    }  # fmt: skip
    grasp = contact("grasp", "rigid_grasp", ("arm", "hand"), ("box", "handle"))
    return bed("box", [arm, box], contacts=[grasp], **tables)
