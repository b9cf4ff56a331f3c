"""Claims of acceptance tests: each one is asserted, and kept for the table `docs/validation.csv`."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from tests.validation.transcribed import by

#: in the order of the table
SOURCES = ("MRDS", "Lilly-Orin", "FLX", "Stanford", "Sun")


@dataclass(frozen=True)
class Claim:
    """One row of the table."""

    source: str
    test: str  #: number in the source's list, `12` or `L03` or `F10`
    what: str
    expected: str
    got: str
    tolerance: str

    @property
    def name(self) -> str:
        """Source and number."""
        return f"{self.source} {self.test}"

    @property
    def number(self) -> str:
        """As it stands in names of tests: `f10`, `l03`, `mrds12`, always of two digits."""
        return self.test.lower() if self.test[0].isalpha() else f"{self.source.lower()}{int(self.test):02d}"


@dataclass
class Claims:
    """What the tests of a run claimed. Every method fails the test if its claim does not hold."""

    rows: list[Claim] = field(default_factory=list)

    def equal(
        self, test: str, what: str, expected: ArrayLike, got: ArrayLike, tolerance: float, unit: str = ""
    ) -> None:
        """Every number of `got` is within `tolerance` of its fellow in `expected`."""
        self._row(test, what, _shown(expected, unit), _shown(got, unit), f"{tolerance:.3g}")
        off = np.abs(np.asarray(got, dtype=float) - np.asarray(expected, dtype=float)).max(initial=0.0)
        assert off <= tolerance, f"{test}, {what}: expected {_shown(expected, unit)}, got {_shown(got, unit)}"

    def near(self, test: str, what: str, expected: float, got: float, relative: float, unit: str = "") -> None:
        """`got` is within a part of `expected`."""
        self._row(test, what, _shown(expected, unit), _shown(got, unit), f"{100 * relative:.3g} %")
        off = abs(float(got) - expected)
        assert off <= relative * abs(expected), f"{test}, {what}: expected {expected}, got {got}"

    def below(self, test: str, what: str, bound: float, got: float, unit: str = "") -> None:
        """`got` is at most `bound`: errors, residuals."""
        self._row(test, what, f"at most {_shown(bound, unit)}", _brief(got, unit), "")
        assert got <= bound, f"{test}, {what}: expected at most {bound}, got {got}"

    def above(self, test: str, what: str, bound: float, got: float, unit: str = "") -> None:
        """`got` is at least `bound`: what must fail does fail."""
        self._row(test, what, f"at least {_shown(bound, unit)}", _brief(got, unit), "")
        assert got >= bound, f"{test}, {what}: expected at least {bound}, got {got}"

    def between(self, test: str, what: str, least: float, most: float, got: float, unit: str = "") -> None:
        """`got` lies in a range."""
        self._row(test, what, f"{_shown(least)} to {_shown(most, unit)}", _brief(got, unit), "")
        assert least <= got <= most, f"{test}, {what}: expected {least} to {most}, got {got}"

    def write(self, table: Path) -> None:
        """The table of all claims."""
        ordered = sorted(
            self.rows, key=lambda row: (SOURCES.index(row.source), int("".join(filter(str.isdigit, row.test))))
        )
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["test", "claim", "by", "expected", "got", "tolerance"])
            writer.writerows([r.name, r.what, by(r.name, r.what), r.expected, r.got, r.tolerance] for r in ordered)

    def _row(self, test: str, what: str, expected: str, got: str, tolerance: str) -> None:
        source, number = test.split()
        if source not in SOURCES:
            raise ValueError(f"{test}: expected one of {', '.join(SOURCES)}, then a number")
        self.rows.append(Claim(source, number, what, expected, got, tolerance))


def check_name(test: str, made: list[Claim]) -> None:
    """A test is named after what it claims, `test_f09_f10_...`: `pytest -k F10` finds all that is claimed of F10."""
    leading = re.match(r"test((?:_(?:f|l|mrds|stanford|sun)\d\d)*)_", test)
    named = set(leading[1].split("_")[1:]) if leading else set()
    claimed = {claim.number for claim in made}
    if named != claimed:
        raise ValueError(f"{test}: named after {sorted(named)}, but claims {sorted(claimed)}")


def _shown(value: ArrayLike, unit: str = "") -> str:
    numbers = ", ".join(f"{x:.10g}" for x in np.atleast_1d(np.asarray(value, dtype=float)).ravel())
    return f"{numbers} {unit}".strip()


def _brief(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}".strip()
