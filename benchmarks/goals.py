"""A goal in the tick: its path, the check against every limit, and the table that the tick follows; processor time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.result import Result, side_by_side
from granite.config.loader import load
from granite.config.records import Reference
from granite.config.run_modes import Reply, Request, RequestKind
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
