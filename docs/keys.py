"""The key reference of the site (docs/keys.md): every key of a testbed's file, from its JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import tau
from typing import Any, NamedTuple

from granite.config.parts import FAMILIES, USUAL
from granite.config.schema import bed_schema

Schema = dict[str, Any]

#: units at the end of a key
UNITS = {
    "m_s2_per_rthz": "m/s^2/sqrt(Hz)", "rad_s2_per_rthz": "rad/s^2/sqrt(Hz)", "rad_s_per_rts": "rad/s/sqrt(s)",
    "m_s2": "m/s^2", "rad_s2": "rad/s^2", "m_s": "m/s", "rad_s": "rad/s", "m_rad": "m/rad", "s_rad": "s/rad",
    "n_m_s_rad": "N m s/rad", "n_m_rad_s": "N m/(rad s)", "n_m_rad": "N m/rad", "n_s_m": "N s/m", "n_m_s": "N m/s",
    "n_m2": "N m^2", "n_m": "N m", "n_s": "N s", "kg_m2": "kg m^2", "kg_m": "kg/m",
    "1_m2": "1/m^2", "1_rad2": "1/rad^2", "s2_m2": "s^2/m^2", "s2_rad2": "s^2/rad^2", "1_n2": "1/N^2", "1_n": "1/N",
    "1_s3": "1/s^3", "1_s2": "1/s^2", "1_s": "1/s", "m2": "m^2", "m3": "m^3", "kg": "kg", "pa": "Pa", "hz": "Hz",
    "px": "px", "counts": "counts", "ppm": "ppm", "mb": "MB", "days": "d", "bits": "bit", "sigma": "1 sigma",
    "g": "g", "rad": "rad", "m": "m", "s": "s", "n": "N", "1_m": "1/m", "n_m_per_a": "N m/A", "": "",
}  # fmt: skip
#: keys whose unit differs from that of their ending
OTHER_UNITS = {"stiffness_n_m": "N/m", "damping_n_m_s": "N m s/rad", "polar_inertia_kg_m": "kg m", "per_s": "1/s"}
_REF = "#/definitions/"
_NAME = "^[a-z][a-z0-9_]*$"
_WORDS = {"number": "number", "integer": "whole number", "string": "text", "boolean": "true or false"}


class KeyTable(NamedTuple):
    """A table of the file, with its keys."""

    path: str  #: for instance controller.law.gains.NAME
    kind: str  #: of the part that it configures; empty elsewhere
    within: str  #: kind of the part that it is a table of; empty elsewhere
    text: str  #: what it holds
    keys: dict[str, Schema]
    required: tuple[str, ...]

    @property
    def title(self) -> str:
        """The heading."""
        kind = f", kind {self.kind}" if self.kind else f" of {self.within}" if self.within else ""
        return f"{self.path}{kind}"

    @property
    def anchor(self) -> str:
        """The target of links."""
        return "keys-" + re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def unit_of(key: str) -> str:
    """The unit of a key by the end of its name; empty where it has none."""
    if key in OTHER_UNITS:
        return OTHER_UNITS[key]
    return UNITS[max((end for end in UNITS if f"_{key}".endswith(f"_{end}")), key=len, default="")]


class Reference:
    """All tables, each at the first path that leads to it."""

    def __init__(self) -> None:
        schema = bed_schema()
        self._definitions: Schema = schema["definitions"]
        contact = self._definitions["Contact"]["properties"]["kind"]
        contact.setdefault("description", "one that comes with Granite, or FILE.py:CLASS for one of your own")
        self._found: dict[str, KeyTable] = {}  # by content: parts of one family have inner tables in common
        self._add(schema, "top level")

    @property
    def tables(self) -> tuple[KeyTable, ...]:
        """In the order of the file."""
        return tuple(self._found.values())

    def page(self) -> str:
        """The reference in Markdown of MyST."""
        return "\n".join(line for table in self.tables for line in self._lines(table))

    def _add(self, schema: Schema, path: str, kind: str = "", within: str = "", common: Schema | None = None) -> None:
        identity = self._identity(schema)
        if identity in self._found and not kind:
            return
        shared = common or {}
        keys = {
            key: field for key, field in schema.get("properties", {}).items()
            if key not in shared and not (kind and key == "kind")
        }  # fmt: skip
        required = tuple(schema.get("required", ()))
        self._found[identity] = KeyTable(path, kind, within, schema.get("description", ""), keys, required)
        root = "" if path == "top level" else f"{path}."
        for key, field in keys.items():
            for name, inner, many in self._inner(field):
                if name in FAMILIES:
                    self._add_family(name, f"{root}{key}{many}")
                elif name == "TimedEvent":
                    self._add_kinds("event", [c["$ref"] for c in inner["anyOf"]], f"{root}{key}")
                else:
                    self._add(inner, f"{root}{key}{many}", within=kind or within)

    def _add_family(self, family: str, path: str) -> None:
        if any(table.path == path for table in self.tables):
            return
        choices = self._definitions[family]["anyOf"]
        self._add_kinds(family, [choice["$ref"] for choice in choices if "$ref" in choice], path)

    def _add_kinds(self, family: str, references: list[str], path: str) -> None:
        """The keys that all kinds of a part have in common, then those of each."""
        kinds = {name.removeprefix(f"{family}_"): self._definitions[name] for name in map(_name, references)}
        plain = [self._identity_of_keys(kind["properties"]) for kind in kinds.values()]
        common = {key: field for key, field in next(iter(kinds.values()))["properties"].items()
                  if key != "kind" and all(keys.get(key) == plain[0][key] for keys in plain)}  # fmt: skip
        named = {"enum": list(kinds), "description": "the part, or FILE.py:CLASS for one of your own"}
        if family in USUAL:
            named["default"] = USUAL[family]
        if family == "device":
            named["description"] = "the device, or FILE.py:CLASS for one of your own; default: its name"
        if family == "event":
            named["description"] = "what happens"
        every = {"properties": {"kind": named, **common}, "description": "Keys of every kind.", "required":
                 [] if "default" in named or family == "device" else ["kind"]}  # fmt: skip
        self._add(every, path)
        for kind, schema in kinds.items():
            self._add(schema, path, kind, common=common)

    def _inner(self, field: Schema) -> Iterator[tuple[str, Schema, str]]:
        """Name and definition of each table in a key, and what follows the key in its path."""
        for choice in (field, *field.get("allOf", ()), *field.get("anyOf", ())):
            if "$ref" in choice:
                name = _name(choice["$ref"])
                if not name.startswith("device_called_"):
                    yield name, self._definitions[name], ""
            for several in (choice.get("additionalProperties"), *choice.get("patternProperties", {}).values()):
                if isinstance(several, dict):
                    for name, inner, _ in self._inner(several):
                        yield name, inner, ".NAME"
            if isinstance(choice.get("items"), dict):
                for name, inner, _ in self._inner(choice["items"]):
                    yield name, inner, ""
            if choice is field and "properties" in field and "propertyNames" not in field:
                yield "", field, ""

    def _identity(self, schema: Schema) -> str:
        """The same for tables that several parts have in common."""
        plain = self._identity_of_keys(schema.get("properties", {}))
        return json.dumps([schema.get("title"), schema.get("description"), plain], sort_keys=True)

    def _identity_of_keys(self, keys: Schema) -> dict[str, str]:
        return {key: re.sub(rf"{_REF}[a-z_]*(?=[A-Z])", _REF, json.dumps(field)) for key, field in keys.items()}

    def _lines(self, table: KeyTable) -> Iterator[str]:
        level = "##" if "." not in table.path.removesuffix(".NAME") and not table.kind else "###"
        yield from ("", f"({table.anchor})=", f"{level} {table.title}", "")
        if table.text:
            yield from (_escaped(table.text.partition("\n\n")[0]), "")
        if not table.keys:
            yield from ("No keys but its kind." if table.kind else "No keys.", "")
            return
        yield "| Key | Type | Unit | Default | Bounds | Meaning |"
        yield "|---|---|---|---|---|---|"
        for key, field in table.keys.items():
            default = "required" if key in table.required else _default(field)
            meaning = _escaped(field.get("description", ""))
            cells = (f"`{key}`", self._type(field), unit_of(key), default, _bounds(field), meaning)
            yield "| " + " | ".join(cells) + " |"
        yield ""

    def _type(self, field: Schema) -> str:
        for _, definition, many in self._inner(field):
            link = self._link(definition)
            if field.get("type") == "array":
                return f"list of {link.replace('[table]', '[tables]')}"
            return f"{link} by name" if many else link
        return _plain_type(field)

    def _link(self, definition: Schema) -> str:
        if "anyOf" in definition and "properties" not in definition:
            first = next(choice["$ref"] for choice in definition["anyOf"] if "$ref" in choice)
            table = self._found[self._identity(self._definitions[_name(first)])]
            return f"[table](#{table._replace(kind='').anchor})"
        return f"[table](#{self._found[self._identity(definition)].anchor})"


def _name(reference: str) -> str:
    return reference.removeprefix(_REF)


def _plain_type(field: Schema) -> str:
    if "enum" in field:
        return " / ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field or "allOf" in field:
        return " or ".join(dict.fromkeys(_plain_type(choice) for choice in field.get("anyOf", field.get("allOf"))))
    if field.get("type") == "array":
        items = field.get("items")
        if isinstance(items, list):
            kinds = dict.fromkeys(_plain_type(item) for item in items)
            return f"{len(items)} x {' or '.join(kinds)}"
        many, inner = field.get("maxItems"), _plain_type(items or {})
        return f"{many} x {inner}" if many and many == field.get("minItems") else f"list of {inner}"
    if field.get("type") == "object":
        values = field.get("additionalProperties") or next(iter(field.get("patternProperties", {}).values()), None)
        return f"{_plain_type(values)} by name" if isinstance(values, dict) else "table"
    if field.get("type") == "string" and field.get("pattern") == _NAME:
        return "name"
    return _WORDS.get(field.get("type", ""), "any")


def _default(field: Schema) -> str:
    default = field.get("default")
    if isinstance(default, dict) or (default is None and field.get("type") == "object") or default == []:
        return ""
    if default is None:
        return "none" if "enum" not in field and field.get("type") in ("number", "integer", "string") else ""
    if isinstance(default, str | bool):
        return f"`{json.dumps(default)}`" if default != "" else ""
    return _number(default) if isinstance(default, int | float) else re.sub(r"\.0(?=[,\]])", "", json.dumps(default))


def _number(value: float) -> str:
    if abs(value) == tau:
        return "2 pi" if value > 0 else "-2 pi"
    power = value.bit_length() - 1 if isinstance(value, int) else 0
    return f"2^{power}" if power > 20 and value == 2**power else f"{value:.7g}"


def _bounds(field: Schema) -> str:
    words = {"minimum": ">= {}", "exclusiveMinimum": "> {}", "maximum": "<= {}", "exclusiveMaximum": "< {}"}
    bounds = [word.format(_number(field[key])) for key, word in words.items() if key in field]
    least, most = field.get("minItems"), field.get("maxItems")
    if least != most:
        bounds += [f"at least {least}"] * bool(least) + [f"at most {most}"] * bool(most)
    return ", ".join(bounds)


def _escaped(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
