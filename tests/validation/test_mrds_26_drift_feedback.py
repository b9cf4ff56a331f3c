"""Bonaventura 2002, acceptance tests 26 and 28: drift feedback pulls back; with the printed sign it pushes away."""

from __future__ import annotations

import numpy as np
import pytest

from config.contacts import Contact, Side
from config.modules import Body, Joint, Module, Point
from mrds.system import System

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


def test_feedback_that_pulls_back_keeps_the_loop_closed(loop) -> None:
    assert max(_run(loop, (4.0, 4.0), 10.0)) < 1e-8


def test_feedback_with_the_printed_sign_bursts_the_loop(loop) -> None:
    """Eq. 104 adds the errors of P against E to the force by E on P."""
    gaps = _run(loop, (-4.0, -4.0), 10.0)
    assert not gaps[-1] < 0.1


def test_an_injected_gap_decays_as_the_gains_say_and_stays_without_them(loop) -> None:
    closed, q = loop
    apart = q.copy()
    apart[0] += INJECTED
    start = float(np.abs(closed.errors(apart, np.zeros(4))[0]).max())
    beta = 2.0
    decayed = _run(loop, (2 * beta, beta**2), 2.0, apart)
    # x'' + 2 beta x' + beta^2 x = 0 from rest
    assert decayed[-1] == pytest.approx(start * (1 + beta * 2.0) * np.exp(-beta * 2.0), rel=0.1)
    kept = _run(loop, (0.0, 0.0), 2.0, apart)
    assert kept[-1] > 0.5 * start
