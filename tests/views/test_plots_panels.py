"""Panels over time show joints, bending, contact forces, switching and audit of testbeds without a controller."""

import math

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from granite.config.audit import audit_values
from granite.config.loader import load
from granite.logs.audit import ENERGY_LIMIT, GAP_LIMIT
from granite.views.plots.panels.panel import joined, legend_rows
from granite.views.plots.style import COLOURS, CONTACT, colours
from tests.support.drawn_pages import drawn, legend, lines, log_of, panel, texts
from tests.support.jointed_beds import bar_between_arms, box_in_space, chain

TICKS = 30


def bar(**truth):
    return log_of(bar_between_arms(), np.zeros((TICKS, 5)), **truth)


def labels(figure) -> list[str]:
    return [axes.get_ylabel() for axes in figure.axes[1:]]


def test_a_bed_without_a_controller_shows_its_motion_instead_of_errors():
    q = np.random.default_rng(1).normal(size=(TICKS, 5))
    figure = drawn(log_of(bar_between_arms(), q))
    assert labels(figure) == ["position\n[m]", "turn\n[rad]", "joint\n[rad]", "contact\n[N]"]
    joints = lines(panel(figure, "joint\n[rad]"))
    assert joints["left joint"] == pytest.approx(q[:, 0])
    assert joints["right joint"] == pytest.approx(q[:, 1])
    assert lines(panel(figure, "position\n[m]"))["bar y"] == pytest.approx(q[:, 3])
    assert lines(panel(figure, "turn\n[rad]"))["bar"] == pytest.approx(q[:, 4])


def test_a_joint_and_its_torque_have_the_same_colour():
    log = log_of(bar_between_arms(), np.ones((TICKS, 5)))
    log.rows[:, log.channels.columns("/applied", "motors.values")] = 0.5
    figure = drawn(log)
    joints, torques = (panel(figure, label).lines for label in ("joint\n[rad]", "joint\ntorque [N m]"))
    assert {line.get_label(): line.get_color() for line in joints} == {
        line.get_label(): line.get_color() for line in torques
    }


def test_a_wheel_that_spins_does_not_press_the_other_joints_flat():
    q = np.zeros((TICKS, 5))
    q[:, 0], q[:, 1] = np.linspace(0, 1, TICKS), np.linspace(0, 300, TICKS)
    figure = drawn(log_of(bar_between_arms(), q))
    assert np.ptp(panel(figure, "joint\n[rad]").get_ylim()) < 2
    assert legend(panel(figure, "spinning\njoint [rad]")) == ["right joint"]


def test_the_deflection_of_a_tip_is_the_sum_of_its_modes_in_millimetres():
    q = np.random.default_rng(2).normal(size=(TICKS, 3))
    figure = drawn(log_of(load("mrds-1"), q))
    assert labels(figure) == ["joint\n[rad]", "deflection\n[mm]"]
    # A cantilever's eigenfunctions are 2 and -2 at the tip.
    assert lines(panel(figure, "deflection\n[mm]"))["link"] == pytest.approx(2e3 * (q[:, 1] - q[:, 2]), rel=1e-6)


def test_the_turn_of_a_base_in_space_is_its_angle_against_the_start():
    bed = box_in_space()
    q = np.zeros((TICKS, len(bed.positions)))
    angle = np.linspace(0, 2.0, TICKS)
    axis = np.array([1.0, 2.0, -2.0]) / 3
    q[:, 4] = np.cos((0.4 + angle) / 2)
    q[:, 5:8] = np.sin((0.4 + angle) / 2)[:, None] * axis
    q[::2, 4:8] *= -1  # the same pose
    assert lines(panel(drawn(log_of(bed, q)), "turn\n[rad]"))["box"] == pytest.approx(angle, abs=1e-7)


def test_forces_of_contacts_are_shown_by_size_with_the_squeeze_between_them():
    wrench = np.tile([0.3, 0.4, 0.0, 5.0, 12.0, 0.0], (TICKS, 1))
    figure = drawn(bar(wrench=wrench, squeeze=0.25))
    shown = lines(panel(figure, "contact\n[N]"))
    assert {name: values[0] for name, values in shown.items()} == pytest.approx({"left grip": 0.5, "right grip": 13.0})
    assert lines(panel(figure, "squeeze\n[N, N m/m]"))["bar"] == pytest.approx(0.25)
    assert "contact\n[N m]" not in labels(figure)
    assert "squeeze\n[N, N m/m]" not in labels(drawn(bar(wrench=wrench, squeeze=1e-12)))


def test_moments_are_shown_where_a_contact_bears_them():
    bed = box_in_space()
    wrench = np.tile([0.0, 0.0, 1.0, 2.0, 3.0, 6.0], (TICKS, 1))
    figure = drawn(log_of(bed, np.zeros((TICKS, len(bed.positions))), wrench=wrench))
    (moment,) = panel(figure, "contact\n[N m]").lines
    assert moment.get_ydata()[0] == pytest.approx(7.0)


def test_a_contact_that_opens_and_closes_is_named_and_marked_in_every_panel():
    closed = np.ones((TICKS, 2))
    closed[10:20, 1] = 0
    figure = drawn(bar(closed=closed))
    assert {"right grip opened at 0.1 s", "right grip closed at 0.2 s"} <= set(texts(figure))
    for axes in figure.axes[1:]:
        at = [
            segment[0][0]
            for line in axes.findobj(lambda a: isinstance(a, LineCollection))
            if (line.get_color() == to_rgba(CONTACT)).all()
            for segment in line.get_segments()
        ]
        assert at == pytest.approx([0.2]), axes.get_ylabel()
    lanes = panel(figure, "closed")
    assert [tick.get_text() for tick in lanes.get_yticklabels()] == ["left grip", "right grip"]


def test_contacts_that_stay_as_they_are_have_no_lanes():
    assert "closed" not in labels(drawn(bar(closed=1.0)))


def test_recorded_events_of_contacts_are_not_listed_twice():
    closed = np.ones((TICKS, 2))
    closed[10:] = 0
    log = bar(closed=closed)
    events = ({"t_s": 0.1, "level": "info", "name": "left_grip_opened"},)
    seen = texts(drawn(type(log)(log.bed, log.info, log.channels, log.rows, events, None, True)))
    assert sum("left grip opened" in text for text in seen) == 1


def test_many_changes_are_listed_by_their_kind():
    bed = chain(9)
    closed = np.ones((TICKS, 8))
    closed[5:] = 0
    seen = texts(drawn(log_of(bed, np.zeros((TICKS, len(bed.positions))), closed=closed)))
    assert "contact opened at 0.05 s (8 times)" in seen


@pytest.mark.slow
def test_more_lines_than_colours_shade_from_the_first_to_the_last():
    bed = chain(13)
    q = np.ones((TICKS, len(bed.positions)))
    q[:, [c.name.endswith("heading") for c in bed.positions]] = np.arange(13)
    axes = panel(drawn(log_of(bed, q)), "turn\n[rad]")
    assert legend(axes) == ["link0  …", "link12"]
    assert len({line.get_color() for line in axes.lines}) == 13
    assert colours(3) == list(COLOURS[:3])


def test_the_audit_shows_energy_that_no_work_accounts_for_against_its_limit():
    bed = bar_between_arms(simulation={"audit": True})
    energy = np.linspace(3.0, 5.0, TICKS)
    energy[-1] += 3e-6
    kept = {"energy": energy, "work": np.linspace(0.0, 2.0, TICKS), "gap": np.full(TICKS, 1e-9)}
    kept["kinetic_energy"] = np.linspace(1.0, 3.0, TICKS)
    audit = np.transpose([kept.get(value.name, np.zeros(TICKS)) for value in audit_values(bed)])
    axes = panel(drawn(log_of(bed, np.zeros((TICKS, 5)), audit=audit)), "audit")
    shown = lines(axes)
    assert shown["energy error"][-1] == pytest.approx(1e-6, rel=1e-6)
    assert shown["energy error"][:-1].max() < 1e-14
    assert shown["gap"] == pytest.approx(np.full(TICKS, 1e-9))
    limits = {line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == ":"}
    assert limits == {ENERGY_LIMIT, GAP_LIMIT}
    assert all("$" not in text for text in texts(axes.figure))


def test_the_audit_has_ticks_to_read_and_names_its_limits():
    bed = bar_between_arms(simulation={"audit": True})
    audit = np.full((TICKS, len(audit_values(bed))), 1e-12)
    figure = drawn(log_of(bed, np.zeros((TICKS, 5)), audit=audit))
    axes = panel(figure, "audit")
    limits = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert limits == {"limit of energy": ENERGY_LIMIT, "limit of gap and slip": GAP_LIMIT}
    figure.draw_without_rendering()
    low, high = axes.get_ylim()
    assert low < 1e-16 < GAP_LIMIT < high
    assert sum(low < tick < high for tick in axes.get_yticks()) >= 4


def test_lines_on_each_other_are_seen_in_turn_and_named_together():
    q = np.random.default_rng(3).normal(size=(TICKS, 5))
    q[:, 1] = q[:, 0]
    axes = panel(drawn(log_of(bar_between_arms(), q)), "joint\n[rad]")
    assert legend(axes) == ["left joint = right joint"]
    below, above = axes.lines
    assert below.get_linestyle() == "-"
    assert above.get_linestyle() == "--"
    assert above.get_color() != below.get_color()
    q[:, 1] += 1e-4
    assert legend(panel(drawn(log_of(bar_between_arms(), q)), "joint\n[rad]")) == ["left joint ≈ right joint"]
    q[:, 1] += 0.1
    assert legend(panel(drawn(log_of(bar_between_arms(), q)), "joint\n[rad]")) == ["left joint", "right joint"]


def test_many_lines_on_each_other_have_a_short_name():
    bed = chain(12)
    axes = panel(drawn(log_of(bed, np.ones((TICKS, len(bed.positions))))), "turn\n[rad]")
    assert legend(axes) == ["link0 = … = link11 (12 lines)"]


def test_where_many_modules_float_the_place_of_the_last_one_is_shown():
    bed = chain(9)
    q = np.random.default_rng(4).normal(size=(TICKS, len(bed.positions)))
    shown = lines(panel(drawn(log_of(bed, q)), "position\n[m]"))
    assert list(shown) == ["link8 x", "link8 y"]


def test_many_places_are_shown_against_their_start():
    bed = chain(3)
    q = np.random.default_rng(4).normal(size=(TICKS, len(bed.positions)))
    shown = lines(panel(drawn(log_of(bed, q)), "moved since\nstart [m]"))
    at = [c.name for c in bed.positions].index("link1_beam_y")
    assert shown["link1 y"] == pytest.approx(q[:, at] - q[0, at])


def flight(truth: bool):
    """The free-flyer with r1 open all the time, and a demand of its own; 0.4 N expected, 0.5 N delivered."""
    bed = load("free-flyer", ["loop.duration_s=0.3"])
    log = log_of(bed, np.tile([1.0, 1.0, 0.0, 0.0, 0.0], (TICKS, 1)))
    put = log.channels.columns
    log.rows[:, put("/demand", "wrench")] = [1.0, -2.0, 3.0]
    log.rows[:, put("/truth", "thrust")] = [0.5, *[0.0] * 7] if truth else np.nan
    log.rows[:, put("/verdict", "thrust")] = [0.4, *[0.0] * 7]
    return log


@pytest.mark.parametrize(("truth", "newton", "how"), [(True, 0.5, "delivered"), (False, 0.4, "expected")])
def test_the_demanded_wrench_is_shown_against_the_one_of_the_thrusters(truth, newton, how):
    figure = drawn(flight(truth))
    shown = {
        patch.get_label(): patch.get_data().values
        for label in ("force\n[N]", "torque on\nbase [N m]")
        for patch in panel(figure, label).patches
    }
    # r1 pushes along -x at (0.13, 0.13), so it turns the base to the left.
    wanted = {
        "fx demanded": 1.0, "fy demanded": -2.0, "mz demanded": 3.0,
        f"fx {how}": -newton, f"fy {how}": 0.0, f"mz {how}": 0.13 * newton,
    }  # fmt: skip
    assert {name: values[0] for name, values in shown.items()} == pytest.approx(wanted)
    assert all(np.ptp(values) < 1e-12 for values in shown.values())


def test_a_wrench_is_averaged_over_stretches_that_the_legend_names():
    bed = load("free-flyer")
    log = log_of(bed, np.tile([1.0, 1.0, 0.0, 0.0, 0.0], (6000, 1)))
    log.rows[::2, log.channels.columns("/truth", "thrust")] = [1.0, *[0.0] * 7]
    axes = panel(drawn(log), "force\n[N]")
    assert legend(axes)[-1] == "demanded (means of 0.2 s)"
    (force,) = [patch for patch in axes.patches if patch.get_label() == "fx delivered"]
    assert force.get_data().values == pytest.approx(-0.5)


def test_rounding_does_not_fill_a_panel():
    q = np.full((TICKS, 5), 2.0)
    q[:, 0] += 1e-13 * np.sin(np.arange(TICKS))
    axes = panel(drawn(log_of(bar_between_arms(), q)), "joint\n[rad]")
    assert np.ptp(axes.get_ylim()) > 1e-3
    assert math.isclose(np.mean(axes.get_ylim()), 2.0, rel_tol=1e-6)
    q[:] = 1e-15 * np.sin(np.arange(TICKS))[:, None]
    assert labels(drawn(log_of(bar_between_arms(), q))) == ["contact\n[N]"]


def test_joints_that_contacts_hold_shut_have_no_panel():
    slide = {"kind": "prismatic", "axis": [1.0, 0.0]}
    bed = load("mrds-1", {f"modules.arm.joints.0.{key}": value for key, value in slide.items()})
    q = np.ones((TICKS, len(bed.positions)))
    assert "joint\n[m]" in labels(drawn(log_of(bed, q)))
    q[:, [c.unit == "m" and c.name == bed.joints[0] for c in bed.positions]] = 1e-13
    assert "joint\n[m]" not in labels(drawn(log_of(bed, q)))


def test_a_panel_with_a_single_line_names_it_where_its_axis_does_not():
    bed = load("mrds-1", ["simulation.audit=true"])
    audit = np.ones((TICKS, len(audit_values(bed))))
    figure = drawn(log_of(bed, np.ones((TICKS, len(bed.positions))), audit=audit))
    assert legend(panel(figure, "audit")) == ["energy error"]
    assert panel(figure, "joint\n[rad]").get_legend() is None
    assert legend(panel(drawn(bar(squeeze=1.0)), "squeeze\n[N, N m/m]")) == ["bar"]


@pytest.mark.parametrize(
    ("letters", "names", "rows"),
    [
        (21, 3, 1),  # 3 (21 + 5) = 78, which fits
        (22, 3, 2),  # 81 do not: two of 27 in a row
        (15, 4, 2),  # 80 do not: three of 20 in a row
        (75, 2, 2),  # one each, though 80 do not fit either
        (1, 12, 1),
        (30, 13, 1),  # of more than twelve the first and the last
    ],
)
def test_as_many_names_as_fit_stand_in_a_row(letters: int, names: int, rows: int) -> None:
    assert legend_rows(["x" * letters] * names) == rows


def test_lines_that_coincide_have_one_name_as_long_as_it_is_short() -> None:
    assert joined(["left", "right"], equal=True) == "left = right"
    assert joined(["left", "right"], equal=False) == "left ≈ right"
    assert joined(["x" * 21, "y" * 21], equal=True) == f"{'x' * 21} = {'y' * 21}"  # 45 letters
    assert joined(["x" * 21, "y" * 22], equal=True) == f"{'x' * 21} = … = {'y' * 22} (2 lines)"
