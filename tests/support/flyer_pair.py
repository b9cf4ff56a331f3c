"""A testbed of two ATMOS free-flyers on one floor, each with thrusters and poses of its own."""

from __future__ import annotations

from typing import Any

from granite.config.loader import load
from granite.config.testbed import Testbed

#: where they start
START = {"a_base_x_m": 1.0, "a_base_y_m": 2.0, "b_base_x_m": 4.0, "b_base_y_m": 2.0}


def flyer_pair(changes: dict[str, Any] | None = None) -> Testbed:
    """The testbed, with other values by dotted key."""
    content = load("atmos").model_dump(exclude_unset=True)
    (module,), devices = content["modules"], content["devices"]
    content |= {
        "name": "pair",
        "modules": [{**module, "name": name} for name in "ab"],
        "devices": {
            f"{name}_{device}": {**table, "kind": device, "module": name}
            for name in "ab"
            for device, table in devices.items()
        },
        "behaviour": {"kind": "waypoints"},
    }
    gains = content["controller"]["law"]["gains"]
    heading = gains.pop("base_heading")
    content["controller"]["law"] = {"gains": gains | {f"{name}_base_heading": heading for name in "ab"}}
    content["safety"]["age_s"] = {}
    content["simulation"]["initial"] = START
    return Testbed.model_validate(content).with_changes(changes or {})


def exchange(y_a: float = 2.0, y_b: float = 2.0) -> list[dict[str, Any]]:
    """They exchange places, passing each other at these y."""
    half = {"a_base_x_m": 2.5, "b_base_x_m": 2.5, "a_base_y_m": y_a, "b_base_y_m": y_b}
    end = {"a_base_x_m": 4.0, "b_base_x_m": 1.0, "a_base_y_m": 2.0, "b_base_y_m": 2.0}
    return [{"duration_s": 12.0, "ramp_s": 3.0, "target": target} for target in (half, end)]


def beside_an_obstacle(
    changes: dict[str, Any] | None = None, growth_m_s: float = 0.02, own: str = "a", other: str = "b"
) -> Testbed:
    """The testbed of a, which measures b and does not control it."""
    pair = flyer_pair()
    content = pair.model_dump(exclude_unset=True)
    content["devices"] = {name: table for name, table in content["devices"].items() if name != f"{other}_thrusters"}
    gains = content["controller"]["law"]["gains"]
    gains = {key: gain for key, gain in gains.items() if not key.startswith(f"{other}_")}
    content["controller"] |= {"modules": [own], "objects": [other], "law": {"kind": "computed_torque", "gains": gains}}
    content["safety"]["keep_out"] = [{"name": "other", "module": other, "growth_m_s": growth_m_s}]
    return Testbed.model_validate(content).with_changes(changes or {})
