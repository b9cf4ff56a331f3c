"""What docs/contacts.md says is so: its table is that of the kinds, and its examples run."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from granite.config import testbed
from granite.config.contacts import Contact, Side
from granite.config.errors import InputError
from granite.mrds.contacts import KINDS
from granite.mrds.contacts.events import EventKind
from granite.mrds.contacts.kind import Kind, directions_in
from granite.mrds.system import System
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.random_systems import plain_body

PAGE = (Path(__file__).parents[2] / "docs" / "contacts.md").read_text()


def example(language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return block


def in_the_plane(kind: Kind) -> str:
    try:
        kind.n_held(dict.fromkeys(kind.parameters, 1.0), planar=True)
    except InputError:
        return "not available"
    return ", ".join(directions_in(kind.held, planar=True)) or "nothing held"


def test_the_table_lists_every_kind_with_what_it_holds_and_asks_for():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    said = {name: rest for name, *rest in rows if name in KINDS}
    expected = {
        kind.name: [
            in_the_plane(kind),
            ", ".join(kind.held),
            ", ".join(f"`{n}`" + ("" if p.required else " (optional)") for n, p in kind.parameters.items()),
        ]
        for kind in KINDS.values()
    }
    assert said == expected


def test_every_event_is_explained():
    assert [what for what in EventKind if f"| `{what.value}` |" not in PAGE] == []


def test_the_example_of_a_kind_works(monkeypatch: pytest.MonkeyPatch):
    """A ball in a groove that is turned by 30 degrees, under gravity: g sin along the groove, m g cos across it."""
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    monkeypatch.delitem(KINDS, "groove", raising=False)
    exec(example("python"), {})
    assert "groove" in KINDS
    ball = plain_body("ball", "planar", {"centre": (0.0, 0.0)}, (0.0, -9.81))
    groove = Side(rotation_rad=(0.0, 0.0, np.pi / 6))
    held = Contact(name="rest", kind="groove", first=groove, second=Side(module="ball", point="centre"))
    motion = System([ball], [held]).contact_set().accelerate(np.zeros(3), np.zeros(3), np.zeros(3))
    along = -9.81 * np.sin(np.pi / 6) * np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    np.testing.assert_allclose(motion.acceleration, [*along, 0], atol=1e-12)
    np.testing.assert_allclose(motion.force, [2 * 9.81 * np.cos(np.pi / 6)], atol=1e-12)
    del KINDS["groove"]


def test_the_example_of_a_motion_is_a_contact():
    content = tomllib.loads(example("toml"))
    (shaker,) = content["contacts"]
    assert set(Contact.model_validate(shaker).motion.profiles) == {"x", "rz"}
    body = {"name": "body", "mass_kg": 2.0, "inertia_kg_m2": 0.03}
    points = [{"name": "grip", "body": "body", "position_m": [0.0, 0.0]}]
    load = {"name": "load", "dimension": "planar", "base": "floating", "bodies": [body], "points": points}
    loop = {"period_s": 0.01, "duration_s": 0.05}
    rest = {"name": "shaken", "title": "The example of the page", "seed": 1, "loop": loop, "modules": [load]}
    log = simulate_in_memory(testbed.Testbed.model_validate(content | rest))
    heading = log.rows[:, log.channels.column("/truth", "body_heading_rad")]
    np.testing.assert_allclose(np.diff(heading), 0.3 * 0.01, atol=1e-9)
