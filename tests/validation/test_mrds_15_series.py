"""Bonaventura 2002, section 8.2: a robot cut in two and joined by a contact is the robot (acceptance tests 15, 16)."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.mrds.system import System
from tests.support.dense_model import Model
from tests.support.flexible_arms import flexible, planar_arm
from tests.support.flexible_arms import run as run_model
from tests.validation.bonaventura_machine import Hold, Machine, Path, sines
from tests.validation.bonaventura_systems import Series, arm_angles, mobile_link, revolute, run, worst_gap
from tests.validation.bonaventura_tables import SYSTEM_2A, SYSTEM_2C
from tests.validation.bonaventura_truncated import Level, one_link, two_link
from tests.validation.bonaventura_truncated import mobile_link as printed_mobile_link
from tests.validation.claims import Claims

LENGTHS = (1.0, 0.5)
HEIGHT = 0.6
#: link 2 level at the height of the slide
SHOULDER = np.arcsin(HEIGHT)


@pytest.mark.slow
def test_mrds15_one_link_and_a_mobile_link_are_a_two_link_robot(claims: Claims) -> None:
    whole = Model(planar_arm([flexible(L, 2) for L in LENGTHS], name="system_2a"))
    start = np.zeros(6)
    q = run_model(whole, start, start, lambda t: np.append(SYSTEM_2A(t), np.zeros(4)), 1e-3, 10_000)[1]
    series = Series(LENGTHS, (2, 2), fixed=1)
    path = series.run(SYSTEM_2A, 10.0)
    apart = np.degrees(np.abs(series.angles(path) - arm_angles(q, LENGTHS, (2, 2))[0])).max()
    claims.below("MRDS 15", "System 2a as two modules off one module, ours", 1e-8, apart, "deg")
    claims.below("MRDS 15", "gap between the two, ours", 1e-12, series.worst_gap(path), "m")


def test_mrds15_printed_modules_in_series_differ_by_what_they_leave_out(claims: Claims) -> None:
    shoulder, elbow = sines(SYSTEM_2A)
    whole = Machine([two_link(LENGTHS, (2, 2))], [shoulder, elbow]).run(np.zeros(6), 10.0)
    cut = Machine(
        [one_link(1.0, 2), printed_mobile_link(0.5, 2)], [shoulder, 0], [Hold((0, "tip"), (1, "base"), torque=elbow)]
    )
    path = cut.run(np.array([0, 0, 0, 1.0, 0, 0, 0, 0]), 10.0)
    apart = np.degrees(np.abs(path.angles - whole.angles)).max(axis=0)
    for i, expected in enumerate((0.005, 0.018)):
        claims.below("MRDS 15", f"the same by printed modules, link {i + 1}", 2 * expected, apart[i], "deg")
        assert apart[i] > expected / 2
    claims.below("MRDS 15", "gap between the printed modules", 2 * 3.5e-13, np.abs(path.gap).max(), "m")


@pytest.mark.slow
def test_mrds16_a_sliding_tip_is_the_same_for_one_module_and_for_two(claims: Claims) -> None:
    slide = Contact(
        name="slide",
        kind="x_slide_turning",
        first=Side(position_m=(0.0, HEIGHT)),
        second=Side(module="m1", point="tip"),
    )
    arm = planar_arm([flexible(L, 2) for L in LENGTHS], name="m1")
    whole = System([arm], [slide]).contact_set()
    whole_path = run(
        whole, np.array([SHOULDER, -SHOULDER, 0, 0, 0, 0]), np.zeros(6),
        lambda t: (np.append(SYSTEM_2C(t), np.zeros(4)), np.zeros(2)), 10.0,
    )  # fmt: skip
    first, second = planar_arm([flexible(1.0, 2)], name="m1"), mobile_link("m2", 0.5, 2)
    on_second = slide.model_copy(update={"second": Side(module="m2", point="tip")})
    cut = System([first, second], [revolute(("m1", "tip"), ("m2", "base")), on_second]).contact_set()
    cut_path = run(
        cut, np.array([SHOULDER, 0, 0, np.cos(SHOULDER), HEIGHT, 0, 0, 0]), np.zeros(8),
        lambda t: (np.append(SYSTEM_2C(t)[:1], np.zeros(7)), np.zeros(3)), 10.0,
    )  # fmt: skip
    angles = arm_angles(whole_path.q, LENGTHS, (2, 2))[0]
    apart = np.degrees(np.abs(cut_path.q[:, [0, 5]] - angles)).max()
    claims.below("MRDS 16", "System 2c as two modules off one module, ours", 1e-6, apart, "deg")
    for name, closed, path in (("one module", whole, whole_path), ("two modules", cut, cut_path)):
        claims.below("MRDS 16", f"gap at the slide, {name}, ours", 1e-10, worst_gap(closed, path), "m")
    printed = printed_slide(3)[0].angles
    off = np.degrees(np.abs(printed - cut_path.q[:, [0, 5]])).max(axis=0)
    for i, expected in enumerate((0.0019, 0.0035)):
        what = f"System 2c by the printed two-link module off two untruncated ones, link {i + 1}"
        claims.equal("MRDS 16", what, expected, off[i], 2e-4, "deg")
        claims.below("MRDS 16", f"the same, link {i + 1}, by its tolerance", 0.01, off[i], "deg")
    ends = np.degrees(printed[-1])
    claims.equal("MRDS 16", "System 2c, angles at 10 s", [170.868, 118.078], ends, 0.01, "deg")
    claims.equal("MRDS 16", "System 2c, angles at 10 s, ours", [170.868, 118.078], np.degrees(angles[-1]), 0.01, "deg")


def printed_slide(level: Level) -> tuple[Path, Path]:
    """System 2c by the modules of the thesis, as one and as two."""
    shoulder, elbow = sines(SYSTEM_2C)
    ground = (0.0, HEIGHT)
    whole = Machine([two_link(LENGTHS, (2, 2), level=level)], [shoulder, elbow], [Hold(ground, (0, "tip"), rows=(1,))])
    holds = [Hold((0, "tip"), (1, "base"), torque=elbow), Hold(ground, (1, "tip"), rows=(1,))]
    cut = Machine([one_link(1.0, 2), printed_mobile_link(0.5, 2, level=level)], [shoulder, 0], holds)
    return (
        whole.run(np.array([SHOULDER, -SHOULDER, 0, 0, 0, 0]), 10.0),
        cut.run(np.array([SHOULDER, 0, 0, np.cos(SHOULDER), HEIGHT, 0, 0, 0]), 10.0),
    )


@pytest.mark.parametrize("level", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_mrds16_printed_modules_slide_alike(level: Level, claims: Claims) -> None:
    whole, cut = printed_slide(level)
    apart = np.degrees(np.abs(cut.angles - whole.angles)).max()
    claims.below("MRDS 16", f"System 2c by printed modules, level {level}: two off one", 0.01, apart, "deg")
    worst = max(np.abs(whole.gap).max(), np.abs(cut.gap).max())
    claims.below("MRDS 16", f"its gaps, level {level}", 1e-10, worst, "m")


def test_mrds16_places_and_jacobian_of_different_order_open_the_slide(claims: Claims) -> None:
    claims.above("MRDS 16", "its gaps, level 2", 1e-9, np.abs(printed_slide(2)[0].gap).max(), "m")
