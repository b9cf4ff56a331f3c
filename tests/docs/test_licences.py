"""The page of licences is that of the locked packages, as their own metadata have it."""

import importlib.util
import re
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("licences", ROOT / "docs" / "licences.py")
assert spec is not None
assert spec.loader is not None
licences = importlib.util.module_from_spec(spec)
spec.loader.exec_module(licences)

ROWS = dict(re.findall(r"^\| ([\w.-]+) \| (.+) \|$", licences.PAGE.read_text(), re.MULTILINE)[1:])


def test_the_page_has_every_locked_package_in_its_version() -> None:
    locked = licences.locked()
    assert list(ROWS) == list(locked)
    for name, package in locked.items():
        version, _, purpose = ROWS[name].split(" | ")
        assert (version, purpose) == (", ".join(package.versions), package.purpose)


@pytest.mark.parametrize("name", ROWS)
def test_the_licence_is_that_of_the_package(name: str) -> None:
    _, licence, _ = ROWS[name].split(" | ")
    assert licence
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError:
        pytest.skip("not installed")
    if installed in licences.locked()[name].versions:
        assert licence == licences.licence_of(name)
