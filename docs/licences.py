"""Writes docs/licences.csv: the licence of every locked package, from the metadata of what is installed."""

from __future__ import annotations

import csv
import io
import re
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "licences.csv"
#: what the packages of a lock are needed for; the first lock that has a package counts
LOCKS = {
    "requirements": "run",
    "requirements-build": "install",
    "requirements-dev": "test",
    "requirements-docs": "docs",
}
#: of packages whose metadata name none, or that are installed on other systems only: from their licence files
_KNOWN = {"cmeel-qhull": "Qhull", "colorama": "BSD-3-Clause", "pywin32": "PSF-2.0", "rich-click": "MIT"}
_LONGEST = 70
_HEADINGS = ("package", "version", "licence", "needed to")


class Locked(NamedTuple):
    """A package in the locks: its versions, which may depend on the system, and its purpose."""

    versions: tuple[str, ...]
    purpose: str


def locked() -> dict[str, Locked]:
    """Every package in the locks, by name."""
    found: dict[str, Locked] = {}
    for lock, purpose in LOCKS.items():
        text = (ROOT / f"{lock}.lock").read_text()
        for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE):
            earlier = found.get(name, Locked((), purpose))
            found[name] = earlier._replace(versions=tuple(dict.fromkeys((*earlier.versions, version))))
    return dict(sorted(found.items()))


def licence_of(package: str) -> str:
    """The licence in a package's metadata: its SPDX expression, a short text, or its classifiers.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        Where it is not installed.
    """
    if package in _KNOWN:
        return _KNOWN[package]
    about = metadata.metadata(package)
    if expression := about.get("License-Expression"):
        return expression
    text = about.get("License") or ""
    if 0 < len(text) <= _LONGEST and "\n" not in text:
        return text
    classifiers = [line.split(" :: ")[-1] for line in about.get_all("Classifier") or [] if line.startswith("License")]
    return ", ".join(classifiers)


def table() -> str:
    """The whole table, as CSV."""
    text = io.StringIO()
    rows = [
        (name, ", ".join(package.versions), licence_of(name), package.purpose) for name, package in locked().items()
    ]
    csv.writer(text, lineterminator="\n").writerows([_HEADINGS, *rows])
    return text.getvalue()


if __name__ == "__main__":
    TABLE.write_text(table())
