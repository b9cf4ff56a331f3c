"""Names of the product's classes: each means one thing, and is a noun."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

from tests.support.packages import PACKAGES

ROOT = Path(__file__).resolve().parent.parent

#: a participle alone, or a verb in the third person: `Tried`, `Seen`, `Estimates`, `TakesPictures`
VERB = re.compile(
    r"_*("
    r"(?!Testbed)[A-Z][a-z]*ed"
    r"|Far|Found|Given|Held|Kept|Known|Lost|Need|Seen|Sent|Shown|Told|Understood|Written"
    r"|Ask|Following|Waiting|Watching"
    r"|(Allocates|Answers|Asks|Controls|Decides|Estimates|Knows|Needs|Reads|Sees|Takes|Tries|Writes)([A-Z]\w*)?"
    r")"
)


@functools.cache
def class_names(packages: tuple[str, ...] = PACKAGES) -> dict[str, list[str]]:
    """By name of the class: the files that define it. One inside a function or class is not counted."""
    files = defaultdict(list)
    for path in sorted(file for package in packages for file in (ROOT / package).rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                files[node.name].append(str(path.relative_to(ROOT)))
    return files


def test_no_two_classes_have_the_same_name() -> None:
    twice = {name: files for name, files in class_names().items() if len(files) > 1}
    assert not twice


def test_the_search_finds_classes() -> None:
    names = class_names()
    assert names["ContactSet"] == ["mrds/contacts/contact_set.py"]
    assert len(names) > 200


def test_a_class_is_a_noun() -> None:
    names = [*class_names(), *class_names(("tests", "benchmarks"))]
    assert not [name for name in names if VERB.fullmatch(name)]
