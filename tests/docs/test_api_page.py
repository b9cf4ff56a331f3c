"""The page of the Python API has every public name once, in a group of its purpose."""

import re

import granite
from tests.support.pages import ROOT


def test_every_public_name_is_on_the_page():
    page = (ROOT / "docs" / "api.md").read_text()
    assert sorted(re.findall(r"^\.\. auto(?:class|function):: granite\.(\w+)$", page, re.MULTILINE)) == granite.__all__
