"""The picture and the page of the architecture are those of the import contracts, and the files of the page exist."""

import re
import tomllib

import pytest

from tests.support.pages import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
CONTRACTS = {
    contract["name"]: contract.get("layers", [])
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}


def names(layer: str) -> list[str]:
    return [name.strip().split(".")[-1] for name in layer.split("|")]


def test_the_picture_has_the_floors_of_the_contract():
    picture = (ROOT / "docs" / "architecture.svg").read_text()
    drawn = re.findall(r'class="name" x="22"[^>]*>([^<]+)<', picture)
    assert drawn == [*(" | ".join(names(layer)) for layer in CONTRACTS["Packages import downwards"]), "devices"]


def test_the_page_has_every_contract_and_the_rooms_of_the_run_in_their_order():
    rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", PAGE, re.MULTILINE))
    assert set(CONTRACTS) <= set(rows)
    rooms = rows["Rooms of the run"].partition("from the top: ")[2].split("; ")
    assert [re.findall(r"\w+", room) for room in rooms] == [names(layer) for layer in CONTRACTS["Rooms of the run"]]


@pytest.mark.parametrize("row", re.findall(r"^\| an? .+$", PAGE, re.MULTILINE))
def test_files_to_open_exist(row: str):
    for file in re.findall(r"`(\w+/[\w/]+\.py)`", row.split(" | ")[1]):
        path = ROOT / file
        assert path.exists() or (path.stem == "NAME" and path.parent.is_dir()), file
