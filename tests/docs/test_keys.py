"""The key reference has every key of every preset, and describes each."""

import importlib.util
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from granite.config.calibration import CalibrationTable
from granite.config.loader import Preset, load, presets
from tests.support.pages import ROOT

spec = importlib.util.spec_from_file_location("keys", ROOT / "docs" / "keys.py")
assert spec is not None
assert spec.loader is not None
keys = importlib.util.module_from_spec(spec)
spec.loader.exec_module(keys)

REFERENCE = keys.Reference()
TABLES = REFERENCE.tables


def tables_in(table: BaseModel) -> Iterator[BaseModel]:
    """A table of a testbed and all tables inside it."""
    yield table
    for name in type(table).model_fields:
        value = getattr(table, name)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,):
            if isinstance(inner, BaseModel) and not isinstance(inner, CalibrationTable):
                yield from tables_in(inner)


def is_listed(table: BaseModel) -> bool:
    """Whether a table of the reference has all its keys; those of a part have some keys in common."""
    names, kind = {*type(table).model_fields}, getattr(table, "kind", "")
    for listed in TABLES:
        common = [other.keys for other in TABLES if listed.kind and (other.path, other.kind) == (listed.path, "")]
        if listed.kind in ("", kind) and names <= {*listed.keys}.union(*common):
            return True
    return False


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_every_key_of_a_preset_is_listed(preset: Preset):
    for name in (preset.name, *(f"{preset.name}/{variant}" for variant, _ in preset.variants)):
        assert [type(table).__qualname__ for table in tables_in(load(name)) if not is_listed(table)] == []


def test_every_key_has_a_description():
    fields = [(f"{table.title}: {key}", field) for table in TABLES for key, field in table.keys.items()]
    assert [title for title, field in fields if not field.get("description")] == []


def test_every_anchor_is_unique_and_every_link_leads_to_one():
    anchors = [table.anchor for table in TABLES]
    assert len(anchors) == len({*anchors})
    linked = set(keys.re.findall(r"\]\(#([\w-]+)\)", REFERENCE.page()))
    assert linked <= {*anchors}
