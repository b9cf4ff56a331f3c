"""Board time to loop time: the truth stays inside the bounds, and the bounds become narrow."""

import numpy as np
import pytest

from granite.drivers.board.clock_map import ClockMap


def exchanges(drift: float, offset: float, seconds: float, period: float = 0.005, seed: int = 1):
    """Sent, received, board time [us] and true loop time of samples; delays of 50 us and more, some of 5 ms."""
    rng = np.random.default_rng(seed)
    for sent in np.arange(0.0, seconds, period):
        there, back = 5e-5 + rng.exponential(2e-4, 2) + (rng.random(2) < 0.02) * 5e-3
        sampled = sent + there
        yield sent, sampled + back, round((sampled - offset) / (1 + drift) * 1e6), sampled


@pytest.mark.parametrize("drift", [0.0, 5e-5, -1.2e-4])
@pytest.mark.parametrize("offset", [-3600.0, 1e5])
def test_the_truth_is_inside_the_bounds_and_they_narrow_to_the_least_delay(drift: float, offset: float):
    clock, resolution = ClockMap(), 1e-6
    for sent, received, board_us, true in exchanges(drift, offset, 40.0):
        clock.update(sent, received, board_us)
        assert abs(clock.loop_time(board_us) - true) <= clock.uncertainty_s + resolution
    assert clock.jumps == 0
    assert clock.uncertainty_s < 1e-4
    assert abs(clock.drift - drift) <= clock.drift_uncertainty + 1e-7
    assert clock.drift_uncertainty < 2e-5


def test_a_drift_that_changes_with_temperature_is_followed():
    clock, board = ClockMap(), 0.0
    rng = np.random.default_rng(2)
    for k in range(20_000):
        t = k * 0.005
        board += 0.005 * (1 + 2e-5 * np.sin(2 * np.pi * t / 3000))
        there, back = 5e-5 + rng.exponential(2e-4, 2)
        clock.update(t - there, t + back, round(board * 1e6))
        assert abs(clock.loop_time(round(board * 1e6)) - t) <= clock.uncertainty_s + 1e-6
    assert clock.jumps == 0


def test_a_clock_that_jumps_is_counted_and_mapped_again():
    clock = ClockMap()
    for sent, received, board_us, _ in exchanges(0.0, 0.0, 2.0):
        clock.update(sent, received, board_us)
    refused = 0
    for sent, received, board_us, true in exchanges(0.0, 0.0, 2.0):
        if not clock.update(sent + 2, received + 2, board_us + 2_500_000):
            refused += 1
            continue
        assert abs(clock.loop_time(board_us + 2_500_000) - true - 2) <= clock.uncertainty_s + 1e-6
    assert (clock.jumps, refused) == (1, 4)


def test_a_report_that_comes_after_the_time_of_a_late_tick_is_no_jump():
    """A tick that wakes up 3 ms late reads a sample that was taken after the time which it notes for it."""
    clock = ClockMap()
    for k, (sent, received, board_us, true) in enumerate(exchanges(0.0, 0.0, 4.0)):
        is_late = k > 100 and k % 10 == 0
        assert clock.update(sent, true - 0.003 if is_late else received, board_us) is not is_late
        assert abs(clock.loop_time(board_us) - true) <= clock.uncertainty_s + 1e-6
    assert clock.jumps == 0
