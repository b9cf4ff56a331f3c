"""The presets for `granite list`: each with its controlled parts, its links and its dimension.

Read from the files without checks, so that the list is fast.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

from granite.config import overrides as changes
from granite.config.loader import stored_presets

#: presets for a first run; the others follow by name
_FIRST = ("free-flyer", "atmos", "spot", "astrobee")


class Traits(NamedTuple):
    """Short description of a testbed."""

    title: str
    #: whether thrusters push a floating base, and how many joints have motors, under a controller
    base: bool
    joints: int
    flexible: bool
    spatial: bool

    @property
    def controls(self) -> str:
        """The controlled parts; empty for an open-loop system."""
        joints = f"{self.joints} joint{'s' if self.joints > 1 else ''}" if self.joints else ""
        return ", ".join(part for part in ("base" if self.base else "", joints) if part)


class CatalogueEntry(NamedTuple):
    """A preset and its variants."""

    name: str
    use: str
    traits: Traits
    variants: dict[str, Traits]

    @property
    def group(self) -> str:
        """Its group in `granite list`: controlled where the preset or one of its variants is."""
        if self.use == "validation":
            return "Validation systems"
        controlled = any(traits.controls for traits in (self.traits, *self.variants.values()))
        return "Controlled testbeds" if controlled else "Open-loop systems"


def catalogue() -> dict[str, list[CatalogueEntry]]:
    """The presets by group: platforms first, and those for a first run before the others."""
    stored = {preset.name: preset for preset in stored_presets()}
    entries = [
        CatalogueEntry(
            name,
            content.get("use", "example"),
            _traits(_changed(content, plain)),
            {variant: _traits(_changed(content, change)) for variant, change in variants.items()}
            | {variant: _traits(stored[other].content) for variant, other in elsewhere.items()},
        )
        for name, content, variants, elsewhere, plain in stored.values()
    ]
    order = {name: i for i, name in enumerate(_FIRST)}
    entries.sort(key=lambda entry: (entry.use != "platform", order.get(entry.name, len(order)), entry.name))
    groups: dict[str, list[CatalogueEntry]] = {
        "Controlled testbeds": [],
        "Open-loop systems": [],
        "Validation systems": [],
    }
    for entry in entries:
        groups[entry.group].append(entry)
    return {title: group for title, group in groups.items() if group}


#: kinds of devices whose units are motors on joints
_MOTORS = ("motors", "momentum_wheel", "reaction_wheel")


def _changed(content: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    tree = copy.deepcopy(content)
    for path, value in changes.leaves(change):
        changes.assign(tree, path, value)
    return tree


def _traits(content: Mapping[str, Any]) -> Traits:
    modules: list[dict[str, Any]] = content["modules"]
    controlled = "controller" in content
    devices = {name: (table.get("kind", name), table) for name, table in content.get("devices", {}).items()}
    return Traits(
        content["title"],
        controlled and any(kind == "thrusters" for kind, _ in devices.values()),
        sum(len(table["units"]) for kind, table in devices.values() if kind in _MOTORS) if controlled else 0,
        any(body.get("flexible") for module in modules for body in module.get("bodies", ())),
        any(module.get("dimension") == "spatial" for module in modules),
    )
