"""Map of the floor from the log of a survey: heights whose slope the controllers feed forward.

The base flies lanes over the table (`behaviour.kind = "survey"`), under the guard as in every run; the fit is in
`floor_fit.py`. A force that depends on the place alone, as that of a hose, becomes a part of the map.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from granite.calibration.fit import CalibrationFit, FittedKey, Residuals
from granite.calibration.flight_calibration import FlightCalibration
from granite.calibration.floor_fit import HeightGrid, fit_floor
from granite.calibration.identification.flight import expected_base, flight_of, vehicle_of
from granite.calibration.procedure import BenchMeasurement
from granite.config.devices.camera import Camera
from granite.config.devices.vision import Vision
from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.behaviours.survey import Survey
from granite.logs.log import Log
from granite.rt.run_in_memory import simulate_in_memory

#: distance of the heights by that of the lanes
_SPACING = 0.5
#: time of the run after the last lane [s]
_REST_S = 2.0


class FlownTable(FlightCalibration):
    """What the log of a survey says of the floor."""

    of = "floor"

    def __init__(self, bed: Testbed, log: Log) -> None:
        super().__init__(bed, log)
        thrusters, module = vehicle_of(bed)
        #: thrust and masses
        self.fitted_on = (f"devices.{thrusters}", f"modules.{module.name}.bodies")
        self.refuse_another_testbed(())
        if not isinstance(log.bed.behaviour, Survey.Options):
            kind = log.bed.behaviour.kind
            raise InputError(f"a run of '{kind}'", key="--log", expected="one with behaviour.kind = 'survey'")

    def fit(self, measured: Sequence[BenchMeasurement] = ()) -> CalibrationFit:
        """Heights on a grid over the area that was flown, and half a lane beyond it."""
        log, bed = self.log, self.log.bed
        survey: Survey.Options = bed.behaviour  # type: ignore[assignment]
        grid = grid_of(survey.area(bed), _SPACING * survey.lane_m)
        flight = flight_of(log)
        ready = int(np.nonzero(log["/state"]["ready"])[0][0])
        root = bed.known.root_q(vehicle_of(bed)[1])
        channels = log.channels.topic("/state")
        columns = [channels.start + i for i, (name, _) in enumerate(channels.values) if name == "q"][root]
        path = log.columns(columns)[ready:]
        module = vehicle_of(bed)[1].name
        cameras = [d for d in bed.sensors.values() if isinstance(d, Vision | Camera) and d.seen(bed).name == module]
        noise = float(getattr(cameras[0], "position_noise_m", 0.0))
        floor = fit_floor(flight, expected_base(bed), path, grid, noise)
        numbers = tuple(FittedKey(f"floor.heights_m.{i}", "m") for i in range(len(floor.heights)))
        kept = (
            (FittedKey("floor.corner_m.0", "m"), grid.corner_m[0]),
            (FittedKey("floor.corner_m.1", "m"), grid.corner_m[1]),
            (FittedKey("floor.spacing_m", "m"), grid.spacing_m),
            (FittedKey("floor.columns", "1"), grid.columns),
        )
        residuals = tuple(
            Residuals(name, f"{name} of the base [m]", floor.positions[:, i], floor.residual[:, i], "m")
            for i, name in enumerate(("x", "y"))
        )
        note = (
            f"drag of the pads: {floor.drag_ratio:.2g} of the weight; slopes of the map: {_slopes(floor.heights, grid)}"
        )
        samples = len(floor.positions)
        return CalibrationFit(
            numbers, floor.heights, floor.covariance, floor.freedom, samples, residuals, (note,), kept
        )


def survey_of(bed: Testbed) -> Testbed:
    """The testbed that flies the survey, over a floor of which it knows nothing."""
    survey = bed.behaviour if isinstance(bed.behaviour, Survey.Options) else Survey.Options(kind="survey")
    loop = bed.loop.model_copy(update={"duration_s": survey.duration(bed) + _REST_S})
    return bed.model_copy(update={"behaviour": survey, "loop": loop, "floor": None})


def simulated_survey(bed: Testbed, seed: int) -> Log:
    """The survey of the simulated lab whose floor this seed draws.

    Raises
    ------
    InputError
        Where the guard ended it.
    """
    log = simulate_in_memory(survey_of(bed).model_copy(update={"seed": seed}))
    assert log.summary is not None  # of a run in memory
    if log.summary["ended"] != "completed":
        text = f"the survey ended after {log.t[-1]:.0f} s: {log.summary['text']}"
        raise InputError(text, key="behaviour", value="survey", expected="limits in safety that this floor allows")
    return log


def grid_of(area: tuple[float, float, float, float], spacing_m: float) -> HeightGrid:
    """A grid over the area and two spacings beyond it, of at most 40 x 40 heights."""
    sizes = [area[2] - area[0], area[3] - area[1]]
    spacing = max(spacing_m, max(sizes) / 35)
    columns, rows = (math.ceil(size / spacing - 1e-9) + 5 for size in sizes)
    corner = area[0] - 2 * spacing, area[1] - 2 * spacing
    return HeightGrid(corner, spacing, rows, columns)


def _slopes(heights: Array, grid: HeightGrid) -> str:
    across = heights.reshape(grid.rows, grid.columns)
    differences = np.concatenate([np.diff(across, axis=axis).ravel() for axis in (0, 1)]) / grid.spacing_m
    return f"{float(np.sqrt((differences**2).mean())):.2g} rms, {float(np.abs(differences).max()):.2g} largest"
