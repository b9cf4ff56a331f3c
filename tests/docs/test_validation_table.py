"""The table of claims says of each whether Granite gave its value, or a transcription of the source."""

import csv

from tests.support.pages import ROOT
from tests.validation.transcribed import TRANSCRIBED, by


def test_every_claim_says_what_gave_its_value():
    with (ROOT / "docs" / "validation.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["by"] for row in rows] == [by(row["test"], row["claim"]) for row in rows]
    transcribed = [row["test"] for row in rows if row["by"] == "transcription"]
    assert set(transcribed) == set(TRANSCRIBED)
    assert f"({len(transcribed)} of {len(rows)} rows;" in (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
