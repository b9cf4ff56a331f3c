"""The table of licences is that of the locked packages, as their own metadata have it."""

import csv
import importlib.util
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("licences", ROOT / "docs" / "licences.py")
assert spec is not None
assert spec.loader is not None
licences = importlib.util.module_from_spec(spec)
spec.loader.exec_module(licences)

with licences.TABLE.open(newline="") as file:
    ROWS = {row["package"]: row for row in csv.DictReader(file)}


def test_the_table_has_every_locked_package_in_its_version() -> None:
    locked = licences.locked()
    assert list(ROWS) == list(locked)
    for name, package in locked.items():
        row = ROWS[name]
        assert (row["version"], row["needed to"]) == (", ".join(package.versions), package.purpose)


@pytest.mark.parametrize("name", ROWS)
def test_the_licence_is_that_of_the_package(name: str) -> None:
    licence = ROWS[name]["licence"]
    assert licence
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError:
        pytest.skip("not installed")
    if installed in licences.locked()[name].versions:
        assert licence == licences.licence_of(name)
