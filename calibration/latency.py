"""Latency: from exposure to arrival of a pose, and from command to effect of the valves, by a body that moves.

First the body swings, and its flag passes a photodiode in the middle of the swing, whose light is read without delay:

    h = h0 + a sin(w (t - L - t0)) + a3 sin(3 w (t - L - t0))

is the heading that arrives at t with the latency L, and t0 the time of a pass. Then it floats, and valves turn it to
and fro: its heading is the double integral of openings that begin the delay d after their commands. Both delays are
fitted together. Which time the driver writes on a pose is not used: only when it arrived, to half a tick.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import pi

import numpy as np

from granite.calibration.bench import Bench
from granite.calibration.fit import CalibrationFit, FittedKey, Residuals, gauss_newton
from granite.calibration.moving_heading import (
    HeadingModel,
    SeenHeading,
    SwingingHeading,
    TurnedHeading,
    noise_and_jitter,
)
from granite.calibration.procedure import BenchMeasurement, DeviceProcedure, OperatorStep, on_bench
from granite.calibration.swing import timed_swing
from granite.config.controller import Controller
from granite.config.devices.photodiode import Photodiode
from granite.config.devices.thrusters import Thrusters, Valve
from granite.config.devices.vision import Vision
from granite.config.errors import InputError
from granite.config.records import Array, Sample, Status
from granite.config.testbed import Testbed
from granite.controllers.thrusters.geometry import thruster_matrix
from granite.sim.benches.moving_target import MovingTargetPlant

_TIMER = "photodiode"
_SWING, _FLOAT = "swing", "float"
#: how long it swings and floats, and how long each turn of it lasts [s]
_SWING_S, _FLOAT_S, _TURN_S = 20.0, 20.0, 1.0
#: poses that arrive earlier may be of the time before [s]
_BEFORE_S = 0.5
#: angle [rad] and period [s] of a simulated swing
_ANGLE, _PERIOD = 0.15, 1.5
#: fewest poses of a step, and the least motion in deviations of a heading
_FEWEST, _MOVED = 100, 20.0
#: iterations of the weights, and steps of derivatives as parts of the scale of a number
_WEIGHTS, _STEP = 4, 1e-4
#: ticks alone scatter by so much more at most, in squares
_SURE = 1.25
#: phases of exposures and ticks that can be told apart
_PHASES = 50
#: rows of a measurement: what they hold
_LIGHT, _POSE, _VALVES = 0.0, 1.0, 2.0
#: greatest difference of simulated delays, as a factor
_DIFFERS = (0.6, 1.6)


class LatencyProcedure(DeviceProcedure):
    """A pose sensor and, where there are any, the thrusters of the body that it sees."""

    kind = Vision

    def __init__(self, bed: Testbed, name: str | None = None) -> None:
        super().__init__(bed, name)
        target = self.table.target(bed)
        if not target.is_root:
            problem = f"it sees a target on '{target.body}'"
            raise InputError(problem, key="--device", value=self.name, expected="a sensor of the pose of a base")
        self._module = target.module
        pushing = [n for n, d in bed.devices_of(Thrusters).items() if d.pushed(bed).name == self._module.name]
        self._thrusters = pushing[0] if pushing else None
        timers = list(bed.devices_of(Photodiode))
        self._timer = timers[0] if timers else None
        self.devices = (self.name, self._timer or _TIMER, *pushing[:1])
        self.fitted_on = (f"{self.of}.rate_hz", *(f"devices.{n}.valve.rise_s" for n in pushing[:1]))
        body = self._module.root.name
        self.steps: tuple[OperatorStep, ...] = (
            OperatorStep(
                f"hang {body}, or a plate with its targets, on the pendulum, with the flag in front of the photodiode, "
                "turn it by 10 degrees and let it swing",
                (),
                _SWING,
            ),
        )
        if self._thrusters is not None:
            words = f"let {body} float on the table, its arms off or locked, and stand back: it will turn to and fro"
            self.steps = (*self.steps, OperatorStep(words, (), _FLOAT))

    def bench_bed(self) -> Testbed:
        """The body alone on the table; where the testbed has no photodiode, one that can be simulated."""
        bed, root = self.bed, self._module.root.name
        points = tuple(point for point in self._module.points if point.body == root)
        body = self._module.model_copy(update={"bodies": (self._module.root,), "joints": (), "points": points})
        start = {c.key: bed.simulation.initial.get(c.key) for c in bed.positions[bed.layout.root_q(self._module)]}
        simulation = bed.simulation.model_copy(
            update={"initial": {key: value for key, value in start.items() if value is not None}}
        )
        devices = dict(bed.devices) if self._timer else {**bed.devices, _TIMER: Photodiode(kind="photodiode")}
        alone = {"modules": (body,), "contacts": (), "simulation": simulation, "devices": devices}
        if self._thrusters is not None:
            alone["controller"] = Controller()
        return on_bench(bed.model_copy(update=alone), self.devices, {}, controlled=self._thrusters is not None)

    def measure(self, bench: Bench, step: OperatorStep, known_values: Array) -> BenchMeasurement:
        """Poses with the ticks between which they arrived; and the light, or the commands of the valves."""
        period = bench.bed.loop.period_s
        if step.subject == _SWING:
            samples = bench.run(lambda k: {}, round(_SWING_S / period))
            index = list(bench.bed.sensors).index(self.devices[1])
            frames = [sample.frames[index] for sample in samples]
            rows = [(_LIGHT, frame.t, frame.values[0], 0.0) for frame in frames]
            swing = timed_swing(np.array([row[1] for row in rows]), np.array([row[2] for row in rows]))
            said = f"period {swing.period:.5f} s, {len(swing.times)} passes"
        else:
            turning = self._turning(period)
            openings = self._openings()
            bench.arm()
            samples = bench.run(lambda k: {str(self._thrusters): openings[turning[k]]}, len(turning))
            bench.tick({})
            rows = [(_VALVES, sample.t, float(side), 0.0) for sample, side in zip(samples, turning, strict=True)]
            said = f"{np.count_nonzero(np.diff(turning))} switchings of the valves"
        poses = self._poses(bench, samples)
        return BenchMeasurement(step, known_values, np.array([*rows, *poses]), f"{len(poses)} poses, {said}")

    def fit(self, measured: Sequence[BenchMeasurement]) -> CalibrationFit:
        """The delays, with weights by the noise of headings and the jitter of arrivals that the residuals show."""
        models, delays = self._models(measured)
        n = len(delays)
        ends = np.cumsum([len(delays), *(len(model.start) for model in models)])
        slices = [slice(first, last) for first, last in pairwise(ends.tolist())]
        scale = np.concatenate((np.full(n, 1e-3), *(model.scale for model in models)))
        weights = [np.full(len(model.seen.heading), 1 / self.table.heading_noise_rad) for model in models]

        def left(x: Array) -> Array:
            parts = []
            for model, weight, part in zip(models, weights, slices, strict=True):
                off = model.seen.heading - model.headings(x[:n], x[part])
                parts += [model.exact(x[part]), weight * off]
            return np.concatenate(parts)

        def compare(x: Array) -> tuple[Array, Array]:
            steps = _STEP * np.diag(scale)
            by = [(left(x - h) - left(x + h)) / (2 * h.max()) for h in steps]
            return left(x), np.column_stack(by)

        what = "the motion does not determine the delays"
        expected = "a swing and turns that the sensor sees"
        x = np.concatenate((delays, *(model.start for model in models)))
        for _ in range(_WEIGHTS):
            fit = gauss_newton(compare, x, what, expected)
            x = fit.values
            residuals = [m.seen.heading - m.headings(x[:n], x[part]) for m, part in zip(models, slices, strict=True)]
            slopes = [_slope(m, x[:n], x[part]) for m, part in zip(models, slices, strict=True)]
            noise, jitter = noise_and_jitter(np.concatenate(residuals), np.concatenate(slopes))
            weights = [1 / np.hypot(noise, jitter * slope) for slope in slopes]
        covariance = fit.covariance[:n, :n].copy()
        covariance[0, 0] += self._tick_error(jitter) ** 2
        drawn = tuple(
            Residuals(f"heading, {m.step.subject}", "arrival in its step [s]", model.seen.since, residual, "rad")
            for m, model, residual in zip(measured, models, residuals, strict=True)
        )
        notes = (f"noise of a heading {noise:.2g} rad; arrivals scatter by {jitter * 1e3:.2g} ms, ticks included",)
        poses = sum(map(len, residuals))
        freedom = _effective_freedom(compare(x)[1], len(models[0].exact(x[slices[0]])), fit.freedom)
        return CalibrationFit(self._numbers(), x[:n], covariance, freedom, poses, drawn, notes)

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """Delays that differ by some tens of percent."""
        usual = [self.table.latency_s, *([self._valve().delay_s] if self._thrusters else [])]
        values = [delay * float(rng.uniform(*_DIFFERS)) for delay in usual]
        return {number.key: value for number, value in zip(self._numbers(), values, strict=True)}

    def simulated_plant(self, bed: Testbed) -> MovingTargetPlant:
        """The body, to be hung up or to float."""
        return MovingTargetPlant(bed, bed.module(self._module.name))

    def act(self, plant: MovingTargetPlant, step: OperatorStep, rng: np.random.Generator) -> None:
        """Let it swing, or put it on the table."""
        amplitude = _ANGLE * rng.uniform(0.8, 1.1) if step.subject == _SWING else 0.0
        plant.swing(amplitude, _PERIOD * rng.uniform(0.9, 1.1))

    def _models(self, measured: Sequence[BenchMeasurement]) -> tuple[list[HeadingModel], Array]:
        """The motion of every step, and first values of the delays."""
        swing, *floats = measured
        light = swing.values[swing.values[:, 0] == _LIGHT]
        swinging = SwingingHeading(_seen(swing), timed_swing(light[:, 1], light[:, 2]))
        delays = np.array([swinging.latency, *(self._valve().delay_s for _ in floats)])
        models: list[HeadingModel] = [swinging]
        for measurement in floats:
            valves = measurement.values[measurement.values[:, 0] == _VALVES]
            models.append(TurnedHeading(_seen(measurement), valves[:, 1], valves[:, 2], self._valve().rise_s, delays))
        return models, delays

    def _numbers(self) -> tuple[FittedKey, ...]:
        camera = FittedKey(f"{self.of}.latency_s", "s", 0.0)
        if self._thrusters is None:
            return (camera,)
        return camera, FittedKey(f"devices.{self._thrusters}.valve.delay_s", "s", 0.0)

    def _valve(self) -> Valve:
        device = self.bed.devices[str(self._thrusters)]
        assert isinstance(device, Thrusters)
        return device.valve

    def _turning(self, period: float) -> list[int]:
        """Which side turns it at every tick: rest, half a turn, whole ones to and fro, half a turn back, and rest."""
        ticks = round(_TURN_S / period)
        sides, side = [0] * ticks + [1] * (ticks // 2), -1
        while len(sides) < round(_FLOAT_S / period) - ticks:
            sides += [side] * ticks
            side = -side
        return [*sides, *[side] * (ticks // 2), *[0] * ticks]

    def _openings(self) -> dict[int, Array]:
        """Valves that turn the body to the one side and to the other."""
        device = self.bed.devices[str(self._thrusters)]
        assert isinstance(device, Thrusters)
        moments = thruster_matrix(device, self._module.dimension)[-1]
        alive = np.array([not unit.failed for unit in device.units])
        openings = {side: ((side * moments > 1e-6) & alive).astype(float) for side in (1, -1)}
        if not (openings[1].any() and openings[-1].any()):
            raise InputError(
                "its thrusters turn it to one side only", key=f"devices.{self._thrusters}", expected="both"
            )
        return {**openings, 0: np.zeros(len(moments))}

    def _poses(self, bench: Bench, samples: Sequence[Sample]) -> list[tuple[float, float, float, float]]:
        """Ticks between which each pose arrived, and its heading; `InputError` where the body does not move."""
        index = list(bench.bed.sensors).index(self.name)
        poses = []
        last = samples[0].frames[index].number
        before = samples[0].t
        for sample in samples[1:]:
            frame = sample.frames[index]
            is_new = frame.number != last and frame.status == Status.OK
            if is_new and sample.t - samples[0].t > _BEFORE_S:
                poses.append((_POSE, before, sample.t, float(frame.values[2])))
            last, before = frame.number, sample.t
        if len(poses) < _FEWEST:
            expected = f"{_FEWEST} or more, of a body that is seen"
            raise InputError(f"{len(poses)} poses", key=self.of, expected=expected)
        moved = float(np.ptp(np.unwrap([row[3] for row in poses])))
        if moved < _MOVED * self.table.heading_noise_rad:
            raise InputError(f"the body turned by {moved:.2g} rad", key=self.of, expected="a body that moves")
        return poses

    def _tick_error(self, jitter: float) -> float:
        """Error of the latency by arrivals that are known to a tick [s].

        Exposures at a fixed rate meet the ticks in few phases, so that the mean of their errors is not zero, unless
        arrivals scatter: a sawtooth at the frequency of the phases, of which a uniform scatter leaves a part.
        """
        period = self.bed.loop.period_s
        phases = Fraction(1 / (self.table.rate_hz * period)).limit_denominator(_PHASES).denominator
        scatter = np.sqrt(3 * max(0.0, jitter**2 - _SURE * period**2 / 12))
        return float(period / (np.sqrt(12) * phases) / max(1.0, 2 * pi * phases * scatter / period))


def _seen(measurement: BenchMeasurement) -> SeenHeading:
    poses = measurement.values[measurement.values[:, 0] == _POSE]
    return SeenHeading(poses[:, 1:3].mean(axis=1), np.unwrap(poses[:, 3]))


def _effective_freedom(rows: Array, passes: int, freedom: int) -> int:
    """Degrees of freedom of the latency, by Welch and Satterthwaite: few passes show the noise of the passes."""
    back = np.linalg.pinv(rows)[0]
    of_passes = float(back[:passes] @ back[:passes])
    of_poses = float(back[passes:] @ back[passes:])
    return int((of_passes + of_poses) ** 2 / (of_passes**2 / (passes - 3) + of_poses**2 / freedom))


def _slope(model: HeadingModel, delays: Array, numbers: Array) -> Array:
    """Change of the headings with the latency [rad/s]."""
    step = np.zeros(len(delays))
    step[0] = 1e-5
    return (model.headings(delays - step, numbers) - model.headings(delays + step, numbers)) / 2e-5
