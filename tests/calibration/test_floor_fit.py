"""The map of a floor from a flight: known heights are found, under thrust that is wrong, and fed forward."""

from __future__ import annotations

import numpy as np
import pytest

from granite.calibration.floor_fit import HeightGrid, fit_floor
from granite.calibration.identification.flight import BaseInertia, FreeFlight
from granite.calibration.table import FlownTable, grid_of, simulated_survey
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Array
from granite.mrds.height_map import GRAVITY, slope_rows
from granite.rt.run_in_memory import simulate_in_memory

PERIOD = 0.05
AREA = 0.0, 0.0, 1.2, 0.9
WAVES = "simulation.table.waves=[{length_m=0.6,slope_g=3e-4},{length_m=1.5,slope_g=3e-4}]"
#: a survey goes over a floor that nothing explains yet
SURVEYED = "safety.monitor.disturbance_thrust_ratio=2", "safety.monitor.residual_thrust_ratio=2"
GRID = grid_of(AREA, 0.3)


def a_flight(heights: Array, thrust_error: float, noise_m: float, seconds: float = 360.0) -> tuple[FreeFlight, Array]:
    """A puck of 4 kg that is pushed to and fro over the floor, by nozzles that are wrong."""
    rng = np.random.default_rng(3)
    n = round(seconds / PERIOD)
    matrix = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0], [0.0] * 4])
    true = matrix[:2] * (1 + thrust_error * rng.uniform(-1, 1, 4))
    x, v = np.array([0.1, 0.1]), np.zeros(2)
    openings, path = np.zeros((n, 4)), np.zeros((n + 1, 3))
    for k in range(n):
        path[k, :2] = x
        # A slow path that covers the area, followed by on/off valves.
        t = k * PERIOD
        wanted = np.array([0.6 + 0.55 * np.sin(0.11 * t), 0.45 + 0.4 * np.sin(0.0231 * t + 1.0)])
        push = 4.0 * (0.8 * (wanted - x) - 1.8 * v)
        openings[k] = rng.uniform(size=4) < np.clip(matrix[:2].T @ push / 0.3, 0, 1)
        slope = slope_rows(GRID.corner_m, GRID.spacing_m, (GRID.rows, GRID.columns), x[None])[0] @ heights
        a = true @ openings[k] * 0.3 / 4.0 + GRAVITY * slope
        x, v = x + v * PERIOD + a * PERIOD**2 / 2, v + a * PERIOD
    path[n, :2] = x
    poses = path[:-1] + noise_m * rng.standard_normal((n, 3))
    nothing = np.zeros((n + 1, 0))
    spent = np.concatenate(([0.0], np.cumsum(openings.sum(axis=1) * 0.3 * PERIOD)[:-1]))
    flight = FreeFlight(
        PERIOD, openings, np.zeros_like(openings), np.full(4, 0.3), matrix, spent, np.zeros(0), np.zeros(0),
        np.zeros((n + 1, 0, 2)), nothing, np.arange(n) * PERIOD, poses, 1e-3, False,
    )  # fmt: skip
    return flight, path


def test_slopes_are_found_under_wrong_thrust() -> None:
    """Slopes where it flew are within 7 % of those of the floor, and within their deviations."""
    rng = np.random.default_rng(5)
    heights = 1e-4 * rng.standard_normal(GRID.rows * GRID.columns)
    flight, path = a_flight(heights, 0.05, 3e-4)
    floor = fit_floor(flight, BaseInertia(4.0, (0.0, 0.0), 0.1), path, GRID, 3e-4)
    rows = slope_rows(GRID.corner_m, GRID.spacing_m, (GRID.rows, GRID.columns), path[::20, :2])
    true, fitted = rows @ heights, rows @ floor.heights
    assert np.sqrt(((fitted - true) ** 2).mean()) < 0.07 * np.sqrt((true**2).mean())
    deviation = np.sqrt(np.einsum("pin,nm,pim->pi", rows, floor.covariance, rows))
    assert 0.5 < np.sqrt((((fitted - true) / deviation) ** 2).mean()) < 1.5


def test_a_short_flight_is_refused() -> None:
    flight, path = a_flight(np.zeros(GRID.rows * GRID.columns), 0.0, 3e-4, seconds=30.0)
    with pytest.raises(InputError, match="at least 20"):
        fit_floor(flight, BaseInertia(4.0, (0.0, 0.0), 0.1), path, GRID, 3e-4)


def test_a_grid_covers_the_area_and_beyond() -> None:
    grid = grid_of((0.0, 0.0, 6.0, 2.0), 0.15)
    assert isinstance(grid, HeightGrid)
    assert max(grid.rows, grid.columns) <= 40
    assert grid.corner_m[0] < 0.0
    assert grid.corner_m[0] + (grid.columns - 1) * grid.spacing_m > 6.0


@pytest.mark.slow
def test_a_surveyed_floor_costs_no_error() -> None:
    """At least half of what waves cost is gone: error and propellant are those of a level floor, about."""
    bed = load("free-flyer", [WAVES, "behaviour.kind=survey", "behaviour.area_m=[0.7,0.5,2.3,1.6]", *SURVEYED])
    log = simulated_survey(bed, 7)
    fit = FlownTable(bed, log).fit()
    values: dict[str, list[float]] = {"heights_m": fit.values.tolist()}
    kept = {number.key.removeprefix("floor."): value for number, value in fit.kept}
    floor = {
        **values,
        "corner_m": [kept["corner_m.0"], kept["corner_m.1"]],
        "spacing_m": kept["spacing_m"],
        "columns": int(kept["columns"]),
    }
    flown = load("free-flyer", [WAVES, "seed=7", "safety.monitor.disturbance_thrust_ratio=0.9"])
    worst = []
    for one in (flown, flown.with_changes({"floor": floor}), flown.with_changes({"simulation.table.waves": []})):
        log = simulate_in_memory(one)
        assert log.summary["ended"] == "completed"
        position = ["base_x_m", "base_y_m"]
        errors = [log["/truth"][key][1000:] - log["/reference"][key][1000:] for key in position]
        worst.append(float(np.sqrt(np.square(errors).mean())))
    without, mapped, level = worst
    assert mapped - level < 0.5 * (without - level)
