"""Metrics by name: against the signals of the log, computed anew."""

from dataclasses import replace

import numpy as np
import pytest

import granite
from granite.logs.log import Log
from granite.tuning.measures import Band, Measures, metric_units

COORDINATES = {"base_x": "m", "base_y": "m", "base_heading": "rad", "shoulder": "rad", "elbow": "rad"}


@pytest.fixture(scope="module")
def log() -> Log:
    """A short move with a hold."""
    waypoint = {"duration_s": 2.0, "hold_s": 1.0, "target": {"base_x_m": 1.02, "base_y_m": 0.8, "elbow_rad": 1.1}}
    gains = {"controller.law.gains.joints.stiffness_1_s2": 1.0, "controller.law.gains.joints.damping_1_s": 0.5}
    return granite.simulate(
        granite.load("free-flyer", {"loop.duration_s": 6.0, "behaviour.waypoints": [waypoint], **gains})
    )


def measured(log: Log, *texts: str, band: Band | None = None) -> list[float]:
    return Measures(log.bed, tuple(("goal", text) for text in texts), band or Band()).values(log)


def error(log: Log, name: str, of: str = "/truth") -> np.ndarray:
    key = f"{name}_{COORDINATES[name]}"
    ready = log["/state"].ready == 1.0
    return np.asarray((log[of][key] - log["/reference"][key])[ready])


def test_errors_are_those_of_the_truth(log: Log):
    values = measured(log, "rms_error.elbow", "largest_error.elbow", "rms_error_m", "largest_error_rad")
    rms = {name: np.sqrt(np.mean(error(log, name) ** 2)) for name in COORDINATES}
    largest = max(np.abs(error(log, name)).max() for name, unit in COORDINATES.items() if unit == "rad")
    expected = [rms["elbow"], np.abs(error(log, "elbow")).max(), np.hypot(rms["base_x"], rms["base_y"]), largest]
    assert values == pytest.approx(expected, rel=1e-9)


def test_settling_ends_when_the_error_stays_within_the_band(log: Log):
    moving = np.abs(np.diff(log["/reference"].elbow_rad)) > 1e-12
    stops = log.t[np.flatnonzero(moving)[-1]]
    wide, narrow = (measured(log, "settling_time_s", band=Band(1.0, rad))[0] for rad in (1.0, 0.005))
    assert wide == 0.0
    outside = np.abs(log["/truth"].elbow_rad - log["/reference"].elbow_rad) > 0.005
    outside |= np.abs(log["/truth"].shoulder_rad - log["/reference"].shoulder_rad) > 0.005
    assert narrow == pytest.approx(max(0.0, log.t[np.flatnonzero(outside)[-1]] - stops), abs=0.02)
    assert measured(log, "settling_time_s", band=Band(1e-9, 1e-9))[0] == float("inf")


def test_margins_are_distances_to_the_limits_of_the_guard(log: Log):
    speed = np.hypot(*(log["/state"][f"base_{axis}_m_s"] for axis in "xy"))[log["/state"].ready == 1.0]
    shoulder, elbow = (np.abs(log["/command"][f"motors_{joint}_torque_n_m"]).max() for joint in ("shoulder", "elbow"))
    fast, torques, tracking, smallest = measured(
        log, "margin.base_too_fast", "margin.torque", "margin.tracking_error", "margin"
    )
    rate = np.abs(log["/state"].base_heading_rad_s).max()
    assert fast == pytest.approx(1 - max(speed.max() / 0.5, rate / 1.0))
    assert torques == pytest.approx(1 - max(shoulder / 2.0, elbow / 1.0))
    errors = [
        np.abs(error(log, name, "/state")).max() / (0.3 if unit == "m" else 0.6) for name, unit in COORDINATES.items()
    ]
    assert tracking == pytest.approx(1 - max(errors))
    assert smallest <= min(fast, torques, tracking)


def test_a_margin_that_only_rounding_keeps_from_zero_is_zero(log: Log):
    rows, column = log.rows.copy(), log.channels.column("/command", "motors_elbow_torque_n_m")
    rows[-1, column] = np.nextafter(1.0, 2.0)
    assert measured(replace(log, rows=rows), "margin.torque")[0] == 0.0
    rows[-1, column] = 1.0 + 1e-9
    assert measured(replace(log, rows=rows), "margin.torque")[0] == pytest.approx(-1e-9)


def test_a_limit_that_is_passed_has_a_negative_margin():
    log = granite.simulate(granite.load("free-flyer", {"loop.duration_s": 3.0, "safety.tracking_error_m": 1e-4}))
    assert log.summary is not None
    assert log.summary["ended"] == "tracking_error"
    assert measured(log, "margin.tracking_error")[0] < 0


def test_metrics_are_those_that_a_testbed_has():
    carrying = metric_units(granite.load("fixed-dual-arm/carry"))
    assert {"internal_force_error_n", "squeeze.object", "peak_torque.left_elbow"} <= carrying.keys()
    assert "propellant_n_s" not in carrying
    assert "elastic_energy_j" in metric_units(granite.load("flx-pendulum"))
    assert metric_units(granite.load("free-flyer"))["propellant_n_s"] == "N s"


@pytest.mark.slow
def test_the_internal_force_error_is_the_error_of_the_squeeze():
    log = granite.simulate(granite.load("fixed-dual-arm/carry"))
    grips = [
        np.stack(
            [log["/truth"][f"{side}_grip_{axis}_n"] - log["/demand"][f"{side}_grip_{axis}_n"] for axis in ("fx", "fy")]
        )
        for side in ("left", "right")
    ]
    half = (grips[0] - grips[1]) / 2  # the same on both sides, with opposite signs
    assert measured(log, "internal_force_error_n")[0] == pytest.approx(np.sqrt(np.mean(2 * (half**2).sum(axis=0))))


@pytest.mark.slow
def test_the_elastic_energy_is_that_of_the_balance():
    log = granite.simulate(granite.load("flx-pendulum", {"loop.duration_s": 1.0, "simulation.audit": True}))
    truth = log["/truth"]
    energy = strain(log)
    assert measured(log, "elastic_energy_j")[0] == pytest.approx(energy[::10].max())
    assert 0 < energy.max() < np.ptp(truth.energy_j) + np.abs(truth.energy_j).max()


def strain(log: Log) -> np.ndarray:
    from granite.mrds.energy import Energy

    q, u = (log.rows[:, log.channels.columns("/truth", entry)] for entry in ("q", "u"))
    energy = Energy(log.bed.modules)
    return np.array([energy.balance(a, b).strain for a, b in zip(q, u, strict=True)])
