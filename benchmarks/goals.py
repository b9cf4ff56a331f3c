"""A goal in the tick: its path, the check against every limit, and the table that the tick follows; processor time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.result import Result, side_by_side
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Reference
from granite.config.run_modes import Reply, Request, RequestKind
from granite.config.testbed import Testbed
from granite.controllers.behaviours.on_demand import OnDemand
from granite.controllers.stack import build_stack

#: longest time of a request in the tick [us]
_MOST_US = 100.0
#: as many zones again as the guard is timed with; goals begin among them
_ZONES = [
    {"name": f"{kind}{i}", kind: shape}
    for i in range(8)
    for kind, shape in (
        ("disc", {"position_m": [0.35 + 0.38 * i, 2.25], "radius_m": 0.1}),
        ("polygon_m", [[0.3 + 0.38 * i, 0.02], [0.5 + 0.38 * i, 0.02], [0.4 + 0.38 * i, 0.12]]),
    )
]
_TESTBEDS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "free-flyer": ("free-flyer", {}),
    "two-arm-free-flyer": ("two-arm-free-flyer", {}),
    "free-flyer, 16 zones": ("free-flyer", {"safety.keep_out": _ZONES}),
}
#: random goals in each of some sets of random zones, and how often each is asked for: the least time counts
_SETS, _GOALS, _REPETITIONS = 4, 150, 5


def measure() -> Iterator[Result]:
    for name, (of, changes) in _TESTBEDS.items():
        overrides: dict[str, Any] = {"behaviour": {"kind": "on_demand"}, **changes}
        bed = load(of, overrides)
        behaviour = build_stack(bed).behaviour
        assert isinstance(behaviour, OnDemand)
        q = np.array([bed.simulation.initial.get(c.key, 0.0) for c in bed.known.positions])
        rest = np.zeros(len(q))
        reference = Reference(1.0, q, rest, rest, False)
        requests = {
            "a goal": (Request(RequestKind.GO, 1, 0, 20.0, numbers=tuple((q + 0.05).tolist())), Reply.DONE),
            "a goal of one coordinate in motion": (
                Request(RequestKind.GO, 1, 0, 20.0, numbers=(math.nan, q[1] + 0.05, *[math.nan] * (len(q) - 2))),
                None,
            ),
            "a goal, refused": (Request(RequestKind.GO, 1, 0, 1.0, numbers=tuple((q + 0.5).tolist())), None),
            "a goal beyond a zone, refused": (
                Request(RequestKind.GO, 1, 0, 60.0, numbers=(q[0], 2.3, *q[2:].tolist())),
                Reply.NOT_FEASIBLE if changes else None,
            ),
            "a jog": (Request(RequestKind.JOG, 1, numbers=(0.02, *rest[1:].tolist())), Reply.DONE),
            "a jog, slower": (Request(RequestKind.JOG, 1, numbers=tuple((rest + 0.02).tolist())), None),
        }
        for what, (request, expected) in requests.items():
            assert expected is None or behaviour.ask(reference, request).reply is expected, what

        def asked(request: Request, reference: Reference = reference, behaviour: OnDemand = behaviour) -> object:
            return behaviour.ask(reference, request)

        calls: dict[str, Callable[[], object]] = {
            what: partial(asked, request) for what, (request, _) in requests.items()
        }
        for what, seconds in side_by_side(calls, number=20, rounds=200).items():
            us = 1e6 * seconds
            goal = f"at most {_MOST_US:g} us"
            yield Result(f"{what} in the tick, {name}", "us", us, None, "", goal, us <= _MOST_US)
    yield from _random_goals()


def _random_goals() -> Iterator[Result]:
    """Goals from rest or in motion, and those of one coordinate on the way to another one, which have more rows."""
    times: dict[str, list[float]] = {"accepted": [], "refused": [], "of one coordinate on the way": []}
    for number in range(_SETS):
        rng = np.random.default_rng(number)
        behaviour = build_stack(_among_random_zones(rng)).behaviour
        assert isinstance(behaviour, OnDemand)
        for _ in range(_GOALS):
            reference, go = _random_goal(rng, behaviour)
            seconds, reply = _asked(behaviour, reference, [go])
            times["accepted" if reply is Reply.DONE else "refused"].append(seconds)
            if reply is Reply.DONE:
                numbers, i = [math.nan] * len(reference.q), int(rng.integers(len(reference.q)))
                numbers[i] = (reference.q[i] + go.numbers[i]) / 2
                another = go._replace(value=go.value / 3, numbers=tuple(numbers))
                times["of one coordinate on the way"].append(_asked(behaviour, reference, [go, another])[0])
    for what, seconds_of in times.items():
        us = 1e6 * max(seconds_of)
        name = f"worst of {len(seconds_of)} random goals, {what}, 16 random zones"
        yield Result(name, "us", us, None, "", f"at most {_MOST_US:g} us", us <= _MOST_US)


def _among_random_zones(rng: np.random.Generator) -> Testbed:
    """The free-flyer with 8 discs and 8 polygons anywhere on the table but where it starts."""
    while True:
        zones: list[dict[str, Any]] = []
        for i in range(8):
            (x, y), centre = rng.uniform([0.1, 0.1], [3.4, 2.5], (2, 2)).tolist()
            disc = {"position_m": [x, y], "radius_m": rng.uniform(0.03, 0.12)}
            count, radius = int(rng.integers(3, 6)), rng.uniform(0.05, 0.15)
            angles = (np.arange(count) + rng.uniform(0.0, 0.6, count)) * math.tau / count
            corners = (centre + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)).tolist()
            zones += [{"name": f"disc{i}", "disc": disc}, {"name": f"polygon{i}", "polygon_m": corners}]
        bed = load("free-flyer", {"behaviour": {"kind": "on_demand"}, "safety.keep_out": zones})
        try:
            build_stack(bed)
        except InputError:
            continue
        return bed


def _random_goal(rng: np.random.Generator, behaviour: OnDemand) -> tuple[Reference, Request]:
    """Near or far from a pose where nothing is too near."""
    low, high, rest = [0.4, 0.3, -1.5, -1.1, -0.6], [3.1, 2.2, 1.5, 1.9, 2.4], np.zeros(5)
    while True:
        q = rng.uniform(low, high)
        if behaviour.ask(Reference(1.0, q, rest, rest, False), _go(q, 10.0)).reply is Reply.DONE:
            break
    target = rng.uniform(low, high) if rng.random() < 0.5 else q + rng.uniform(-0.3, 0.3, 5)
    u = rng.normal(0.0, 0.02, 5) * (rng.random() < 0.5)
    return Reference(1.0, q, u, rest, False), _go(target, float(rng.uniform(15.0, 60.0)))


def _go(target: Any, duration: float) -> Request:
    return Request(RequestKind.GO, 1, 0, duration, numbers=tuple(target.tolist()))


def _asked(behaviour: OnDemand, reference: Reference, requests: list[Request]) -> tuple[float, Reply]:
    """Time and answer of the last of some goals."""
    seconds = math.inf
    for _ in range(_REPETITIONS):
        behaviour.stay(reference)
        for request in requests:
            began = time.process_time()
            reply = behaviour.ask(reference, request).reply
            elapsed = time.process_time() - began
        seconds = min(seconds, elapsed)
    return seconds, reply
