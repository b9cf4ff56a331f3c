"""A testbed of two vehicles that float, each with an arm of one link, and two devices of every kind."""

from __future__ import annotations

from typing import Any

from granite.config.devices.device import Device
from granite.config.loader import load
from granite.config.testbed import Testbed

PERIOD = 0.005
BEAM = {"length_m": 0.5, "line_density_kg_m": 2.0, "ei_n_m2": 20.0, "modes_y": 1, "damping_ratio": 0.02}


def vehicle(name: str, mass: float, *, flexible: bool = False) -> dict[str, Any]:
    """A base with a link on a hinge, which may bend."""
    link: dict[str, Any] = {"name": "link", "mass_kg": 1.5, "com_m": [0.2, 0.01], "inertia_kg_m2": 0.03}
    return {
        "name": name,
        "dimension": "planar",
        "base": "floating",
        "bodies": [
            {"name": "base", "mass_kg": mass, "com_m": [0.02, -0.01], "inertia_kg_m2": 0.02 * mass},
            {"name": "link", "flexible": BEAM} if flexible else link,
        ],
        "joints": [{"name": "hip", "parent": "base", "child": "link", "origin_m": [0.2, 0.0]}],
    }


def jets(module: str, thrust: float) -> dict[str, Any]:
    """Eight thrusters as on the free-flyer's base."""
    units = load("free-flyer").thrusters
    return {
        "kind": "thrusters",
        "module": module,
        "units": [{**unit.model_dump(), "thrust_n": thrust} for unit in units],
    }


def two_vehicles(*, flexible: bool = False, devices: dict[str, Any] | None = None, **more: Any) -> Testbed:
    """The testbed; `devices` replaces some of its devices, None takes one away."""
    filters = {"filter_a_rad_s": 100.0, "filter_b_rad_s": 80.0}
    content: dict[str, Any] = {
        "name": "pair",
        "title": "Two vehicles",
        "loop": {"period_s": PERIOD, "duration_s": 2.0},
        "modules": [vehicle("a", 10.0), vehicle("b", 20.0, flexible=flexible)],
        "devices": {
            "b_jets": jets("b", 1.5),
            "a_encoder": {"kind": "joint_sensors", "joints": ["a_hip"]},
            "a_camera": {"kind": "vision", "module": "a", "body": "base", "rate_hz": 50.0, "latency_s": 0.04},
            "b_motor": {"kind": "motors", "units": [{"joint": "b_hip", "torque_limit_n_m": 2.0}]},
            "b_encoder": {"kind": "joint_sensors", "joints": ["b_hip"], **filters},
            "b_camera": {"kind": "vision", "module": "b", "body": "base", "rate_hz": 40.0, "latency_s": 0.02},
            "a_motor": {"kind": "motors", "units": [{"joint": "a_hip", "torque_limit_n_m": 3.0}]},
            "a_jets": jets("a", 0.8),
            **(devices or {}),
        },
        "controller": {},
        "simulation": {
            "table": {"ideal": True},
            "initial": {
                **{"a_base_x_m": 1.0, "a_hip_rad": 0.3, "a_base_x_m_s": 0.1, "a_base_y_m_s": -0.05},
                **{"b_base_y_m": 2.0, "b_hip_rad": -0.4, "b_base_x_m_s": -0.06, "b_base_y_m_s": 0.1},
            },
        },
    }
    return Testbed.model_validate(content | more)


def table(bed: Testbed, name: str) -> Device:
    """A device of a testbed."""
    device = bed.devices[name]
    assert isinstance(device, Device)
    return device
