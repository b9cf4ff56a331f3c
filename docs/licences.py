"""Writes docs/licences.md: the licence of every locked package, from the metadata of what is installed."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
#: what the packages of a lock are needed for; the first lock that has a package counts
LOCKS = {
    "requirements": "run",
    "requirements-build": "install",
    "requirements-dev": "test",
    "requirements-docs": "docs",
}
#: of packages whose metadata name none, or that are installed on other systems only: from their licence files
_KNOWN = {"cmeel-qhull": "Qhull", "colorama": "BSD-3-Clause", "pywin32": "PSF-2.0"}
_LONGEST = 70
_HEAD = """# Licences

*Which licences do the dependencies have?*

Granite itself has the Apache licence 2.0 ([LICENSE](../LICENSE)). It contains no code of these
packages: they are installed beside it. The page of the console contains uPlot 1.6.32 (MIT,
`console/page/vendor`). The table is written by `make licences` from the packages' own metadata,
for the versions in `requirements*.lock`.

| package | version | licence | needed to |
|---|---|---|---|
"""


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


def page() -> str:
    """The whole page."""
    rows = [
        f"| {name} | {', '.join(package.versions)} | {licence_of(name)} | {package.purpose} |\n"
        for name, package in locked().items()
    ]
    return _HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page())
