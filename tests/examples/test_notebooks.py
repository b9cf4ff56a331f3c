"""Every notebook runs in an empty folder, shows what it is stored with, and is listed on the examples' page."""

import json
import re
from pathlib import Path

import pytest

from docs.notebooks import FOLDER, execute
from tests.firmware.emulated import need
from tests.support.pages import ROOT

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def shown(cells: list[dict]) -> list[list[tuple[str, ...]]]:
    """The kinds of output of each cell."""
    return [[(output["output_type"], *output.get("data", ())) for output in cell.get("outputs", ())] for cell in cells]


def test_every_notebook_is_listed_on_the_page_of_the_examples():
    page = (ROOT / "examples" / "README.md").read_text()
    assert sorted(re.findall(r"\((notebooks/.+?)\)", page)) == [
        str(path.relative_to(ROOT / "examples")) for path in NOTEBOOKS
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_is_stored_with(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    need("cc")
    monkeypatch.chdir(tmp_path)
    cells = json.loads(path.read_text())["cells"]
    stored = shown(cells)
    execute(cells)
    assert shown(cells) == stored
