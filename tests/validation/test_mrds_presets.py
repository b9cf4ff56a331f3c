"""Bonaventura 2002: the presets `mrds-*`, run by name, end where the acceptance tests say (tests 9 to 30)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from granite.config.loader import load
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.flexible_arms import Array
from tests.validation.bonaventura_machine import Hold, Machine, Path, sines
from tests.validation.bonaventura_segments import chain
from tests.validation.bonaventura_systems import arm_angles
from tests.validation.bonaventura_tables import SYSTEM_2B, SYSTEM_5B, SYSTEM_6A, SYSTEM_6B
from tests.validation.bonaventura_two_links import segments
from tests.validation.claims import Claims

pytestmark = pytest.mark.slow


@cache
def log_of(name: str) -> Any:
    log = simulate_in_memory(load(name))
    assert log.summary["ended"] == "completed", log.summary["text"]
    assert not log.summary.get("redundant"), "forces of the contacts are unique"
    return log


def motion(name: str, until: float = np.inf) -> tuple[Array, Array]:
    """Times and coordinates of the plant, tick by tick."""
    log = log_of(name)
    t: Array = log["/truth"]["t_s"]
    kept = t < until + 1e-9
    return t[kept], log.rows[kept][:, log.channels.columns("/truth", "q")]


def angles_at(path: Path, t: Array) -> Array:
    """Angles of the links at these times, which are some of its steps [rad]."""
    rows = np.searchsorted(path.t, t - 1e-9)
    assert np.abs(path.t[rows] - t).max() < 1e-9
    return path.angles[rows]


def flown(name: str) -> Any:
    return log_of(name).summary


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


def test_mrds14_the_preset_of_system_2b_ends_where_segments_do(claims: Claims) -> None:
    """Eight segments a link; the bounds are those of the whole motion."""
    t, q = motion("mrds-2b")
    got = np.degrees(arm_angles(q[-1:], (1.0, 0.5), (2, 2))[0][0])
    expected = np.degrees(angles_at(segments(SYSTEM_2B, 0.0, 8, 0.5), t[-1:])[0])
    for i, bound in enumerate((0.63, 1.245)):
        what = f"granite sim mrds-2b, link {i + 1} at 10 s off eight segments"
        claims.below("MRDS 14", what, bound, abs(got[i] - expected[i]), "deg")


def test_mrds18_the_base_of_the_preset_of_system_3_comes_back(claims: Claims) -> None:
    """After two periods of its motion; an input that is held over steps makes it drift by 6e-4 m."""
    state = flown("mrds-3")["final_state"]
    off = max(abs(state[f"link1_link_{axis}"]["value"]) for axis in "xy")
    claims.below("MRDS 18", "granite sim mrds-3, base at 10 s off its start", 1e-12, off, "m")


def test_mrds21_the_preset_of_system_5b_moves_as_segments_do_for_10_s(claims: Claims) -> None:
    """Six segments a link; after 10 s the motion from the straight pose is chaotic."""
    t, q = motion("mrds-5b", 10.0)
    first, _ = arm_angles(q[-1:, :6], (1.0, 1.0), (2, 2))
    got = np.degrees([*first[0], *(q[-1, 6 + 5 * k + 2] for k in (0, 1))])
    path = Machine([chain((1.0,) * 4, (6,) * 4)], sines(SYSTEM_5B)).run(np.zeros(24), 10.0)
    off = float(np.abs(got - np.degrees(angles_at(path, t[-1:])[0])).max())
    claims.below("MRDS 21", "granite sim mrds-5b, links at 10 s off six segments", 0.345, off, "deg")


def test_mrds29_the_preset_of_system_6a_bends_and_presses_as_others_do(claims: Claims) -> None:
    """In the first 20 s, of the same pose: bends as printed modules do (0.0193 N), presses as segments."""
    t, q = motion("mrds-6a", 20.0)
    bend = max(float(np.abs(2 * q[:, i] - 2 * q[:, i + 1]).max()) for i in (2, 4, 8, 10))
    claims.near("MRDS 29", "granite sim mrds-6a, largest deflection in 20 s", 1.75e-3, bend, 0.01, "m")
    truth = log_of("mrds-6a")["/truth"]
    force = float(np.hypot(truth["pin_fx_n"], truth["pin_fy_n"])[: len(t)].max())
    arms = [chain((1.0, 1.0), (6, 6), base=(x, 0.0)) for x in (0.0, 2.0)]
    machine = Machine(arms, sines(SYSTEM_6A), [Hold((0, "tip"), (1, "tip"))])
    path, of_pin = (
        machine.run(np.repeat(np.radians([90.0, 0.0, 90.0, 180.0]), 6), 20.0),
        machine.function(machine.force),
    )
    rows = zip(path.t[::10], path.q[::10], path.u[::10], strict=True)
    expected = max(float(np.linalg.norm(np.array(of_pin(*row)))) for row in rows)
    claims.near(
        "MRDS 29", "granite sim mrds-6a, largest force of the pin in 20 s, by segments", expected, force, 0.03, "N"
    )


def test_mrds30_the_preset_of_system_6b_moves_as_segments_do_for_2_s(claims: Claims) -> None:
    """As near to eight segments a link as six are, or a tenth further; a first link bends by about 10 %."""
    t, q = motion("mrds-6b", 2.0)
    pose = np.radians([60.0, -60.0, 120.0, 240.0])
    arms = {n: [chain((1.0, 0.5), (n, n), base=(x, 0.0)) for x in (0.0, 1.5)] for n in (6, 8)}
    hold = [Hold((0, "tip"), (1, "tip"))]
    six, eight = (
        angles_at(Machine(arms[n], sines(SYSTEM_6B), hold).run(np.repeat(pose, n), 2.0, 5e-4), t) for n in (6, 8)
    )
    got = np.hstack([arm_angles(q[:, k : k + 6], (1.0, 0.5), (2, 2))[0] for k in (0, 6)])
    bound, off = (float(np.degrees(np.abs(eight - angles)).max()) for angles in (six, got))
    claims.below("MRDS 30", "granite sim mrds-6b off eight segments in 2 s, by six segments", 1.1 * bound, off, "deg")
    _, whole = motion("mrds-6b")
    bend = max(float(np.abs(2 * whole[:, i] - 2 * whole[:, i + 1]).max()) for i in (2, 8))
    claims.between("MRDS 30", "granite sim mrds-6b, greatest deflection against the length", 0.09, 0.11, bend)
