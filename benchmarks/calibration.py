"""Calibrations of simulated devices, 100 times each: how often the true numbers are within the stated uncertainty."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import granite
from benchmarks.result import Result
from granite.rt.calibration import KINDS
from granite.rt.calibration.session import find_procedure
from granite.rt.calibration.simulated import repeat

REPETITIONS = 100
#: testbeds that have the devices
BEDS = {"force": "fixed-dual-arm/carry-gauges", "strain": "flexible-arm"}
#: the body of the pendulum
BODY = {"inertia": "upper_arm"}
#: binomial, two standard deviations below the expectation, of each level
FEWEST = {0.95: 91, 0.99: 97}


def measure() -> Iterator[Result]:
    for kind in KINDS:
        procedure = find_procedure(kind, granite.load(BEDS.get(kind, "free-flyer")), BODY.get(kind))
        found = [repeat(procedure, seed) for seed in range(1, REPETITIONS + 1)]
        for level, fewest in FEWEST.items():
            inside, name = sum(each.level < level for each in found), f"{kind}: truth in the {level:.0%} ellipsoid"
            yield Result(name, f"of {REPETITIONS}", inside, None, "", f"about {level:.0%}", inside >= fewest)
        spread = float(np.sqrt(np.mean([each.spread for each in found])))
        yield Result(f"{kind}: normalised error, rms", "", spread, None, "", "1", bool(0.9 <= spread <= 1.1))
        longest = max(range(len(found[0].fit.numbers)), key=lambda i: abs(float(np.mean([e.errors[i] for e in found]))))
        bias = float(np.mean([each.errors[longest] for each in found]))
        yield Result(f"{kind}: largest mean error, in deviations", "", bias, None, "", "0", abs(bias) < 0.35)
