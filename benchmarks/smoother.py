"""The best that the sensors of a root allow: filter without delay, and smoother.

The filter has the process noise of the estimator, which is a margin for faults. Then filter and smoother have the
density of the error that the model does have, by which the deviations are stated: what the margin costs.

For one coordinate, from the rows of a run: pose, rate and bias of the gyro under the accelerations that the estimator
predicted. The filter has every pose at its exposure. The smoother (Rauch, Tung, Striebel, AIAA Journal 3, 1965) also
knows all later measurements, which no estimate in a run can. How far apart the two are at best follows for a double
integrator x'' = w, y = x + v with densities q of w and r of v, and W = (q / r)^(1/4):

    variances of the filter (Kalman, Bucy)                       sqrt(2) r W                sqrt(2) r W^3
    smoother, integral of its spectrum q r / (q + r s^4)         r W / (2 sqrt(2))          r W^3 / (2 sqrt(2))

So both errors of the best filter are twice those of the smoother.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from granite import Testbed, load
from granite.config.records import Array
from granite.controllers.estimation.kalman import KalmanEstimator
from granite.controllers.model import ControlModel
from granite.rt.run_in_memory import simulate_in_memory

#: of z = pose, rate, bias of the gyro
_FIRST = 0.05, 0.02


class CoordinateErrors(NamedTuple):
    """Root mean squares of the errors of a coordinate and its rate, from 10 s on."""

    estimate: Array
    filter: Array  #: with the process noise of the estimator
    sharp: Array  #: filter without its margin
    smoother: Array  #: without margin


def errors_of(name: str, changes: dict[str, Any], coordinate: int, seeds: range) -> CoordinateErrors:
    """Over runs of 15 s of a testbed with one floating vehicle, whose first coordinates are x, y and heading."""
    squares = [_squares(load(name, {"loop.duration_s": 15.0, **changes, "seed": s}), coordinate) for s in seeds]
    return CoordinateErrors(*np.sqrt(np.mean(squares, axis=0)))


class _Node(NamedTuple):
    """An instant at which something is measured or compared."""

    t: float
    tick: int  #: that it is, or that comes next
    pose: float | None  #: exposed then; None at a tick


def _squares(bed: Testbed, i: int) -> Array:
    log = simulate_in_memory(bed, keep=False)
    rows, columns, n = log.rows, log.channels.columns, len(bed.known.positions)
    steps = _steps(bed, rows, log.channels)
    t, numbers = rows[:, columns("/sample", "t")], rows[:, columns("/sample", "vision.number")]
    exposed, poses = rows[:, columns("/sample", "vision.t")], rows[:, columns("/sample", "vision.values")]
    new = np.flatnonzero(np.diff(numbers, prepend=0.0) > 0)
    first, period = int(new[0]), bed.loop.period_s
    nodes = [_Node(t.item(k), k, None) for k in range(first, len(t))]
    nodes += [
        _Node(exposed.item(k), math.ceil(exposed.item(k) / period - 1e-9), poses.item(k, i))
        for k in new[1:]
        if exposed[k] > t[first]
    ]
    nodes.sort(key=lambda node: (node.t, node.pose is not None))
    gyro = rows[:, columns("/sample", "gyro.values")].ravel() if "gyro" in bed.sensors and i == 2 else None
    filtered, sharp, smoothed = (
        result
        for stated, count in ((False, 1), (True, 2))
        for result in _smoothed(bed, nodes, steps, i, poses.item(first, i), gyro, _density(bed, i, gyro, stated))[
            :count
        ]
    )
    ticks = [k for k, node in enumerate(nodes) if node.pose is None and node.t >= 10.0]
    at = [nodes[k].tick for k in ticks]
    true, estimate = (
        np.column_stack([rows[at][:, columns(topic, "q")][:, i], rows[at][:, columns(topic, "u")][:, i]])
        for topic in ("/truth", "/state")
    )
    assert n == len(bed.positions)  # the estimator knows all coordinates, in their order
    return np.array(
        [np.square(x - true).mean(axis=0) for x in (estimate, filtered[ticks], sharp[ticks], smoothed[ticks])]
    )


def _steps(bed: Testbed, rows: Array, channels: Any) -> dict[int, Array]:
    """Acceleration and jump of the rate in each tick of a run, as the estimator predicted them."""
    estimator, steps = KalmanEstimator(bed.control.estimator, ControlModel(bed)), {}
    push = estimator._roots.push

    def kept(t: float, step: Array, x: Array) -> None:
        steps[round(t / bed.loop.period_s)] = step.copy()
        push(t, step, x)

    estimator._roots.push = kept  # type: ignore[method-assign]
    for row in rows:
        estimator.estimate(channels.read_controllers(row.copy())[0])
    return steps


def _density(bed: Testbed, i: int, gyro: Array | None, stated: bool) -> float:
    """Density of the error of the acceleration: that of the process noise, or of the deviations."""
    options = bed.control.estimator
    if stated:
        of_rotation = options.stated_rotation_rad_s2_per_rthz
        if gyro is not None:
            of_rotation = options.stated_measured_rotation_rad_s2_per_rthz
        return float(of_rotation if i == 2 else options.stated_translation_m_s2_per_rthz)
    q = options.rotation_rad_s2_per_rthz if i == 2 else options.translation_m_s2_per_rthz
    return float(q if gyro is None else max(q, options.measured_rotation_rad_s2_per_rthz))


def _smoothed(
    bed: Testbed, nodes: list[_Node], steps: dict[int, Array], i: int, pose: float, gyro: Array | None, q: float
) -> tuple[Array, Array]:
    """Estimates of the filter and of the smoother with that density at all nodes."""
    vision = bed.devices["vision"]
    noise = vision.heading_noise_rad if i == 2 else vision.position_noise_m
    walk = bed.devices["gyro"].bias_walk_rad_s_per_rts if gyro is not None else 0.0
    x, P, now = np.array([pose, 0.0, 0.0]), np.diag([noise**2, *np.square(_FIRST)]), nodes[0].t
    kept = []
    for t, tick, seen in nodes:
        d, now, step = t - now, t, steps.get(tick, np.zeros(6))
        F = np.array([[1.0, d, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        Q = q**2 * np.array([[d**3 / 3, d**2 / 2, 0], [d**2 / 2, d, 0], [0, 0, 0]])
        Q[2, 2] = walk**2 * d
        x = F @ x + step[i] * np.array([d * d / 2, d, 0.0])
        x[1] += step[3 + i] if seen is None else 0.0
        P = F @ P @ F.T + Q
        predicted = x, P
        if seen is not None:
            x, P = _updated(x, P, np.array([1.0, 0.0, 0.0]), math.remainder(seen - x[0], math.tau), noise**2)
        elif gyro is not None:
            H = np.array([0.0, 1.0, 1.0])
            x, P = _updated(x, P, H, gyro.item(tick) - H @ x, bed.devices["gyro"].noise_rad_s ** 2)
        kept.append((x, P, *predicted, F))
    filtered = np.array([node[0] for node in kept])
    smoothed = filtered.copy()
    for k in range(len(kept) - 2, -1, -1):
        x, P = kept[k][:2]
        _, _, x_next, P_next, F = kept[k + 1]
        smoothed[k] = x + P @ F.T @ np.linalg.solve(P_next, smoothed[k + 1] - x_next)
    return filtered[:, :2], smoothed[:, :2]


def _updated(x: Array, P: Array, H: Array, innovation: float, variance: float) -> tuple[Array, Array]:
    gain = P @ H / (H @ P @ H + variance)
    rest = np.eye(3) - np.outer(gain, H)
    return x + gain * innovation, rest @ P @ rest.T + variance * np.outer(gain, gain)
