"""Calibrations of simulated devices, 100 times each: how often the true numbers are within the stated uncertainty.

The expanded uncertainty that a file states contains all true numbers with a probability of 99 %; at least 95 of 100
repetitions must hold it. A region of 95 % is shown beside it, and the rms of the normalised error, which is above 1
where uncertainties are too small and below 1 where they are too large.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import granite
from benchmarks.result import Result
from granite.calibration import KINDS
from granite.calibration.fit import COVERAGE
from granite.calibration.session import find_procedure
from granite.calibration.simulated import Repetition, repeat

REPETITIONS = 100
#: testbeds that have the devices
BEDS = {
    "camera": "free-flyer/camera",
    "force": "fixed-dual-arm/carry-gauges",
    "strain": "flexible-arm",
    "motors": "free-flyer",
}
#: and changes to them: an image of a quarter of the size in 4 pictures, because 100 calibrations with 9 take long
CHANGES = {
    "camera": [
        "devices.vision.size_px=[640,512]",
        "devices.vision.field_m=[0.6,0.5,2.43,1.96]",
        "devices.vision.plate={ columns = 7, rows = 6, pitch_m = 0.1 }",
    ]
}
#: the body of the pendulum
BODY = {"inertia": "upper_arm"}
#: fewest of 100 inside: of the stated uncertainty, and of a region of 95 %, three binomial deviations below it
FEWEST = {COVERAGE: 95, 0.95: 89}


def measure() -> Iterator[Result]:
    for kind in KINDS:
        bed = granite.load(BEDS.get(kind, "free-flyer"), CHANGES.get(kind, []))
        procedure = find_procedure(kind, bed, BODY.get(kind))
        yield from judged(kind, [repeat(procedure, seed) for seed in range(1, REPETITIONS + 1)])


def judged(kind: str, found: list[Repetition]) -> Iterator[Result]:
    """The lines of the table on one kind."""
    for level, fewest in FEWEST.items():
        inside, name = sum(each.level < level for each in found), f"{kind}: truth in the {level:.0%} ellipsoid"
        yield Result(name, f"of {len(found)}", inside, None, "", f"at least {fewest}", inside >= fewest)
    numbers = len(found[0].fit.numbers)
    spread = float(np.sqrt(np.mean([each.spread for each in found])))
    band = max(0.1, 3 / np.sqrt(2 * len(found) * numbers))
    yield Result(f"{kind}: normalised error, rms", "", spread, None, "", f"1 +- {band:.2g}", abs(spread - 1) <= band)
    means = np.mean([each.errors for each in found], axis=0)
    bias = float(means[np.abs(means).argmax()])
    yield Result(f"{kind}: largest mean error, in deviations", "", bias, None, "", "0 +- 0.35", abs(bias) < 0.35)
