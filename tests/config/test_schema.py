"""The schema for editors: it describes every key and every part, takes what is right and refuses what is not."""

import copy
import functools
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from granite.config import loader, testbed
from granite.config.controller import Safety
from granite.config.devices.thrusters import Thrusters
from granite.config.events import EVENTS
from granite.config.parts import FAMILIES, find, options_of, registry
from granite.config.schema import bed_schema, field_comments

PRESETS = sorted((Path(loader.__file__).parent / "testbeds").glob("*.toml"))
ROBOTS = sorted((Path(__file__).parents[1] / "robots").glob("*.toml"))
#: takes seconds, so not while tests are collected
schema = functools.cache(bed_schema)


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    for inner in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
        yield from nodes(inner)
    if isinstance(node, dict):
        yield node


def test_it_is_json_and_every_reference_leads_to_a_definition():
    references = {node["$ref"] for node in nodes(schema()) if isinstance(node.get("$ref"), str)}
    assert {ref.removeprefix("#/definitions/") for ref in references} <= set(schema()["definitions"])
    assert json.loads(json.dumps(schema(), allow_nan=False)) == schema()


def test_defaults_are_there_but_for_none_which_toml_does_not_have():
    simulation = schema()["definitions"]["Simulation"]["properties"]
    assert simulation["physics_step_s"]["default"] == 0.001
    assert simulation["audit"]["default"] is False
    assert not [node for node in nodes(schema()) if "default" in node and node["default"] is None]


def test_it_has_every_key_of_a_testbed_and_the_variants():
    assert set(schema()["properties"]) == {*testbed.Testbed.model_fields, "variants", "plain"}


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "contact"])
def test_every_kind_of_a_family_is_there_with_its_options(family):
    for kind in registry(family):
        described = schema()["definitions"][f"{family}_{kind}"]
        assert set(described["properties"]) == set(options_of(family, find(family, kind)).model_fields)
        assert described["properties"]["kind"] == {"enum": [kind]}
        assert {"$ref": f"#/definitions/{family}_{kind}"} in schema()["definitions"][family]["anyOf"]


def test_events_and_contacts_are_described_as_well():
    assert len(schema()["definitions"]["TimedEvent"]["anyOf"]) == len(EVENTS)
    contact = schema()["definitions"]["Contact"]["properties"]
    assert contact["kind"]["enum"] == list(registry("contact"))
    assert "pitch_m_rad" in contact["parameters"]["properties"]


def test_comments_of_the_source_are_the_descriptions():
    assert field_comments(Safety)["start_up_s"] == "time limit for the first frame of every sensor"
    assert field_comments(Thrusters)["driver"] == "the driver of the real device; without one it can only be simulated"
    safety = schema()["definitions"]["Safety"]["properties"]
    assert safety["start_up_s"]["description"] == field_comments(Safety)["start_up_s"]


@pytest.fixture(scope="module")
def validator() -> Any:
    draft_7 = pytest.importorskip("jsonschema").Draft7Validator
    draft_7.check_schema(schema())
    return draft_7(schema())


@pytest.mark.parametrize("path", [*PRESETS, *ROBOTS], ids=lambda path: path.stem)
def test_every_preset_is_valid(validator, path):
    complaints = validator.iter_errors(tomllib.loads(path.read_text()))
    assert [f"{list(error.absolute_path)}: {error.message}" for error in complaints] == []


def misspelt_key(bed: dict[str, Any]) -> None:
    bed["modules"][0]["bodies"][0]["mas_kg"] = 1.0


def text_for_a_number(bed: dict[str, Any]) -> None:
    bed["loop"]["duration_s"] = "30"


def unknown_part(bed: dict[str, Any]) -> None:
    bed["controller"]["law"] = "sliding_mode"


def unknown_option(bed: dict[str, Any]) -> None:
    bed["controller"]["allocation"]["modulation"] = {"kind": "threshold", "treshold": 0.5}


def unknown_key_of_a_device(bed: dict[str, Any]) -> None:
    bed["devices"]["vision"]["rate"] = 60.0


def negative_period(bed: dict[str, Any]) -> None:
    bed["loop"]["period_s"] = -0.01


def missing_modules(bed: dict[str, Any]) -> None:
    del bed["modules"]


WRONG = [
    misspelt_key, text_for_a_number, unknown_part, unknown_option, unknown_key_of_a_device, negative_period,
    missing_modules,
]  # fmt: skip


@pytest.mark.parametrize("spoil", WRONG, ids=lambda spoil: spoil.__name__)
def test_what_is_wrong_is_marked(validator, spoil):
    bed = copy.deepcopy(tomllib.loads(next(p for p in PRESETS if p.stem == "atmos").read_text()))
    assert validator.is_valid(bed)
    spoil(bed)
    assert not validator.is_valid(bed)


def own_law(bed: dict[str, Any]) -> None:
    bed["controller"]["law"] = {"kind": "my_lab.py:SlidingMode", "width": 3.0}


def own_law_by_name(bed: dict[str, Any]) -> None:
    bed["controller"]["law"] = "my_lab.py:SlidingMode"


def device_of_another_name(bed: dict[str, Any]) -> None:
    bed["devices"]["camera"] = {"kind": "vision", "rate_hz": 30.0}


@pytest.mark.parametrize(
    "change", [own_law, own_law_by_name, device_of_another_name], ids=lambda change: change.__name__
)
def test_parts_of_a_user_and_devices_of_any_name_are_taken(validator, change):
    bed = tomllib.loads(next(p for p in PRESETS if p.stem == "atmos").read_text())
    change(bed)
    assert [error.message for error in validator.iter_errors(bed)] == []
