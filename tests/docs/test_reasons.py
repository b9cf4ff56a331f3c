"""The table of reasons has every reason once, with its number and the default response to it."""

import csv

from granite.config.reasons import Reason
from granite.config.responses import FAULTS
from tests.support.pages import ROOT

with (ROOT / "docs" / "reasons.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))


def test_the_table_has_every_reason_by_its_number():
    assert [(row["no."], row["name"]) for row in ROWS] == [(str(int(r)), r.name.lower()) for r in sorted(Reason)]


def test_the_table_has_the_default_responses():
    said = {row["name"]: row["response"] for row in ROWS if row["response"] not in ("", "ends")}
    assert said == {name: fault.response for name, fault in FAULTS.items()}
