"""The JSON Schema of a testbed's file, for editors: all tables, and every kind of part with its options.

It describes a TOML file, which allows a little more than the tables themselves: a module may name a URDF or another
module, a part may be named by its kind alone, there are variants, and there is no null. Draft 7, which editors of TOML
know. Conditions on more than one key are checked by the loader.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from granite.config.base import Table
from granite.config.events import EVENTS
from granite.config.parts import FAMILIES, USUAL, find, options_of, registry
from granite.config.testbed import Testbed

Schema = dict[str, Any]
#: a class in a file of the user
_OWN = {"type": "string", "pattern": r"\.py:\w+$"}
_REF = "#/definitions/"
#: keywords below which the same field is meant
_WRAPS = ("anyOf", "allOf", "items")
#: how definitions end that a file does not have
_UNUSED = ("PartTable", "LawTable", "CalibrationTable", "CalibratedValue")
_COMMENT = re.compile(r"\s*#: ?(.*)")
_FIELD = re.compile(r" {4}(\w+): [^#]*(?:#: ?(.*))?")


class _Generator(GenerateJsonSchema):
    """Describes fields by the comments in the source, and leaves out titles that only repeat their names."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        description = super().model_schema(schema)
        comments = field_comments(schema["cls"])
        for name, field in description.get("properties", {}).items():
            field.pop("title", None)
            if name in comments:
                field["description"] = comments[name]
        return description


def bed_schema() -> Schema:
    """The schema as a tree of JSON."""
    schema = _schema_of(Testbed, "")
    definitions: Schema = schema["definitions"]
    for family in FAMILIES:
        if family != "contact":
            definitions |= _family(family)
    definitions["TimedEvent"] = {"anyOf": [_kind(definitions, table, "event", kind) for kind, table in EVENTS.items()]}
    definitions |= _contact(definitions["Contact"])
    _as_in_a_file(schema)
    tidied: Schema = _tidied(schema)
    # Nothing refers to these any more: each part is that of a family, a calibration is named by its file.
    tidied["definitions"] = {n: d for n, d in tidied["definitions"].items() if not n.endswith(_UNUSED)}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **tidied, "title": "Granite testbed"}


def _schema_of(table: Any, prefix: str) -> Schema:
    schema: Schema = table.model_json_schema(
        ref_template=f"{_REF}{prefix}{{model}}", schema_generator=_Generator, mode="validation"
    )
    inner = schema.pop("$defs", {})
    return {**schema, "definitions": {f"{prefix}{name}": definition for name, definition in inner.items()}}


def _family(family: str) -> Schema:
    """Definitions of a family and of each of its kinds; a part without options may be named by its kind alone."""
    definitions: Schema = {}
    kinds = registry(family)
    choices = [
        _kind(definitions, options_of(family, find(family, kind)), family, kind, usual=USUAL.get(family) == kind)
        for kind in kinds
    ]
    names: list[Schema] = [{"type": "string", "enum": list(kinds)}] if kinds else []
    by_file = {"type": "object", "properties": {"kind": _OWN}, "required": ["kind"]}
    definitions[family] = {"anyOf": [*choices, *names, _OWN, by_file]}
    return definitions


def _kind(definitions: Schema, table: Any, family: str, kind: str, usual: bool = False) -> Schema:
    """A reference to the definition of one kind, which is added to the others."""
    name = f"{family}_{kind}"
    schema = _schema_of(table, f"{name}_")
    definitions |= schema.pop("definitions")
    schema["title"] = f"{family} {kind}"
    schema["properties"]["kind"] = {"enum": [kind]}
    schema["required"] = [key for key in schema.get("required", ()) if key != "kind" or not usual]
    definitions[name] = schema
    return {"$ref": f"{_REF}{name}"}


def _contact(contact: Schema) -> Schema:
    """A contact with its kinds, and the parameters that they take."""
    kinds = registry("contact")
    parameters: Schema = {}
    for name, parameter in ((n, p) for kind in kinds for n, p in find("contact", kind).parameters.items()):
        parameters[name] = {"type": "number", "description": parameter.expected}
    table = {
        "description": contact["properties"]["parameters"].get("description", ""),
        "type": "object", "properties": parameters, "additionalProperties": False,
    }  # fmt: skip
    properties = {**contact["properties"], "kind": {"enum": list(kinds)}, "parameters": table}
    return {"Contact": {**contact, "properties": properties}}


def _as_in_a_file(schema: Schema) -> None:
    """Keys of a file that the loader resolves, and keys that it may leave out."""
    definitions = schema["definitions"]
    schema["properties"]["plain"] = {"type": "string", "description": "the variant that the file's name alone means"}
    schema["properties"]["variants"] = {
        "description": "changes to the rest of the file, by the name of the variant",
        "type": "object", "additionalProperties": {"type": "object"},
    }  # fmt: skip
    module = definitions["Module"]
    module["properties"]["urdf"] = {"description": "path of a URDF file with bodies and joints", "type": "string"}
    module["properties"]["like"] = {"description": "a module before it of which this is a copy", "type": "string"}
    module["properties"]["urdf_motors"] = {
        "description": "whether the efforts of the URDF are motors", "type": "boolean", "default": True
    }  # fmt: skip
    module["properties"]["urdf_mimic"] = {
        "description": "joints of the URDF that mimic others", "enum": ["refuse", "lock"], "default": "refuse"
    }  # fmt: skip
    module["required"] = ["name"]
    definitions["Body"]["required"] = ["name"]
    definitions["Body"]["anyOf"] = [{"required": ["mass_kg", "inertia_kg_m2"]}, {"required": ["flexible"]}]
    named = {"file": {"type": "string"}, "max_age_days": {"type": "number", "exclusiveMinimum": 0}}
    table = {"type": "object", "properties": named, "required": ["file"], "additionalProperties": False}
    one = [{"description": "a file that granite calibrate wrote", "type": "string"}, table]
    for holder in definitions.values():
        if "calibration" in holder.get("properties", {}):
            description = holder["properties"]["calibration"].get("description", "")
            several = {"type": "array", "items": {"anyOf": one}}
            holder["properties"]["calibration"] = {"description": description, "anyOf": [*one, several]}
    devices = schema["properties"]["devices"]
    pattern = next(iter(devices.pop("patternProperties")))
    devices["propertyNames"] = {"pattern": pattern}
    # The kind of a device is its name, where none is given.
    devices["properties"] = {}
    for kind in registry("device"):
        named = definitions[f"device_{kind}"]
        required = [key for key in named["required"] if key != "kind"]
        definitions[f"device_called_{kind}"] = {**named, "required": required}
        devices["properties"][kind] = {"anyOf": [{"$ref": f"{_REF}device_called_{kind}"}, {"$ref": f"{_REF}device"}]}
    devices["additionalProperties"] = {"$ref": f"{_REF}device"}


def _tidied(node: Any, key: str = "") -> Any:
    """Without null, which TOML does not have; parts as their families; tuples and references as draft 7 has them."""
    if isinstance(node, list):
        return [_tidied(inner, key) for inner in node if inner != {"type": "null"}]
    if not isinstance(node, dict):
        return node
    tidied = {
        name: _tidied(inner, key if name in _WRAPS else name)
        for name, inner in node.items()
        if name != "default" or inner is not None
    }
    if str(tidied.get("$ref", "")).endswith(("PartTable", "LawTable")):
        tidied["$ref"] = f"{_REF}{key}"  # the field of a part has the name of its family
    if "prefixItems" in tidied:
        tidied["items"] = tidied.pop("prefixItems")
    if len(tidied.get("anyOf", ())) == 1:
        tidied = {**tidied.pop("anyOf")[0], **tidied}
    if "$ref" in tidied and len(tidied) > 1:
        tidied["allOf"] = [{"$ref": tidied.pop("$ref")}]
    return tidied


def field_comments(table: type[Table]) -> dict[str, str]:
    """The comment of each field that has one, also of fields that the table inherits."""
    comments: dict[str, str] = {}
    for cls in reversed(table.__mro__):
        if issubclass(cls, Table):
            comments |= _own_comments(cls)
    return comments


@functools.cache
def _own_comments(table: type[Table]) -> Mapping[str, str]:
    try:
        lines = inspect.getsource(table).splitlines()
    except (OSError, TypeError):  # made at run time, or its file is gone
        return {}
    indent = len(lines[0]) - len(lines[0].lstrip())
    comments: dict[str, str] = {}
    above: list[str] = []
    for line in (line[indent:] for line in lines):
        if comment := _COMMENT.fullmatch(line):
            above.append(comment[1])
            continue
        if field := _FIELD.match(line):
            text = " ".join([*above, field[2] or ""]).strip()
            comments |= {field[1]: text} if text else {}
        above = []
    return comments
