"""Response of a valve to its commands, as expressions: dead time, linear rise and fall, minimum pulse.

A command given at t acts at t + delay; from then the opening moves towards the commanded one at the slope 1/rise, or in
one step where rise is zero. A valve that has opened stays open for the minimum pulse: a close that comes earlier is
postponed to its end, and an open that comes before cancels the close.

The opening is piecewise linear in time, so its average over any interval is exact: trapezoids between the kinks.

The state of a valve is a column

    [commanded; opened at; closes at; level; times of the last changes; their targets]

where `closes at` is a postponed close, or infinity. Changes are in the order of their times and stay in the list after
they have acted, until newer ones replace them: to act again has no effect.

Valves are here, beside the multibody model, because estimator, allocation and plant share this one response, and `mrds`
is the package that all of them may import.
"""

from __future__ import annotations

from math import inf

import casadi as ca
import numpy as np

from granite.config.devices.thrusters import Valve
from granite.config.records import Array
from granite.mrds.tolerances import SAME_STEP, SAME_TIME_S

_HEAD = 4  #: numbers before the changes


def remembered_changes(valve: Valve, spacing_s: float, *, throttled: bool) -> int:
    """Number of changes to store: those pending at a time, and one that has acted, for commands at this spacing [s].

    A command makes one change, and a postponed close, of which there is one per minimum pulse, another one. Valves that
    are not throttled change at most twice per minimum pulse, however often they are commanded.
    """
    shortest = max(valve.minimum_on_s, SAME_TIME_S)
    commands = int((valve.delay_s + spacing_s) / spacing_s + SAME_STEP) + 1
    any_opening = commands + min(commands, int((valve.delay_s + spacing_s) / shortest) + 1)
    # A postponed close is stored at the next command, so pulses may be closer by one spacing.
    on_or_off = 2 * (int((valve.delay_s + 2 * spacing_s) / shortest) + 1)
    return (any_opening if throttled else min(any_opening, on_or_off)) + 1


def closed(changes: int, n: int) -> Array:
    """The states of n valves that have always been closed, one after the other."""
    return np.tile([0.0, -inf, inf, 0.0, *[-inf] * changes, *[0.0] * changes], n)


def timing(valve: Valve) -> Array:
    """Delay, rise and minimum pulse [s]: the argument `timing` of the functions below."""
    return np.array([valve.delay_s, valve.rise_s, valve.minimum_on_s])


def command_function(changes: int, n: int) -> ca.Function:
    """(states, timing, t, commanded openings) -> (states, openings accepted, time of the first postponed close)."""
    state = _state(changes)
    times = ca.SX.sym("timing", 3)
    t = ca.SX.sym("t")
    wanted = ca.SX.sym("wanted")
    results = _commanded(state, times, t, wanted)
    return _for_all(ca.Function("valve_command", [state, times, t, wanted], results), n, (0, 3))


def mean_function(changes: int, n: int) -> ca.Function:
    """(states at t0, timing, t0, t1) -> (states at t1, mean openings from t0 to t1, openings at t1, constant until).

    Commands come at t1 or later. While a valve moves, its opening is constant until minus infinity.
    """
    state = _state(changes)
    times = ca.SX.sym("timing", 3)
    t0 = ca.SX.sym("t0")
    t1 = ca.SX.sym("t1")
    return _for_all(ca.Function("valve_mean", [state, times, t0, t1], _moved(state, times, t0, t1)), n, (0,))


def _for_all(one: ca.Function, n: int, of_each: tuple[int, ...]) -> ca.Function:
    """The function of one valve for n of them; the last result is the earliest of their times.

    `of_each` are the arguments that differ between valves. A loop over the valves, not n times the
    code: short code stays in the processor's cache.
    """
    inputs = [ca.MX.sym(one.name_in(i), one.size1_in(i) * (n if i in of_each else 1)) for i in range(one.n_in())]
    columns = [ca.reshape(x, one.size1_in(i), n) if i in of_each else ca.repmat(x, 1, n) for i, x in enumerate(inputs)]
    *results, moment = one.map(n).call(columns)
    return ca.Function(f"{one.name()}s", inputs, [*(ca.vec(result) for result in results), ca.mmin(moment)])


def _commanded(state: ca.SX, times: ca.SX, t: ca.SX, wanted: ca.SX) -> list[ca.SX]:
    """The state after a command, the opening accepted, and the time of a postponed close."""
    delay, _, minimum = ca.vertsplit(times)
    commanded, opened, closes, level, when, target = _parts(state)
    over = closes <= t + SAME_TIME_S
    when, target = _appended(over, ca.if_else(closes < t, closes, t) + delay, 0.0, when, target)
    commanded = ca.if_else(over, 0.0, commanded)
    closes = ca.if_else(over, inf, closes)

    opens = wanted > 0.0  # NaN closes
    opened = ca.if_else(ca.logic_and(opens, commanded == 0.0), t, opened)
    moves = ca.logic_and(opens, wanted != commanded)
    shuts = ca.logic_and(ca.logic_not(opens), commanded > 0.0)
    due = opened + minimum
    at_once = ca.logic_and(shuts, due <= t + SAME_TIME_S)
    postponed = ca.logic_and(shuts, ca.logic_not(at_once))
    changed = ca.logic_or(moves, at_once)
    taken = ca.if_else(changed, ca.if_else(moves, wanted, 0.0), commanded)
    when, target = _appended(changed, t + delay, taken, when, target)
    closes = ca.if_else(postponed, due, ca.if_else(ca.logic_or(opens, at_once), inf, closes))
    return [ca.vertcat(taken, opened, closes, level, when, target), taken, closes]


def _moved(state: ca.SX, times: ca.SX, t0: ca.SX, t1: ca.SX) -> list[ca.SX]:
    """The state at t1 from that at t0, the mean opening between them, the opening at t1, and until when it stays."""
    delay, rise, _ = ca.vertsplit(times)
    commanded, opened, closes, level, when, target = _parts(state)
    at = t0
    area = ca.SX(0.0)
    towards = ca.SX(0.0)
    following = ca.SX(inf)
    for kink, there in [*zip(ca.vertsplit(when), ca.vertsplit(target), strict=True), (closes + delay, ca.SX(0.0))]:
        passed = kink < t1
        until = ca.if_else(ca.logic_and(passed, kink > at), kink, at)
        level, under = _ramp(level, towards, until - at, rise)
        at = until
        area = area + under
        towards = ca.if_else(passed, there, towards)
        following = ca.if_else(ca.logic_and(ca.logic_not(passed), kink < following), kink, following)
    level, under = _ramp(level, towards, t1 - at, rise)
    after = ca.vertcat(commanded, opened, closes, level, when, target)
    return [after, (area + under) / (t1 - t0), level, ca.if_else(level == towards, following, -inf)]


def _ramp(level: ca.SX, target: ca.SX, span: ca.SX, rise: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Move towards the target for a time span: the level after it, and the area under the opening."""
    gap = target - level
    needed = ca.fabs(gap) * rise
    arrives = span >= needed
    after = ca.if_else(arrives, target, level + ca.copysign(span / rise, gap))
    return after, ca.if_else(arrives, target * span - 0.5 * gap * needed, 0.5 * (level + after) * span)


def _appended(new: ca.SX, when: ca.SX, target: ca.SX | float, whens: ca.SX, targets: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The changes with one more at the end in place of the oldest, where `new` is true."""
    return (
        ca.if_else(new, ca.vertcat(whens[1:], when), whens),
        ca.if_else(new, ca.vertcat(targets[1:], target), targets),
    )


def _state(changes: int) -> ca.SX:
    return ca.SX.sym("state", _HEAD + 2 * changes)


def _parts(state: ca.SX) -> list[ca.SX]:
    n = state.numel()
    return list(ca.vertsplit(state, [0, 1, 2, 3, _HEAD, (_HEAD + n) // 2, n]))
