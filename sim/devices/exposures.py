"""The exposures of a simulated pose sensor: when they happen, which are lost, late or of wrong identity, their stamps.

Every effect has a stream of random numbers of its own, so that switching one does not change the draws of another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from granite.config.devices.vision import Episodes, Vision
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.tolerances import SAME_TIME_S

#: exposures that are drawn at once, which costs no more than one
BLOCK = 64


class Exposure(NamedTuple):
    """A planned exposure."""

    lost: bool
    step: int  #: the physics step in which it happens
    stamp: float  #: by the clock of the camera [s]
    back: float  #: from the end of the step to the exposure [s]
    arrival: float  #: [s]
    q: int  #: first coordinate of the body that it shows
    u: int  #: and its first velocity, in a row of q and u
    error: list[float]  #: of x [m], y [m], heading [rad]


def exposures(vision: Vision, bed: Testbed, step_s: float, rng: np.random.Generator) -> Iterator[Exposure]:
    """Endless sequence of exposures."""
    for columns in exposure_blocks(vision, bed, step_s, rng):
        yield from map(Exposure._make, zip(*(column.tolist() for column in columns), strict=True))


def exposure_blocks(
    vision: Vision, bed: Testbed, step_s: float, rng: np.random.Generator
) -> Iterator[tuple[Array, ...]]:
    """The same in blocks: the columns of `Exposure`."""
    deviation = np.array([vision.position_noise_m, vision.position_noise_m, vision.heading_noise_rad])
    errors, first, rate = vision.simulated, 0, vision.rate_hz
    constants, tails, burst_numbers, swap_numbers = rng.spawn(4)
    phase = constants.uniform(0.0, math.tau)
    offset, drift = constants.uniform(-1.0, 1.0, 2) * (errors.clock_offset_s, 1e-6 * errors.clock_drift_ppm)
    # Of a camera that is rendered, the true lens has the offset.
    left = np.array(vision.offsets if vision.kind == "vision" else (0.0, 0.0, 0.0)) * constants.standard_normal(3)
    seen = vision.seen(bed)
    shown = bed.module(errors.swaps.module) if errors.swaps and errors.swaps.module else seen
    bursts, swaps = _Chain(errors.bursts, rate, burst_numbers), _Chain(errors.swaps, rate, swap_numbers)
    while True:
        t = np.arange(first, first + BLOCK) / rate
        chance, late = rng.random((2, BLOCK))
        error = deviation * rng.standard_normal((BLOCK, 3))
        if errors.tail_freedom is not None:
            error *= _student(errors.tail_freedom, tails)
        error += left
        swapped, angle = swaps.block()
        if errors.swaps is not None:
            shift = errors.swaps.shift_m * np.column_stack([np.cos(angle), np.sin(angle)])
            error += swapped[:, np.newaxis] * np.column_stack([shift, np.full(BLOCK, errors.swaps.turn_rad)])
        lost = (chance < errors.dropout_probability) | bursts.block()[0]
        step = np.ceil((t - SAME_TIME_S) / step_s)
        wander = errors.latency_wander_s * np.sin(math.tau * t / errors.latency_wander_period_s + phase)
        arrival = t + vision.latency_s + wander + errors.latency_jitter_s * (2.0 * late - 1.0)
        indices = [
            np.where(swapped, other, usual) for usual, other in zip(_root(bed, seen), _root(bed, shown), strict=True)
        ]
        yield lost, step.astype(int), t + offset + drift * t, step * step_s - t, arrival, *indices, error
        first += BLOCK


def _root(bed: Testbed, module: Module) -> tuple[int, int]:
    """First coordinate of a root body, and first velocity in a row of q and u."""
    return bed.layout.root_q(module).start, len(bed.positions) + bed.layout.root_u(module).start


def _student(freedom: float, rng: np.random.Generator) -> Array:
    """What makes normal numbers those of Student's t of the same deviation; all values of a pose share it."""
    return np.sqrt((freedom - 2.0) / rng.chisquare(freedom, (BLOCK, 1)))


class _Chain:
    """Episodes as a Markov chain of two states (Gilbert, Bell System Technical Journal 39, 1960)."""

    def __init__(self, episodes: Episodes | None, rate_hz: float, rng: np.random.Generator) -> None:
        self._rng, self._is_on = rng, episodes is not None
        if episodes is not None:
            self._begins, self._ends = episodes.per_s / rate_hz, 1.0 / (episodes.duration_s * rate_hz)
        self._within, self._angle = False, 0.0

    def block(self) -> tuple[Array, Array]:
        """Whether each exposure is within an episode, and the direction of that episode [rad]."""
        within, angle = np.zeros(BLOCK, bool), np.zeros(BLOCK)
        if self._is_on:
            for k, (chance, turn) in enumerate(self._rng.random((BLOCK, 2)).tolist()):
                if self._within:
                    self._within = chance >= self._ends
                elif chance < self._begins:
                    self._within, self._angle = True, math.tau * turn
                within[k], angle[k] = self._within, self._angle
        return within, angle
