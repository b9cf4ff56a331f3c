"""Sun 1996, section 4.6.1: the bar turns by 90 degrees about its centre, and the arms follow (test 19)."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.mrds.system import System
from tests.validation.claims import Claims
from tests.validation.sun_testbed import bed
from tests.validation.sun_trajectory import turn

pytestmark = pytest.mark.usefixtures("interpreted")

DURATION, STEP = 2.0, 0.01


def test_sun19_the_printed_motion_begins_and_ends_at_rest(claims: Claims) -> None:
    t = np.linspace(0.0, DURATION, 2001)
    angle, rate, acceleration = turn(t)
    claims.equal("Sun 19", "bar at start and end", [45.0, -45.0], np.degrees(angle[[0, -1]]), 1e-12, "deg")
    claims.below("Sun 19", "rate of the bar at start and end", 1e-12, np.abs(rate[[0, -1]]).max(), "rad/s")
    claims.equal("Sun 19", "largest acceleration of the bar", 2.4674, np.abs(acceleration).max(), 1e-4, "rad/s^2")
    assert np.gradient(angle, t)[1:-1] == pytest.approx(rate[1:-1], abs=1e-5)
    assert np.gradient(rate, t)[1:-1] == pytest.approx(acceleration[1:-1], abs=1e-5)


def test_sun19_arms_that_hold_the_bar_are_led_to_the_other_pose(claims: Claims) -> None:
    """The ground leads the bar, the bar leads the arms: nine velocities, and nine directions that are bound."""
    system, q, left, right = bed("RRR", "RRR")
    lead = Contact(name="lead", kind="rigid_grasp", first=Side(), second=Side(module="bar", point="centre"))
    bar = system.modules["bar"]
    centre = bar.points[0].model_copy(update={"name": "centre", "position_m": (0.0, 0.0)})
    modules = [m for m in system.modules.values() if m.name != "bar"]
    modules.append(bar.model_copy(update={"points": (*bar.points, centre)}))
    closed = System(modules, [*system.contacts.values(), lead]).contact_set()
    row = closed.rows["lead"].start + 2
    start, u = q, np.zeros(system.n_u)
    claims.below(
        "Sun 19", "gap of the grips at the start", 1e-12, np.abs(closed.errors(q, u)[0][: row - 2]).max(), "m, rad"
    )
    gap = 0.0
    for k in range(round(DURATION / STEP)):
        t = STEP * (k + np.array([0.0, 0.5, 1.0]))
        velocity, prescribed = np.zeros((closed.n_held, 3)), np.zeros((closed.n_held, 3))
        _, velocity[row], prescribed[row] = turn(t)
        q, u = closed.rk4(q, u, np.zeros(system.n_u), STEP, velocity=velocity, prescribed=prescribed)
        gap = max(gap, np.abs(closed.errors(q, u)[0][: row - 2]).max())
    n = len(left.pose)
    joints = np.degrees(q[list(left.joints)])
    claims.equal("Sun 19", "left arm at the end", [90.0, -45.0, -90.0], joints, 1e-4, "deg")
    joints = np.degrees(q[[n + i for i in right.joints]])
    claims.equal("Sun 19", "right arm at the end", [-90.0, -45.0, -90.0], joints, 1e-4, "deg")
    claims.equal("Sun 19", "bar at the end, led through contacts", -45.0, np.degrees(q[-1]), 1e-4, "deg")
    claims.below("Sun 19", "largest gap of the grips on the way, without feedback, 10 ms", 1e-6, gap, "m, rad")
    assert np.abs(u).max() < 1e-6
    assert np.abs(start - q).max() > 1.0
