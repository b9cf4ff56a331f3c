"""Readings of gauges: the tare removes what they read at rest, and the state waits for it."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.records import NOTHING, Frame, Sample, State, Status
from granite.controllers.estimation.gauges import GaugeReadings

PERIOD = 0.005


class Ready:
    """An estimator that always has a state."""

    def estimate(self, sample: Sample) -> State:
        return State(sample.t, True, NOTHING, NOTHING, NOTHING, NOTHING)


def readings(values: list[float], **sheet: float) -> list[State]:
    """The states for these readings of all signals, one a tick."""
    changes = {f"devices.force_gauges.{key}": value for key, value in sheet.items()}
    bed = load("fixed-dual-arm/carry-gauges", changes)
    gauges, sensor = GaugeReadings(Ready(), bed), list(bed.sensors).index("force_gauges")
    states = []
    for k, value in enumerate(values):
        frame = Frame(k * PERIOD, k + 1, int(Status.OK), np.full(4, value))
        states.append(gauges.estimate(Sample(k * PERIOD, (frame,) * (sensor + 1), ())))
    return states


def test_the_mean_of_the_first_readings_counts_as_zero_and_the_state_waits_for_it() -> None:
    states = readings([1.0, 3.0, 1.0, 3.0, 7.0, 8.0], tare_s=4 * PERIOD)
    assert [state.ready for state in states] == [False] * 4 + [True] * 2
    assert states[4].gauges == pytest.approx(np.full(4, 5.0))
    assert states[5].gauges == pytest.approx(np.full(4, 6.0))


def test_without_a_tare_the_first_reading_counts() -> None:
    (state,) = readings([1.5], tare_s=0.0)
    assert state.ready
    assert state.gauges == pytest.approx(np.full(4, 1.5))


def test_the_filter_has_its_time_constant() -> None:
    states = readings([0.0] + [1.0] * 40, tare_s=0.0, filter_s=0.05)
    assert states[20].gauges[0] == pytest.approx(1 - exp(-20 * PERIOD / 0.05))


def test_a_reading_that_is_not_finite_is_not_used() -> None:
    states = readings([1.0, float("nan"), 2.0], tare_s=0.0)
    assert [state.gauges[0] for state in states] == [1.0, 1.0, 2.0]
