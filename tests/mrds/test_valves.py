"""Valves: dead time, rise, shortest pulse, and the exact average opening."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from granite.config.devices.thrusters import Valve
from granite.mrds.valve_response import remembered_changes
from granite.mrds.valves import ValveBank

OPEN, CLOSED = np.ones(1), np.zeros(1)
#: no test has more on their way
CHANGES = 26


def bank(delay: float = 0.0, rise: float = 0.0, minimum: float = 0.0, n: int = 1) -> ValveBank:
    return ValveBank(Valve(delay_s=delay, rise_s=rise, minimum_on_s=minimum), n, CHANGES)


def test_an_ideal_valve_opens_at_once():
    valves = bank()
    valves.command(0.0, OPEN)
    assert valves.mean_opening(0.0, 0.001) == 1.0


def test_the_dead_time_passes_before_anything_moves():
    valves = bank(delay=0.004)
    valves.command(0.0, OPEN)
    assert valves.mean_opening(0.0, 0.004) == 0.0
    assert valves.mean_opening(0.003, 0.005) == pytest.approx(0.5)
    assert valves.mean_opening(0.004, 0.005) == 1.0


def test_the_opening_rises_linearly_and_falls_the_same_way():
    valves = bank(rise=0.004)
    valves.command(0.0, OPEN)
    assert valves.mean_opening(0.0, 0.001) == pytest.approx(0.125)
    assert valves.mean_opening(0.001, 0.004) == pytest.approx(0.625)
    valves.command(0.004, CLOSED)
    assert valves.mean_opening(0.004, 0.006) == pytest.approx(0.75)
    assert valves.mean_opening(0.006, 0.008) == pytest.approx(0.25)
    assert valves.mean_opening(0.008, 1.0) == 0.0


def test_a_pulse_shorter_than_the_rise_is_a_triangle():
    valves = bank(rise=0.004)
    valves.command(0.0, OPEN)
    valves.command(0.002, CLOSED)
    # Up to half the opening in 2 ms, and back: area 0.5 * 0.5 * 4 ms.
    assert valves.mean_opening(0.0, 0.004) * 0.004 == pytest.approx(0.001)


def test_a_throttled_valve_moves_at_the_same_slope():
    valves = bank(rise=0.01)
    valves.command(0.0, np.array([0.3]))
    assert valves.mean_opening(0.0, 0.003) == pytest.approx(0.15)
    assert valves.mean_opening(0.003, 0.004) == pytest.approx(0.3)


def test_an_early_close_is_postponed_to_the_end_of_the_shortest_pulse_between_ticks():
    valves = bank(minimum=0.0103)
    assert valves.command(0.0, OPEN) == 1.0
    taken = [float(valves.command(t, CLOSED)[0]) for t in (0.005, 0.010)]
    assert taken == [1.0, 1.0]
    assert valves.mean_opening(0.010, 0.011) == pytest.approx(0.3)
    assert valves.command(0.015, CLOSED) == 0.0
    assert valves.mean_opening(0.015, 0.020) == 0.0


def test_opening_again_before_a_postponed_close_calls_it_off():
    valves = bank(minimum=0.010)
    valves.command(0.0, OPEN)
    valves.command(0.004, CLOSED)
    valves.command(0.008, OPEN)
    assert valves.mean_opening(0.008, 0.020) == 1.0
    assert valves.command(0.020, CLOSED) == 0.0
    assert valves.mean_opening(0.020, 0.021) == 0.0


def test_opening_again_after_a_postponed_close_starts_a_new_pulse():
    valves = bank(minimum=0.010)
    valves.command(0.0, OPEN)
    valves.command(0.004, CLOSED)
    valves.command(0.012, OPEN)
    assert valves.command(0.013, CLOSED) == 1.0
    assert valves.mean_opening(0.0, 0.030) * 0.030 == pytest.approx(0.020)


@pytest.mark.parametrize("tick", range(1, 200))
def test_a_close_at_the_end_of_the_shortest_pulse_is_taken_whatever_the_rounding(tick):
    valves = bank(minimum=0.010)
    valves.command(tick * 0.005, OPEN)
    assert valves.command((tick + 1) * 0.005, CLOSED) == 1.0
    assert valves.command((tick + 2) * 0.005, CLOSED) == 0.0
    assert valves.command((tick + 2) * 0.005, OPEN) == 1.0
    assert valves.mean_opening((tick + 2) * 0.005, (tick + 3) * 0.005) == 1.0


def test_closing_all_does_not_wait_for_the_shortest_pulse():
    valves = bank(delay=0.001, minimum=0.010, n=2)
    valves.command(0.0, np.array([1.0, 1.0]))
    valves.command(0.002, np.array([0.0, 1.0]))
    valves.close(0.004)
    assert valves.mean_opening(0.0, 0.010) == pytest.approx([0.4, 0.4])
    assert valves.command(0.012, np.zeros(2)) == pytest.approx([0.0, 0.0])


def test_closing_all_after_a_postponed_close_has_passed_changes_nothing():
    valves = bank(delay=0.001, minimum=0.010)
    valves.command(0.0, OPEN)
    valves.command(0.002, CLOSED)
    valves.mean_opening(0.015, 0.016)
    valves.close(0.020)
    assert valves.mean_opening(0.020, 0.050) == 0.0


def test_a_command_that_is_not_a_number_closes():
    valves = bank()
    valves.command(0.0, OPEN)
    assert valves.command(0.001, np.array([np.nan])) == 0.0


def test_what_is_returned_does_not_change_later():
    valves = bank(rise=0.004)
    taken = valves.command(0.0, OPEN)
    mean = valves.mean_opening(0.0, 0.001)
    kept = mean.copy()
    valves.command(0.001, CLOSED)
    valves.mean_opening(0.001, 0.5)
    assert taken == 1.0
    assert mean == kept


STEP = 1e-4
times = st.sampled_from([0.0, 3e-4, 1e-3, 4e-3, 7e-3])
scripts = st.lists(
    st.tuples(st.integers(1, 60), st.lists(st.sampled_from([0.0, 0.0, 0.4, 1.0, 1.0]), min_size=2, max_size=2)),
    min_size=1,
    max_size=12,
)


def brute_force(valve: Valve, script: list[tuple[int, list[float]]], i: int, end: int) -> np.ndarray:
    """The opening of valve i at each fine step, by the rules as one would say them, step by step."""
    commands = {}
    at = 0
    for wait, opening in script:
        at += wait
        commands[at] = opening[i]
    delay, minimum = round(valve.delay_s / STEP), round(valve.minimum_on_s / STEP)
    commanded, taken, on_since = 0.0, 0.0, -(10**9)
    target = np.zeros(end + delay + 1)
    for k in range(end):
        commanded = commands.get(k, commanded)
        if commanded > 0.0:
            if taken == 0.0:
                on_since = k
            taken = commanded
        elif k - on_since >= minimum:
            taken = 0.0
        target[k + delay] = taken
    level, levels = 0.0, []
    for k in range(end):
        if valve.rise_s == 0.0:
            level = target[k]
            levels.append(level)
        else:
            move = STEP / valve.rise_s
            new = level + np.clip(target[k] - level, -move, move)
            levels.append(0.5 * (level + new))
            level = new
    return np.array(levels)


@settings(max_examples=60, deadline=None)
@given(delay=times, rise=times, minimum=times, script=scripts)
def test_the_average_is_that_of_a_step_by_step_simulation(delay, rise, minimum, script):
    valve = Valve(delay_s=delay, rise_s=rise, minimum_on_s=minimum)
    end = sum(wait for wait, _ in script) + 300
    expected = [brute_force(valve, script, i, end) for i in range(2)]
    valves = ValveBank(valve, 2, CHANGES)
    at = 0
    for wait, opening in [*script, (250, None)]:
        got = valves.mean_opening(at * STEP, (at + wait) * STEP)
        # A fine step that ends on its target is not a straight line: a part of a step is lost there.
        tolerance = 0.2 / wait if rise else 1e-9
        for i in range(2):
            assert got[i] == pytest.approx(expected[i][at : at + wait].mean(), abs=tolerance)
        at += wait
        if opening is not None:
            valves.command(at * STEP, np.array(opening))


@settings(max_examples=50, deadline=None)
@given(delay=times, rise=times, minimum=times, script=scripts, parts=st.lists(st.integers(1, 50), min_size=1))
def test_averages_add_up_however_the_time_is_cut(delay, rise, minimum, script, parts):
    valve = Valve(delay_s=delay, rise_s=rise, minimum_on_s=minimum)
    whole, cut = ValveBank(valve, 2, CHANGES), ValveBank(valve, 2, CHANGES)
    at = 0.0
    for wait, opening in script:
        at += wait * STEP
        whole.command(at, np.array(opening))
        cut.command(at, np.array(opening))
    end = at + sum(parts) * 1.7e-4
    total, t = np.zeros(2), at
    for part in parts:
        total += cut.mean_opening(t, t + part * 1.7e-4) * part * 1.7e-4
        t += part * 1.7e-4
    assert whole.mean_opening(at, end) * (end - at) == pytest.approx(total, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(delay=times, rise=times, minimum=times, script=scripts)
def test_many_steps_at_once_are_the_same_to_the_bit_as_one_by_one(delay, rise, minimum, script):
    valve = Valve(delay_s=delay, rise_s=rise, minimum_on_s=minimum)
    at_once, one_by_one = ValveBank(valve, 2, CHANGES), ValveBank(valve, 2, CHANGES)
    at = 0
    for wait, opening in script:
        openings = np.broadcast_to(at_once.mean_openings(at, at + wait, STEP), (wait, 2))
        for row in openings:
            assert np.array_equal(row, one_by_one.mean_opening(at * STEP, (at + 1) * STEP))
            at += 1
        at_once.command(at * STEP, np.array(opening))
        one_by_one.command(at * STEP, np.array(opening))


@settings(max_examples=50, deadline=None)
@given(minimum=times, commanded=st.lists(st.booleans(), min_size=1, max_size=60))
def test_no_pulse_is_shorter_than_the_shortest(minimum, commanded):
    valves = bank(minimum=minimum)
    on_time = 0.0
    for k, on in enumerate([*commanded, *[False] * 20]):
        valves.command(k * 1e-3, OPEN if on else CLOSED)
        part = float(valves.mean_opening(k * 1e-3, (k + 1) * 1e-3)[0]) * 1e-3
        on_time += part
        if part < 0.999e-3:
            # Closed within this tick, or closed all along: the pulse that ended was long enough.
            assert on_time == pytest.approx(0.0, abs=1e-9) or on_time >= minimum - 1e-9
            on_time = 0.0


@pytest.mark.slow
@pytest.mark.parametrize("throttled", [False, True])
@settings(max_examples=50, deadline=None)
@given(
    delay=times,
    rise=times,
    minimum=times,
    spacing=st.sampled_from([3e-4, 1e-3, 5e-3]),
    commanded=st.lists(st.sampled_from([0.0, 1.0, 0.4]), min_size=1, max_size=40),
)
def test_as_many_changes_are_remembered_as_can_be_on_their_way(throttled, delay, rise, minimum, spacing, commanded):
    valve = Valve(delay_s=delay, rise_s=rise, minimum_on_s=minimum)
    changes = remembered_changes(valve, spacing, throttled=throttled)
    few, many = ValveBank(valve, 1, changes), ValveBank(valve, 1, 40)
    for k, opening in enumerate(commanded):
        wanted = np.array([opening if throttled else np.ceil(opening)])
        assert few.command(k * spacing, wanted) == many.command(k * spacing, wanted)
        t0, t1 = k * spacing, (k + 1) * spacing
        assert few.mean_opening(t0, t1) == many.mean_opening(t0, t1)


def test_no_more_changes_are_remembered_than_fit_into_the_dead_time():
    """By hand: pulses of 2 ms with a dead time of 10.3 ms, commanded every millisecond.

    On or off, the dead time and two spacings (12.3 ms) see seven pulses of two changes. Throttled, twelve commands are
    on their way, and six postponed closes. One more has acted.
    """
    valve = Valve(delay_s=0.0103, rise_s=0.0, minimum_on_s=0.002)
    assert remembered_changes(valve, 1e-3, throttled=False) == 2 * 7 + 1
    assert remembered_changes(valve, 1e-3, throttled=True) == 12 + 6 + 1
    assert remembered_changes(Valve(delay_s=0.0113, rise_s=0.0, minimum_on_s=0.002), 1e-3, throttled=False) == 2 * 7 + 1
    # Pulses longer than all of that: one at a time, or the twelve commands and one close.
    long = Valve(delay_s=0.0103, rise_s=0.0, minimum_on_s=0.02)
    assert remembered_changes(long, 1e-3, throttled=False) == 2 + 1
    assert remembered_changes(long, 1e-3, throttled=True) == 12 + 1 + 1
    # Without a shortest pulse every command may be followed by a close of its own, on or off as well.
    any_length = Valve(delay_s=0.0103, rise_s=0.0, minimum_on_s=0.0)
    assert remembered_changes(any_length, 1e-3, throttled=False) == 12 + 12 + 1
