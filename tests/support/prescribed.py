"""A plant whose motion is prescribed, for devices that are to be judged against an exact motion."""

from collections.abc import Callable
from typing import Any

import numpy as np

from granite.config.loader import load
from granite.config.records import Array, Frame
from granite.config.testbed import Testbed


class PrescribedMotion:
    """Answers devices as the plant does, with q(t) and u(t) given: a planar base and joints without rate filters."""

    def __init__(self, bed: Testbed, q: Callable[[float], Array], u: Callable[[float], Array]) -> None:
        self.bed, self.step_s = bed, bed.simulation.physics_step_s
        self.observers: list = []
        self._q, self._u = q, u
        self._steps = 0

    @property
    def t(self) -> float:
        return self._steps * self.step_s

    @property
    def q(self) -> Array:
        return np.asarray(self._q(self.t))

    @property
    def u(self) -> Array:
        return np.asarray(self._u(self.t))

    @property
    def joints(self) -> Array:
        return np.concatenate([self.q[3:], self.u[3:]])

    def advance(self, t: float) -> None:
        path = []
        while (self._steps + 1 - 1e-6) * self.step_s <= t:
            self._steps += 1
            path.append(np.concatenate([self.q, self.u]))
        for observer in self.observers if path else ():
            observer.observe(self._steps, np.array(path))


def swaying_pose(t: float) -> Array:
    """Of a planar base [m, m, rad]."""
    return np.array([1.0 + 0.2 * np.sin(t), 0.8 + 0.1 * t, 0.5 * np.sin(0.7 * t)])


def swaying_velocity(t: float) -> Array:
    """The derivative of its pose."""
    return np.array([0.2 * np.cos(t), 0.1, 0.35 * np.cos(0.7 * t)])


def swaying(name: str, overrides: list[str], device: Callable[..., Any], seed: int = 0) -> Any:
    """The simulated vision sensor of a testbed above a swaying base."""
    bed = load(name, overrides=overrides)
    plant = PrescribedMotion(
        bed, lambda t: np.append(swaying_pose(t), [0.0, 0.0]), lambda t: np.append(swaying_velocity(t), [0.0, 0.0])
    )
    return device(bed.devices["vision"], plant, np.random.default_rng(seed))


def new_frames(device: Any, duration: float, period: float = 0.005) -> list[tuple[float, Frame]]:
    """(time of reading, frame) for every new frame."""
    pairs: list[tuple[float, Frame]] = []
    for k in range(round(duration / period)):
        frame = device.read(k * period)
        if frame.number and (not pairs or frame.number != pairs[-1][1].number):
            pairs.append((k * period, frame))
    return pairs
