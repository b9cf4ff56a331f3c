"""The index lists every page by its title, which is a noun with the page's question beneath it."""

import os
import re

import pytest

from tests.support.pages import NAMES, ROOT

INDEX = {
    os.path.normpath(f"docs/{path}"): title
    for title, path in re.findall(r"^- \[(.+?)\]\((.+?)\)", (ROOT / "docs" / "README.md").read_text(), re.MULTILINE)
}


def test_the_index_lists_every_page():
    assert {*INDEX} == {*NAMES} - {"README.md", "docs/README.md"}


@pytest.mark.parametrize("name", [name for name in INDEX if name != "CHANGELOG.md"])
def test_a_page_has_its_title_of_the_index_and_its_question(name: str):
    title, _, question = (ROOT / name).read_text().splitlines()[:3]
    assert title == f"# {INDEX[name]}"
    assert re.fullmatch(r"\*[A-Z].+[?.]\*", question)
