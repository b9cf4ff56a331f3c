"""One sharing of a wrench among eight thrusters with the least propellant: ours, and the same programme by DAQP.

DAQP gets the linear programme with a small quadratic term, as an active-set method for quadratic programmes needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np

from benchmarks.result import Result, side_by_side
from granite.config.devices.thrusters import Thrusters
from granite.config.loader import load
from granite.config.parts import PartTable
from granite.config.records import Array
from granite.controllers.distribution.quadratic_program import EQUALITY, QuadraticProgram
from granite.controllers.thrusters.contract import ThrusterSet
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix, wrench_weight
from granite.controllers.thrusters.least_propellant import LeastPropellant

GOAL_US = 3.0


def measure() -> Iterator[Result]:
    device = load("free-flyer").devices_of(Thrusters)["thrusters"]
    matrix, available = thruster_matrix(device, "planar"), available_thrust(device)
    thrusters = ThrusterSet(matrix, available, wrench_weight("planar", 8.0), device.valve, 0.005)
    ours = LeastPropellant(PartTable(kind="least_propellant"), thrusters)
    rng = np.random.default_rng(1)
    for what, scale in (("in reach", 0.3), ("partly out of reach", 3.0)):
        wrenches = list(rng.uniform(-1, 1, (500, 3)) * [scale, scale, 0.13 * scale])
        calls = {"ours": _each(ours.share, wrenches)}
        if scale < 1.0:
            calls["DAQP"] = _each(lambda w: _programme(matrix, available, w).solve(), wrenches)
        took = side_by_side(calls)
        own, peer = 1e6 * took["ours"], 1e6 * took["DAQP"] if "DAQP" in took else None
        name = f"wrench shared with the least propellant, {what}, from Python"
        yield Result(name, "us", own, peer, "DAQP" if peer else "", f"at most {GOAL_US:g} us", bool(own <= GOAL_US))


def _each(call: Callable[[Array], object], wrenches: list[Array]) -> Callable[[], object]:
    following = cycle(wrenches).__next__
    return lambda: call(following())


def _programme(matrix: Array, available: Array, wrench: Array) -> QuadraticProgram:
    m, n = matrix.shape
    upper, lower = np.concatenate([available, wrench]), np.concatenate([np.zeros(n), wrench])
    sense = np.array([0] * n + [EQUALITY] * m, dtype=np.int32)
    return QuadraticProgram(1e-4 * np.eye(n), np.ones(n), matrix, upper, lower, sense)
