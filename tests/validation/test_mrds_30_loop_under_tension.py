"""Bonaventura 2002, section 8.3.6.2, System 6b: two arms that pull at each other (acceptance test 30).

Neither pose nor duration is printed. With the bases 2.5 m apart and the tips at (1.25, 0.6) m, elbows out, the links
are drawn tight and bend by 5 to 8 % of their length ("nearly 10 %"), kinematics of first order break off, and those of
second order go on, as published. The motion is then sensitive: six segments a link leave eight by 0.4 degrees in two
seconds and by 4 in five, so the referee is trusted to no more than that.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.flexible_arms import Array
from tests.validation.bonaventura_machine import Hold, Machine, Path, sines
from tests.validation.bonaventura_segments import chain, deflection
from tests.validation.bonaventura_systems import arm_angles, parallel_arms, run, shoulders_and_elbows, worst_gap
from tests.validation.bonaventura_tables import SYSTEM_6B
from tests.validation.bonaventura_truncated import Level, two_link
from tests.validation.claims import Claims

LENGTHS, DISTANCE, HEIGHT = (1.0, 0.5), 2.5, 0.6
DURATION, STEP = 5.0, 1e-3
HOLD = [Hold((0, "tip"), (1, "tip"))]


def _pose() -> Array:
    """Angles of the four links from the world's x axis, left arm first: the right one is its mirror image."""
    reach = np.hypot(DISTANCE / 2, HEIGHT)
    shoulder = np.arctan2(HEIGHT, DISTANCE / 2) + np.arccos((1 + reach**2 - 0.25) / (2 * reach))
    second = np.arctan2(HEIGHT - np.sin(shoulder), DISTANCE / 2 - np.cos(shoulder))
    return np.array([shoulder, second, np.pi - shoulder, np.pi - second])


POSE = _pose()
ARMS = np.array([POSE[0], POSE[1] - POSE[0], 0, 0, 0, 0, POSE[2], POSE[3] - POSE[2], 0, 0, 0, 0])


def segments(n: int) -> Path:
    arms = [chain(LENGTHS, (n, n), base=(x, 0.0)) for x in (0.0, DISTANCE)]
    return Machine(arms, sines(SYSTEM_6B), HOLD).run(np.repeat(POSE, n), DURATION, STEP / 2)


def printed(level: Level, duration: float = DURATION) -> Path:
    arms = [two_link(LENGTHS, (2, 2), level=level, base=(x, 0.0)) for x in (0.0, DISTANCE)]
    return Machine(arms, sines(SYSTEM_6B), HOLD).run(ARMS, duration, STEP)


@pytest.fixture(scope="module")
def eight() -> Path:
    return segments(8)


def off(reference: Path, angles: Array, until: float) -> float:
    """Greatest difference of any link [deg]."""
    rows = round(until / STEP)
    return float(np.degrees(np.abs(reference.angles[::2] - angles)[:rows]).max())


@pytest.mark.slow
def test_mrds30_kinematics_of_first_order_cannot_complete_the_run(claims: Claims) -> None:
    claims.below("MRDS 30", "System 6b by printed modules, level 1, breaks off at", 4.0, printed(1).t[-1], "s")
    path = printed(3, duration=10.0)
    claims.equal("MRDS 30", "System 6b by printed modules, level 3, goes on to", 10.0, path.t[-1], 1e-9, "s")
    bend = np.abs(2 * path.q[:, [2, 8]] - 2 * path.q[:, [3, 9]]).max()
    claims.between("MRDS 30", "its greatest deflection against the length", 0.05, 0.1, bend)
    claims.below("MRDS 30", "its gap", 1e-6, np.abs(path.gap).max(), "m")


@pytest.mark.slow
def test_mrds30_ours_is_as_near_to_eight_segments_as_six_are(eight: Path, claims: Claims) -> None:
    closed = parallel_arms(LENGTHS, DISTANCE)
    path = run(closed, ARMS, np.zeros(12), shoulders_and_elbows(SYSTEM_6B), DURATION, STEP)
    angles = np.hstack([arm_angles(path.q[:, k : k + 6], LENGTHS, (2, 2))[0] for k in (0, 6)])
    six = segments(6).angles[::2]
    for until in (2.0, DURATION):
        what = f"System 6b off eight segments in {until:g} s, ours, by six segments"
        claims.below("MRDS 30", what, off(eight, six, until), off(eight, angles, until), "deg")
    bend, cut = np.abs(2 * path.q[:, 8] - 2 * path.q[:, 9]).max(), np.abs(deflection(eight.q, 1.0, 8, 16)).max()
    claims.near("MRDS 30", "deflection of the right first link, by eight segments", cut, bend, 0.2, "m")
    claims.below("MRDS 30", "gap, ours", 1e-6, worst_gap(closed, path), "m")
