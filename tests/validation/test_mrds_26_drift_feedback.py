"""Bonaventura 2002, acceptance tests 26 and 28: drift feedback pulls back; with the printed sign it pushes away."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.config.modules import Body, Joint, Module, Point
from granite.mrds.system import System
from tests.validation.bonaventura_machine import Hold, Machine, sines
from tests.validation.bonaventura_systems import GAINS, UPRIGHT
from tests.validation.bonaventura_tables import SYSTEM_6A
from tests.validation.bonaventura_truncated import two_link
from tests.validation.claims import Claims

INJECTED = 1e-4


def _arm(name: str, x: float) -> Module:
    links = tuple(
        Body(name=f"link{i}", mass_kg=1.0 + i, com_m=(0.25, 0.0), inertia_kg_m2=0.03) for i in range(2)
    )  # fmt: skip
    base = Body(name="base", mass_kg=1.0, inertia_kg_m2=1.0)
    joints = (
        Joint(name="shoulder", parent="base", child="link0"),
        Joint(name="elbow", parent="link0", child="link1", origin_m=(0.5, 0.0)),
    )
    tip = (Point(name="tip", body="link1", position_m=(0.5, 0.0)),)
    return Module(
        name=name,
        dimension="planar",
        base="fixed",
        placement_m=(x, 0.0),
        bodies=(base, *links),
        joints=joints,
        points=tip,
    )


@pytest.fixture(scope="module")
def loop():
    """Two two-link arms, tips joined by an unpowered revolute contact (system 6), and a pose that fits."""
    left, right = Side(module="left", point="tip"), Side(module="right", point="tip")
    hold = Contact(name="hold", kind="revolute", first=left, second=right)
    closed = System([_arm("left", 0.0), _arm("right", 0.6)], [hold]).contact_set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANITE_NO_COMPILER", "1")
        q, u = closed.project([1.9, -1.2, 1.2, 1.1], np.zeros(4))
        closed.rk4(q, u, 0 * u, 1e-3)  # built here, while the compiler is off
    assert np.abs(closed.errors(q, u)[0]).max() < 1e-12
    return closed, q


def _run(loop, feedback: tuple[float, float], duration: float, start=None) -> list[float]:
    """The greatest gap, step by step, while the arms push each other around."""
    closed, q = loop
    q, u, gaps = q if start is None else start, np.zeros(4), []
    for k in range(round(duration / 5e-3)):
        torque = 0.05 * np.sin(0.005 * k) * np.array([1.0, 0.0, 1.0, 0.0]) - 0.2 * u
        q, u = closed.rk4(q, u, torque, 5e-3, feedback=feedback)
        gaps.append(float(np.abs(closed.errors(q, u)[0]).max()))
        if not gaps[-1] < 1:
            break
    return gaps


def test_mrds26_feedback_that_pulls_back_keeps_the_loop_closed(loop, claims: Claims) -> None:
    worst = max(_run(loop, (4.0, 4.0), 10.0))
    claims.below("MRDS 26", "two rigid arms, tips joined, drift feedback: gap in 10 s", 1e-12, worst, "m")


def test_mrds26_feedback_with_the_printed_sign_bursts_the_loop(loop, claims: Claims) -> None:
    """Eq. 104 adds the errors of P against E to the force by E on P."""
    gaps = _run(loop, (-4.0, -4.0), 10.0)
    claims.above("MRDS 26", "the same with the sign of eq. 104", 0.1, np.nan_to_num(gaps[-1], nan=np.inf), "m")


def test_mrds28_an_injected_gap_decays_as_the_gains_say_and_stays_without_them(loop, claims: Claims) -> None:
    closed, q = loop
    apart = q.copy()
    apart[0] += INJECTED
    start = float(np.abs(closed.errors(apart, np.zeros(4))[0]).max())
    beta = 2.0
    decayed = _run(loop, (2 * beta, beta**2), 2.0, apart)
    # x'' + 2 beta x' + beta^2 x = 0 from rest
    expected = start * (1 + beta * 2.0) * np.exp(-beta * 2.0)
    claims.near("MRDS 28", "rigid arms: what is left of a gap of 0.1 mm after 2 s", expected, decayed[-1], 0.1, "m")
    kept = _run(loop, (0.0, 0.0), 2.0, apart)
    assert kept[-1] > 0.5 * start


@pytest.mark.parametrize(("sign", "least", "most"), [(1, 0.0, 1e-12), (-1, 1.0, np.inf)], ids=["corrected", "printed"])
def test_mrds26_the_gains_of_the_thesis_hold_its_own_modules_with_the_other_sign_only(
    sign: int, least: float, most: float, claims: Claims
) -> None:
    """System 6a for 10 s: with eq. 104 as printed, rounding errors become metres."""
    arms = [two_link((1.0, 1.0), (2, 2), base=(x, 0.0)) for x in (0.0, 2.0)]
    K_v, K_p = GAINS
    machine = Machine(arms, sines(SYSTEM_6A), [Hold((0, "tip"), (1, "tip"))], (sign * K_v, sign * K_p))
    worst = float(np.nanmax(np.abs(machine.run(UPRIGHT, 10.0, 2e-3).gap)))
    name = "corrected" if sign > 0 else "as printed"
    claims.between("MRDS 26", f"System 6a, gap in 10 s, sign of eq. 104 {name}", least, most, worst, "m")
