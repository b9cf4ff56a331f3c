"""Limits of the monitor from a flight: those that the guard computes, rarely exceeded by another flight."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from granite.calibration import flight_residuals
from granite.calibration.flight_residuals import FlightResiduals
from granite.calibration.session import file_content, find_flight, find_procedure
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.logs.log import Log
from granite.rt.run_in_memory import simulate_in_memory
from granite.tuning.toml_text import toml_text

BED = "free-flyer/harsh"
#: of the largest values: shorter than by default, so that a short flight has enough of them [s]
BLOCK_S = 10.0


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_residuals, "BLOCK_S", BLOCK_S)


def flight(seconds: float, **changes: Any) -> Log:
    """The first waypoint to and fro."""
    bed = load(BED)
    there: dict[str, float] = bed.behaviour.model_dump()["waypoints"][0]["target"]
    back = {key: bed.simulation.initial.get(key, 0.0) for key in there}
    legs = [{"duration_s": 20.0, "ramp_s": 3.0, "target": target} for target in (there, back) * 6]
    keys = {"behaviour.waypoints": legs, "loop.duration_s": seconds, **changes}
    return simulate_in_memory(load(BED, keys))


@pytest.fixture(scope="module")
def long_flight() -> Log:
    responses = {"motion_unexplained": "warn"}
    return flight(75.0, **{"safety.monitor.residual_n": {"base_x": 0.02}, "safety.responses": responses})


def test_the_numbers_are_those_of_the_guard(long_flight: Log) -> None:
    """A limit of 20 mN is broken on the way: the log has values of the guard, and they are the same to the bit."""
    flown = FlightResiduals(long_flight.bed, long_flight)
    numbers, values = flown.statistics()
    keys = [number.key for number in numbers]
    channels = long_flight.channels
    columns = [channels.column("/verdict", key) for key in ("reason", "value", "limit")]
    reason, value, limit = long_flight.columns(columns).T
    judged = np.flatnonzero((reason == Reason.MOTION_UNEXPLAINED) & (limit == 0.02))
    ready = int(np.argmax(long_flight.columns([channels.column("/state", "ready")])[:, 0] > 0))
    first = ready + round(2 * long_flight.bed.safety.monitor.settling_s / 0.005)
    judged = judged[(judged >= first) & (judged < first + len(values))]
    assert len(judged) > 1000
    column = values[:, keys.index("safety.monitor.residual_n.base_x")]
    assert np.array_equal(column[judged - first], np.abs(value[judged]))


def test_a_limit_is_the_value_that_is_exceeded_once_in_a_thousand_hours(long_flight: Log) -> None:
    flown = FlightResiduals(long_flight.bed, long_flight)
    fit = flown.fit()
    _, values = flown.statistics()
    ticks = round(BLOCK_S / 0.005)
    blocks = len(values) // ticks
    largest = values[: blocks * ticks].reshape(blocks, ticks, -1).max(axis=1)
    # Gumbel's distribution of the same mean and deviation: exp(-exp(-z)) at the limit is 1 - 1/360 000.
    beta = largest.std(axis=0, ddof=1) * np.sqrt(6) / np.pi
    mode = largest.mean(axis=0) - 0.5772156649015329 * beta
    moves = beta > 0
    chance = -np.expm1(-np.exp(-(fit.values - mode)[moves] / beta[moves]))
    assert chance == pytest.approx(BLOCK_S / 3600 / 1000, rel=1e-4)
    assert (fit.values >= largest.max(axis=0)).all()


def test_a_file_changes_the_limits_of_the_testbed(long_flight: Log, tmp_path: Path) -> None:
    bed = load(BED)
    flown = find_flight("residuals", bed, long_flight)
    fit = flown.fit()
    content = file_content("residuals", flown, bed, fit, date(2026, 11, 17), "0", True)
    file = tmp_path / "residuals.toml"
    file.write_text(toml_text(content))
    calibrated = load(BED, {"safety.monitor.calibration": str(file)})
    by_key = {number.key: max(number.least, value) for number, value in zip(fit.numbers, fit.values, strict=True)}
    monitor = calibrated.safety.monitor
    assert monitor.gain_evidence_n_m["elbow"] == by_key["safety.monitor.gain_evidence_n_m.elbow"]
    assert monitor.disturbance_n["base_y"] == by_key["safety.monitor.disturbance_n.base_y"]
    assert monitor.mean_innovation_sigma == by_key["safety.monitor.mean_innovation_sigma"]
    assert monitor.residual_n_m["elbow"] >= 0.25 * bed.safety.monitor.residual_n_m["elbow"]


def test_flights_that_say_too_little_are_refused() -> None:
    with pytest.raises(InputError, match="too short"):
        FlightResiduals(load(BED), flight(3.0)).fit()
    with pytest.raises(InputError, match="another controller"):
        FlightResiduals(load(BED, {"controller.estimator.joint_rad_s2_per_rthz": 0.3}), flight(1.0))
    fault = {"kind": "fault", "at_s": 1.0, "device": "vision", "what": "silent"}
    with pytest.raises(InputError, match="ended by sensor_stale"):
        FlightResiduals(load(BED), flight(5.0, **{"simulation.events": [fault]}))
    with pytest.raises(InputError, match="--log"):
        find_procedure("residuals", load(BED))
