"""Pucks that float on the table, and testbeds of them."""

from typing import Any

from granite.config import testbed

PUCK = {"name": "body", "mass_kg": 2.0, "inertia_kg_m2": 0.05}


def puck(name: str, **more: Any) -> dict[str, Any]:
    """A disc of 0.1 m that floats on the table, with a point on either side."""
    points = [{"name": n, "body": "body", "position_m": [x, 0.0]} for n, x in (("front", 0.1), ("back", -0.1))]
    content = {"dimension": "planar", "base": "floating", "bodies": [PUCK], "points": points}
    return {"name": name, **content, **more}


def bed(modules: list[Any], contacts: list[Any], *, holds: Any = (), **simulation: Any) -> testbed.Testbed:
    return testbed.Testbed.model_validate(
        {
            "name": "pucks",
            "title": "Pucks",
            "seed": 1,
            "loop": {"period_s": 0.01, "duration_s": 2.0},
            "modules": modules,
            "contacts": contacts,
            "behaviour": {"holds": list(holds)},
            "simulation": {"physics_step_s": 1e-3, "table": {"ideal": True}, "audit": True, **simulation},
        }
    )
