"""One name means one thing: no two classes of the product have the same name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from tests.support.packages import PACKAGES

ROOT = Path(__file__).resolve().parent.parent


def class_names() -> dict[str, list[str]]:
    """By name of the class: the files that define it. A class inside a function or class is local and not counted."""
    found = defaultdict(list)
    for path in sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(ROOT)))
    return found


def test_no_two_classes_have_the_same_name() -> None:
    twice = {name: files for name, files in class_names().items() if len(files) > 1}
    assert not twice


def test_the_search_finds_classes() -> None:
    names = class_names()
    assert names["ContactSet"] == ["mrds/contacts/contact_set.py"]
    assert len(names) > 200
