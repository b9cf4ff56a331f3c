"""A simulated sensor whose reading is one function of the plant and random numbers, at every tick or its own rate.

The function has the parts of the plant as inputs by name, then `drawn`, numbers that stay for a run, and `error`, those
of one frame. `last` are coordinates and velocities at the reading before. Python and C (`sampled_sensor.c`) call the
same function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from granite.config.records import Array, Frame, Status, no_frame
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm
from granite.kernels.function_part import named_function
from granite.kernels.kernel import Kernel
from granite.sim.devices.device import SimulatedSensor
from granite.sim.plant.plant import Plant

#: tolerance of due times, as a part of a period
_ROUNDING = 1e-6

_OK = int(Status.OK)
#: frames whose errors are drawn at once: one draw costs as much as many
_BLOCK = 256

#: of the inputs that are parts of the plant: how the plant gives them
_PARTS: dict[str, Callable[[Any], Array]] = {
    "q": attrgetter("q"),
    "u": attrgetter("u"),
    "joints": attrgetter("joints"),
    "left": attrgetter("impulse_left"),
    "wrench": lambda plant: plant.contact_loads().wrench,
    "constants": attrgetter("constants"),
}
#: in C, the inputs that are not in the state of the plant
_ELSEWHERE = {"wrench": -1, "drawn": -2, "error": -3, "last": -4}


class Errors(NamedTuple):
    """What the seed draws for a sensor: error = offset + walk + deviation * a normal number, for each frame."""

    drawn: Array  #: numbers that stay for a run
    offset: Array
    deviation: Array
    step: Array | None = None  #: deviation of the steps of a random walk, from one frame to the next


class SampledSensor(SimulatedSensor):
    """The readings of one device; a kind gives `errors`, and the function.

    Parameters
    ----------
    plant, rng
        The plant that it measures, and its random numbers.
    n
        Values of a frame.
    ticks
        From one frame to the next.
    key
        Everything that the function follows from, as `compile_once` takes it.
    write
        Writes it: its inputs by name, and the reading.
    """

    def __init__(
        self,
        plant: Plant,
        rng: np.random.Generator,
        n: int,
        ticks: int,
        key: str | None,
        write: Callable[[], tuple[dict[str, ca.SX], ca.SX]],
    ) -> None:
        self._plant = plant
        self._kernel: Kernel = compile_once("sensor", key, lambda: [_measurement(*write())])["measurement"]
        self._measure = self._kernel.run
        self._inputs: list[str] = self._kernel.function.name_in()
        #: coordinates and velocities at the last reading, where the function has them
        self._last: Array = np.zeros(0)
        self._has_last = "last" in self._inputs
        self._parts = [_PARTS[name] if name != "last" else self._at_last for name in self._inputs[:-2]]
        errors = self.errors(rng)
        #: of each value, for the whole run
        self.offset = errors.offset
        self._drawn, self._errors = errors.drawn, chain.from_iterable(_blocks(errors, rng))
        self._interval, self._due = (1 - _ROUNDING) * ticks * plant.bed.loop.period_s, 0.0
        self._frame = no_frame(n)

    def errors(self, rng: np.random.Generator) -> Errors:
        """What is drawn at the start."""
        raise NotImplementedError

    def _at_last(self, _plant: Plant) -> Array:
        return self._last

    @staticmethod
    def compiled_form(devices: Sequence[SampledSensor], frames: int) -> CompiledForm:
        """All such devices in C, for runs of at most so many frames."""
        functions = [device._kernel.function for device in devices]
        drawn = [f.numel_in(f.n_in() - 2) for f in functions]
        errors = [f.numel_in(f.n_in() - 1) for f in functions]
        sizes = [first + frames * n for first, n in zip(drawn, errors, strict=True)]
        offsets = [
            {**device._plant.offsets, "constants": device._plant.offsets["drawn"], **_ELSEWHERE}[name]
            for device in devices
            for name in device._inputs
        ]
        lasts = [f.numel_in("last") if "last" in f.name_in() else 0 for f in functions]
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {f"SAMPLED_{name.upper()}": offset for name, offset in _ELSEWHERE.items()},
            {
                "SAMPLED_INPUT": offsets,
                "SAMPLED_FIRST_INPUT": [0, *accumulate(f.n_in() for f in functions)],
                "SAMPLED_DRAWN_SIZE": drawn,
                "SAMPLED_ERROR_SIZE": errors,
                "SAMPLED_FIRST_LAST": [0, *accumulate(lasts)],
            },
            {
                "sampled_interval": np.array([device._interval for device in devices]),
                # No constant: a run of another duration needs no other code.
                "sampled_first_drawn": np.array([0.0, *accumulate(sizes[:-1])]),
            },
            {"sampled_due": np.zeros(len(devices)), "sampled_last": np.zeros(sum(lasts))},
            {"sampled_measurement": [device._kernel for device in devices]},
        )

    def draw(self, rng: np.random.Generator, frames: int) -> Array:
        """The drawn numbers, then the errors of so many frames; `rng` as it is at the start."""
        errors = self.errors(rng)
        blocks = islice(_blocks(errors, rng), -(-frames // _BLOCK))
        return np.concatenate([errors.drawn, np.concatenate(list(blocks))[:frames].ravel()])

    def read(self, t: float) -> Frame:
        """The reading now; the same frame again until the next one is due."""
        plant = self._plant
        plant.advance(t)
        if t >= self._due:
            if self._has_last and self._frame.number == 0:
                self._last = np.concatenate((plant.q, plant.u))
            values = self._measure((*[part(plant) for part in self._parts], self._drawn, next(self._errors)))
            self._frame = Frame(t, self._frame.number + 1, _OK, values)
            self._due = t + self._interval
            if self._has_last:
                self._last = np.concatenate((plant.q, plant.u))
        return self._frame


def _measurement(inputs: dict[str, ca.SX], reading: ca.SX) -> ca.Function:
    return named_function("measurement", inputs, {"reading": reading})


def _blocks(errors: Errors, rng: np.random.Generator) -> Iterator[Array]:
    """An endless sequence of blocks with a row for each frame."""
    (steps,), walked, shape = rng.spawn(1), errors.offset, (_BLOCK, len(errors.offset))
    while True:
        offset: Array = walked
        if errors.step is not None:
            offset = walked + np.cumsum(errors.step * steps.standard_normal(shape), axis=0)
            walked = offset[-1]
        yield offset + errors.deviation * rng.standard_normal(shape)


def converted(value: ca.SX, lowest: Any, highest: Any, step: Any) -> ca.SX:
    """The value in whole steps, within the range of the converter; NaN stays NaN."""
    within = ca.if_else(value < lowest, lowest, ca.if_else(value > highest, highest, value))
    return within - ca.remainder(within, step)
