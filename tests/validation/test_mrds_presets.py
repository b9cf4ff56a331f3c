"""Bonaventura 2002: the presets `mrds-*`, run by name, end where the acceptance tests say (tests 9 to 23)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from granite.config.loader import load
from granite.rt.run_in_memory import simulate_in_memory
from tests.validation.claims import Claims

pytestmark = pytest.mark.slow


@cache
def flown(name: str) -> Any:
    summary = simulate_in_memory(load(name)).summary
    assert summary["ended"] == "completed", summary["text"]
    assert not summary.get("redundant"), "forces of the contacts are unique"
    return summary


def ends(name: str, *coordinates: str) -> list[float]:
    """Angles at the end of the run [deg]."""
    return [float(np.degrees(flown(name)["final_state"][c]["value"])) for c in coordinates]


def test_mrds09_the_preset_turns_by_half_a_turn(claims: Claims) -> None:
    claims.equal("MRDS 9", "granite sim mrds-1, angle at 10 s", [180.017], ends("mrds-1", "joint"), 0.01, "deg")


def test_mrds13_the_preset_of_system_2a_ends_there(claims: Claims) -> None:
    got = ends("mrds-2a", "joint1")
    claims.equal("MRDS 13", "granite sim mrds-2a, link 1 at 10 s", [195.419], got, 0.02, "deg")


def test_mrds16_the_preset_of_system_2c_ends_there(claims: Claims) -> None:
    got = ends("mrds-2c", "joint1")
    claims.equal("MRDS 16", "granite sim mrds-2c, link 1 at 10 s", [170.868], got, 0.01, "deg")


def test_mrds20_the_preset_of_system_4_ends_there(claims: Claims) -> None:
    got = ends("mrds-4", "arm_joint1", "link3_link_heading", "link4_link_heading")
    expected = [87.036, -848.12, -925.47]
    claims.equal("MRDS 20", "granite sim mrds-4, link 1 at 20 s", expected[:1], got[:1], 0.01, "deg")
    claims.equal("MRDS 20", "granite sim mrds-4, links 3 and 4 at 20 s", expected[1:], got[1:], 0.4, "deg")


def test_mrds21_the_preset_of_system_5a_ends_there(claims: Claims) -> None:
    got = ends("mrds-5a", "arm_joint1", "link3_link_heading", "link4_link_heading")
    claims.equal("MRDS 21", "granite sim mrds-5a, links 1, 3 and 4 at 20 s", [45.022, -48.251, 5.918], got, 0.02, "deg")


def test_mrds22_the_preset_of_system_5c_does_not_flutter(claims: Claims) -> None:
    """The printed, truncated modules break off at 7.18 s; ours are not truncated."""
    claims.equal("MRDS 22", "granite sim mrds-5c goes on to", 13.0, flown("mrds-5c")["duration_s"], 1e-9, "s")


def test_mrds23_the_preset_of_system_5c_ends_where_segments_do(claims: Claims) -> None:
    got = ends("mrds-5c", "arm_joint1", "link3_link_heading", "link4_link_heading")
    expected = [26.949, 127.421, 23.641]
    claims.equal("MRDS 23", "granite sim mrds-5c, links 1, 3 and 4 at 13 s", expected, got, 0.15, "deg")


@pytest.mark.parametrize("name", ["mrds-2b", "mrds-3", "mrds-5b", "mrds-6a", "mrds-6b"])
def test_the_other_presets_reach_their_end(name: str) -> None:
    assert flown(name)["duration_s"] == load(name).loop.duration_s
