"""The testbeds that come with Granite, as tables, one for each group: short ones, or with a row for each variant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from granite.config.catalogue import CatalogueEntry, Traits
from granite.views.table import table

_INDENT = "  "


def beds_tables(groups: Mapping[str, Sequence[CatalogueEntry]]) -> Iterator[Table]:
    """A table for each group. A column that is the same in all rows is left out."""
    for title, beds in groups.items():
        rows = [row for entry in beds for row in _rows(entry)]
        columns = ["bed", "controls", "links", "space", "what it is"]
        usual = {"controls": "", "links": "rigid", "space": "planar"}
        kept = [i for i, name in enumerate(columns) if any(row[i] not in ("", usual.get(name)) for row in rows)]
        yield table(title, [columns[i] for i in kept], [[row[i] for i in kept] for row in rows], sentences=1)


def first_tables(groups: Mapping[str, Sequence[CatalogueEntry]]) -> Iterator[Table]:
    """A short table for each group but the validation systems: titles, and the names of variants."""
    for title, beds in groups.items():
        rows = [
            [entry.name, _without_source(entry.traits.title), ", ".join(entry.variants)]
            for entry in beds
            if entry.use != "validation"
        ]
        if rows:
            yield table(title, ["bed", "what it is", "variants"], rows, sentences=2)


def beds_json(groups: Mapping[str, Sequence[CatalogueEntry]]) -> list[dict[str, Any]]:
    """The same for scripts, whole titles and all."""
    return [
        {
            "bed": entry.name,
            "group": group,
            "use": entry.use,
            **_traits_json(entry.traits),
            "variants": {name: _traits_json(traits) for name, traits in entry.variants.items()},
        }
        for group, beds in groups.items()
        for entry in beds
    ]


def _rows(entry: CatalogueEntry) -> Iterator[list[str]]:
    yield [entry.name, *_words(entry.traits), _without_source(entry.traits.title)]
    for name, traits in entry.variants.items():
        pairs = zip(_words(traits), _words(entry.traits), strict=True)
        differing = [word if word != of_preset else "" for word, of_preset in pairs]
        yield [f"{_INDENT}{name}", *differing, _difference(entry.traits.title, traits.title)]


def _words(traits: Traits) -> tuple[str, str, str]:
    return (
        traits.controls,
        "flexible" if traits.flexible else "rigid",
        "spatial" if traits.spatial else "planar",
    )


def _traits_json(traits: Traits) -> dict[str, Any]:
    return {
        "title": traits.title,
        "controls": traits.controls,
        "flexible": traits.flexible,
        "spatial": traits.spatial,
    }


def _without_source(title: str) -> str:
    """A title without the source in brackets at its end, which `granite show` has."""
    return re.sub(r"\s*\([^()]*\)$", "", title)


def _difference(title: str, of_variant: str) -> str:
    """The title of a variant without the words at the start that its preset has too."""
    words, known = _without_source(of_variant).split(), _without_source(title).split()
    same = 0
    while same < min(len(words), len(known)) and words[same].strip(",:") == known[same].strip(",:"):
        same += 1
    if same < len(words) and words[same][0].isdigit():
        same = max(same - 1, 0)  # a number belongs to the word before it
    return " ".join(words[same:] or words)
