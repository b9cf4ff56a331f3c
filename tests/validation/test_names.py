"""Acceptance tests are named after the numbers of what they claim, and after no others."""

from __future__ import annotations

import pytest

from tests.validation.claims import Claim, check_name


def claim(source: str, number: str) -> Claim:
    return Claim(source, number, "what", "1", "1", "0")


@pytest.mark.parametrize(
    ("name", "claimed"),
    [
        ("test_f07_energy_stays", [("FLX", "F07")]),
        ("test_l01_l02_an_open_chain", [("Lilly-Orin", "L01"), ("Lilly-Orin", "L02"), ("Lilly-Orin", "L01")]),
        ("test_mrds31_modules_by_themselves", [("MRDS", "31")]),
        ("test_sun06_stanford12_5_links", [("Sun", "6"), ("Stanford", "12")]),
        ("test_f_and_l_are_letters", []),
    ],
    ids=["one", "several", "of modules", "of two sources", "none"],
)
def test_a_name_that_says_what_is_claimed_will_do(name: str, claimed: list[tuple[str, str]]) -> None:
    check_name(name, [claim(*one) for one in claimed])


@pytest.mark.parametrize(
    ("name", "claimed", "words"),
    [
        ("test_energy_stays", [("FLX", "F07")], r"named after \[\], but claims \['f07'\]"),
        ("test_f07_energy_stays", [("FLX", "F07"), ("FLX", "F05")], r"claims \['f05', 'f07'\]"),
        ("test_f07_f08_energy_stays", [("FLX", "F08")], r"named after \['f07', 'f08'\]"),
        ("test_f07_energy_stays", [], r"claims \[\]"),
        ("test_mrds03_screws", [("Stanford", "3")], "stanford03"),
        ("test_mrds3_screws", [("MRDS", "3")], "mrds03"),
    ],
    ids=["no number", "too few", "too many", "nothing claimed", "another source", "one digit"],
)
def test_any_other_name_is_refused(name: str, claimed: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_name(name, [claim(*one) for one in claimed])
