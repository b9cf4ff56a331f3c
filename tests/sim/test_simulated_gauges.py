"""Simulated force gauges: they read the true contact force, with the errors of their table and no others."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.mrds.tree import Tree
from granite.rt.run_in_memory import simulate_in_memory

UNITS = [{"contact": "left_grip"}, {"contact": "right_grip"}]


def bed(simulated: dict[str, Any], **sheet: Any) -> Testbed:
    table = {"kind": "force_gauges", "units": UNITS, "simulated": simulated, **sheet}
    return load("fixed-dual-arm/open-loop", {"devices.force_gauges": table, "loop.duration_s": 0.5})


def test_a_perfect_gauge_reads_the_force_of_the_contact_in_the_axes_of_the_arm() -> None:
    log = simulate_in_memory(bed({"perfect": True}))
    truth, sample = log["/truth"], log["/sample"]
    for side in ("left", "right"):
        angle = truth[f"{side}_shoulder_rad"] + truth[f"{side}_elbow_rad"]
        world = truth[f"{side}_grip_fx_n"] + 1j * truth[f"{side}_grip_fy_n"]
        own = world * np.exp(-1j * angle)
        assert np.abs(own).max() > 1e-3
        assert sample[f"force_gauges_{side}_grip_fx_n"] == pytest.approx(own.real, abs=1e-12)
        assert sample[f"force_gauges_{side}_grip_fy_n"] == pytest.approx(own.imag, abs=1e-12)


def test_noise_offset_and_steps_are_those_of_the_table() -> None:
    readings = simulate_in_memory(bed({"offset_ratio": 0.1}, noise_n=0.05, range_n=8.0, converter_bits=10))
    values = readings["/sample"].force_gauges_left_grip_fx_n
    step = 2 * 8.0 / 1024
    assert np.abs(values / step - np.round(values / step)).max() < 1e-9
    assert values.std() == pytest.approx(np.hypot(0.05, step / np.sqrt(12)), rel=0.2)
    assert 0.01 < abs(values.mean()) < 0.8


def test_scale_and_cross_talk_act_on_the_force_alone() -> None:
    exact, wrong = (
        simulate_in_memory(bed(simulated, noise_n=1e-9, converter_bits=32))["/sample"]
        for simulated in ({}, {"scale_error": 0.05, "cross_talk": 0.05})
    )
    true = np.column_stack([exact.force_gauges_left_grip_fx_n, exact.force_gauges_left_grip_fy_n])
    response, *_ = np.linalg.lstsq(true, wrong.force_gauges_left_grip_fx_n, rcond=None)
    assert 1e-3 < abs(response[0] - 1) < 0.05
    assert 1e-3 < abs(response[1]) < 0.05


def test_frames_come_at_the_rate_of_the_gauge() -> None:
    sample = simulate_in_memory(bed({}, rate_hz=50.0))["/sample"]
    assert sample.force_gauges_number[-1] == 25
    assert set(np.diff(np.unique(sample.force_gauges_t_s)).round(9)) == {0.02}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"units": [{"contact": "middle"}]}, "no such contact"),
        ({"units": [{"contact": "left_grip"}, {"contact": "left_grip"}]}, "occurs twice"),
        ({"units": [{"contact": "left_grip", "axes": ["fz"]}]}, "no component in a plane"),
        ({"rate_hz": 130.0}, "whole number of ticks"),
        ({"tare_s": 3.0}, "less than safety.start_up_s"),
        ({"noise_n": -1.0}, "noise_n"),
    ],
)
def test_a_gauge_that_can_not_be_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        bed({}, **changes)
    assert sentence in str(refusal.value)


@pytest.mark.usefixtures("interpreted")
def test_a_strain_gauge_reads_the_curvature_of_its_link() -> None:
    """Against second differences of the deflected axis."""
    perfect = {"devices.strain_gauges.simulated": {"perfect": True}, "loop.duration_s": 0.8}
    log = simulate_in_memory(load("flexible-arm", perfect))
    tree, h = Tree(log.bed.modules[0]), 1e-3
    axis = ca.Function("axis", [tree.q], [tree.point_position("strip", (0.5 + k * h, 0.0)) for k in (-1, 0, 1)])
    truth, strain = log["/truth"], log["/sample"].strain_gauges_middle_strain
    for k in (100, 130, 159):
        q = [0.0, truth.strip_y1_m[k], truth.strip_y2_m[k]]  # the shoulder turns the strip as a whole
        below, at, above = (float(p[1]) for p in axis(q))
        assert strain[k] == pytest.approx(-0.001 * (below - 2 * at + above) / h**2, rel=1e-3)
        assert abs(strain[k]) > 1e-5


@pytest.mark.parametrize(
    ("unit", "sentence"),
    [
        ({"link": "rope"}, "no such flexible link"),
        ({"axis": "z"}, "it does not bend so"),
        ({"position_m": 1.2}, "at most its length, 1"),
    ],
)
def test_a_strain_gauge_that_can_not_be_is_refused(unit: dict[str, Any], sentence: str) -> None:
    units = [{"name": "root", "link": "strip", "distance_m": 0.001, **unit}]
    with pytest.raises(InputError) as refusal:
        load("flexible-arm", {"devices.strain_gauges.units": units})
    assert sentence in str(refusal.value)
