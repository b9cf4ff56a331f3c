"""Thrusters: level of each, delay, rise and minimum pulse of the valves, dead and swapped valves; on a thrust stand.

The vehicle is held by a force gauge, and one valve after the other opens for pulses of different lengths. The forces
over time of all pulses are fitted by the response of the valves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from granite.calibration.bench import Bench
from granite.calibration.fit import CalibrationFit, FittedKey, Residuals, gauss_newton
from granite.calibration.procedure import BenchMeasurement, DeviceProcedure, OperatorStep, on_bench
from granite.calibration.pulses import mean_openings, pulses_of
from granite.config.base import spatial
from granite.config.contacts import Contact, Side
from granite.config.devices.force_gauges import AXES, ForceGauge, ForceGauges
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.modules import Point
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.thrusters.geometry import thruster_matrix
from granite.sim.plant.plant import Plant

_STAND = "thrust_stand"
#: ticks and steps of a simulated stand [s]
_PERIOD_S, _STEP_S = 1e-3, 5e-4
#: lengths of pulses, as parts of the minimum pulse in the file, and a long one for the level [s]
_LENGTHS, _LONG_S = (0.4, 0.8, 1.2, 1.6, 2.4), 0.06
#: between pulses, beside delays and rises [s]
_PAUSE_S = 0.01
#: a valve is dead below this part of its thrust, and swapped where another direction is nearer by this factor
_DEAD, _NEARER = 0.2, 0.3
_TIMES = (("delay_s", "s"), ("rise_s", "s"), ("minimum_on_s", "s"))
#: steps of derivatives by the times, and of the search for a first delay and minimum pulse [s]
_SMALL_S, _SEARCH = 1e-6, np.linspace(0.0, 2.5, 21)


class ThrustersProcedure(DeviceProcedure):
    """Every thruster alone, in front of a force gauge."""

    kind = Thrusters

    def __init__(self, bed: Testbed, name: str | None = None) -> None:
        super().__init__(bed, name)
        self._units = [unit.name for unit in self.table.units]
        self._module = self.table.pushed(bed)
        self._stand = _stand_of(bed, self._module.name)
        self.devices = (self._stand or _STAND, self.name)
        self._bench = self.bench_bed()
        gauges = self._bench.devices_of(ForceGauges)[self.devices[0]]
        unit = gauges.units[0] if self._stand is None else _unit_of(bed, gauges, self._module.name)
        contact = gauges.contact_of(self._bench, unit)
        point = next(p for p in self._bench.module(self._module.name).points if p.name == contact.first.point)
        every = AXES["planar" if bed.planar else "spatial"]
        axes = gauges.measured_axes(self._bench, unit)
        #: wrench at the stand per newton of each thruster, of the components that are measured
        self._matrix = _moved(thruster_matrix(self.table, self._module.dimension), point)[
            [every.index(a) for a in axes]
        ]
        sheet = gauges.sheet(self._bench)
        self._columns = [i for i, s in enumerate(sheet) if s.name in [f"{unit.contact}_{axis}" for axis in axes]]
        self._signals = [sheet[i] for i in self._columns]
        self._window = self._bench.simulation.physics_step_s
        self.steps = tuple(
            OperatorStep(f"hold the vehicle in the thrust stand and stand back: {unit.name} will fire", (), unit.name)
            for unit in self.table.units
        )

    def bench_bed(self) -> Testbed:
        """The vehicle in its stand; where the testbed has none, one that can be simulated."""
        bed = self.bed
        keys: dict[str, Any] = {f"{self.of}.simulated": {}}
        table = bed.simulation.table.model_copy(update={"ideal": True})
        if self._stand is not None:
            held = bed.model_copy(update={"simulation": bed.simulation.model_copy(update={"table": table})})
            return on_bench(held, self.devices, {**keys, f"devices.{self._stand}.simulated": {}}, controlled=True)
        root = self._module.root
        point = Point(name=_STAND, body=root.name, position_m=(0.0,) * (2 if bed.planar else 3))
        modules = tuple(
            m.model_copy(update={"points": (*m.points, point)}) if m.name == self._module.name else m
            for m in bed.modules
        )
        contact = Contact(
            name=_STAND, kind="rigid_grasp", first=Side(module=self._module.name, point=_STAND),
            second=Side(module="ground"),
        )  # fmt: skip
        axes = AXES["planar" if bed.planar else "spatial"]
        gauges = ForceGauges.model_validate({"kind": "force_gauges", "units": [{"contact": _STAND, "axes": axes}]})
        joints = {c.key for c in bed.positions if c.name in bed.joints}
        initial = {key: value for key, value in bed.simulation.initial.items() if key in joints}
        simulation = bed.simulation.model_copy(update={"initial": initial, "physics_step_s": _STEP_S, "table": table})
        loop = bed.loop.model_copy(update={"period_s": _PERIOD_S})
        stand = {"modules": modules, "contacts": (contact,), "simulation": simulation, "loop": loop}
        held = bed.model_copy(update={**stand, "devices": {**bed.devices, _STAND: gauges}})
        return on_bench(held, self.devices, keys, controlled=True)

    def measure(self, bench: Bench, step: OperatorStep, known_values: Array) -> BenchMeasurement:
        """Times, commands of the valve and readings of the gauge, at every tick of a series of pulses."""
        unit = self._units.index(step.subject)
        period = bench.bed.loop.period_s
        valve = self.table.valve
        pause = round((_PAUSE_S + 2 * (valve.delay_s + valve.rise_s + valve.minimum_on_s)) / period)
        opening: list[float] = [0.0] * pause
        for length in (_LONG_S, *(part * max(valve.minimum_on_s, 4 * period) for part in _LENGTHS)):
            opening += [1.0] * max(1, round(length / period)) + [0.0] * pause

        def command(k: int) -> dict[str, Array]:
            openings = np.zeros(len(self._units))
            openings[unit] = opening[k]
            return {self.name: openings}

        bench.arm()
        samples = bench.run(command, len(opening))
        index = list(bench.bed.sensors).index(self.devices[0])
        readings = np.array([sample.frames[index].values[self._columns] for sample in samples])
        t = np.array([sample.t for sample in samples])
        values = np.column_stack((t - t[0], opening, readings))
        level = np.linalg.norm(self._plateau(values)[: sum(s.unit == "N" for s in self._signals)])
        return BenchMeasurement(step, known_values, values, f"{step.subject}: {level:.4g} N in the long pulse")

    def fit(self, measured: Sequence[BenchMeasurement]) -> CalibrationFit:
        """Times of the valves, thrust of every nozzle that fires, and the zero of the gauge."""
        noise = np.array([signal.noise or signal.range for signal in self._signals])
        nozzles, notes = self._nozzles(measured)
        fired = [measurement for measurement in measured if nozzles[measurement.step.subject] is not None]
        if not fired:
            raise InputError("no thruster fired", key=self.of, expected="valves that open, and a live gauge")
        opened = [str(nozzles[measurement.step.subject]) for measurement in fired]
        names = list(dict.fromkeys(opened))
        trains = [(m.values[:, 0], *pulses_of(m.values[:, 0], m.values[:, 1])) for m in fired]
        columns = [self._matrix[:, self._units.index(nozzle)] / noise for nozzle in opened]
        readings = [measurement.values[:, 2:] / noise for measurement in fired]
        #: of each measurement, the index of its thrust among the numbers
        thrust_index = [3 + names.index(nozzle) for nozzle in opened]
        n, first = len(noise), 3 + len(names)

        def openings(timing: Array) -> list[Array]:
            return [mean_openings(t, self._window, starts, lengths, timing) for t, starts, lengths in trains]

        def compare(x: Array) -> tuple[Array, Array]:
            around = [openings(x[:3] + _SMALL_S * sign * axis) for axis in np.eye(3) for sign in (1, -1)]
            residuals, rows = [], []
            for k, (opening, column, reading) in enumerate(zip(openings(x[:3]), columns, readings, strict=True)):
                thrust = x[thrust_index[k]]
                row = np.zeros((*reading.shape, len(x)))
                for i in range(3):
                    slope = (around[2 * i][k] - around[2 * i + 1][k]) / (2 * _SMALL_S)
                    row[..., i] = thrust * np.outer(slope, column)
                row[..., thrust_index[k]] = np.outer(opening, column)
                row[:, range(n), range(first, first + n)] = 1.0
                residuals.append((reading - thrust * np.outer(opening, column) - x[first:]).ravel())
                rows.append(row.reshape(-1, len(x)))
            return np.concatenate(residuals), np.vstack(rows)

        thrusts = [0.0] * len(names)
        for measurement, nozzle in zip(fired, opened, strict=True):
            column = self._matrix[:, self._units.index(nozzle)]
            thrusts[names.index(nozzle)] = float(column @ self._plateau(measurement.values) / (column @ column))
        guess = np.array([*self._times(fired[0].values), *thrusts, *np.zeros(n)])
        what = "the pulses do not determine delay, rise and minimum pulse"
        fit = gauss_newton(compare, guess, what, "a gauge that is read several times while a valve opens")
        left = fit.residual.reshape(-1, n) * noise
        t = np.concatenate([m.values[:, 0] + k * m.values[-1, 0] for k, m in enumerate(fired)])
        residuals = tuple(Residuals(s.name, "time [s]", t, left[:, i], s.unit) for i, s in enumerate(self._signals))
        kept = slice(0, first)
        numbers = self._numbers(names)
        return CalibrationFit(
            numbers, fit.values[kept], fit.covariance[kept, kept], fit.freedom, len(t), residuals, notes
        )

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """Times and thrusts that differ by some tens of percent."""
        valve = self.table.valve
        times = [valve.delay_s, valve.rise_s, valve.minimum_on_s]
        values = [time * rng.uniform(0.6, 1.6) for time in times]
        values += [unit.thrust_n * rng.uniform(0.85, 1.15) for unit in self.table.units]
        return {number.key: float(value) for number, value in zip(self._numbers(self._units), values, strict=True)}

    def simulated_plant(self, bed: Testbed) -> Plant:
        """The plant, which moves by itself."""
        return Plant(bed)

    def act(self, plant: Plant, step: OperatorStep, rng: np.random.Generator) -> None:
        """The simulated vehicle is in its stand."""

    def _numbers(self, units: Sequence[str]) -> tuple[FittedKey, ...]:
        times = (FittedKey(f"{self.of}.valve.{key}", unit, 0.0) for key, unit in _TIMES)
        return (*times, *(FittedKey(f"{self.of}.units.{unit}.thrust_n", "N", 0.0) for unit in units))

    def _plateau(self, values: Array) -> Array:
        """Mean readings in the second half of the long pulse, less those before it."""
        starts, lengths = pulses_of(values[:, 0], values[:, 1])
        t, readings = values[:, 0], values[:, 2:]
        open_ = (t > starts[0] + lengths[0] / 2) & (t <= starts[0] + lengths[0])
        return np.asarray(readings[open_].mean(axis=0) - self._before(values))

    @staticmethod
    def _before(values: Array) -> Array:
        """Mean readings before the first pulse."""
        return np.asarray(values[: int(values[:, 1].argmax()), 2:].mean(axis=0))

    def _nozzles(self, measured: Sequence[BenchMeasurement]) -> tuple[dict[str, str | None], tuple[str, ...]]:
        """Which nozzle the command of each thruster opens, None where none does; and sentences about the wrong ones."""
        scale = np.abs(self._matrix).max(axis=1, keepdims=True)
        directions = self._matrix / np.where(scale > 0, scale, 1.0)
        directions = directions / np.linalg.norm(directions, axis=0)
        nozzles: dict[str, str | None] = {}
        notes = []
        for measurement in measured:
            index = self._units.index(measurement.step.subject)
            wrench = self._plateau(measurement.values)
            thrust = float(np.linalg.norm(wrench) / np.linalg.norm(self._matrix[:, index]))
            scaled = wrench / np.where(scale[:, 0] > 0, scale[:, 0], 1.0)
            away = np.linalg.norm(directions.T - scaled / max(float(np.linalg.norm(scaled)), 1e-12), axis=1)
            nearest = int(away.argmin())
            if thrust < _DEAD * self.table.units[index].thrust_n:
                nozzles[measurement.step.subject] = None
                key = f"{self.of}.units.{self._units[index]}.failed"
                notes.append(f"dead: {self._units[index]} gave {thrust:.2g} N; mend it, or set {key} = true")
            elif nearest != index and away[nearest] < _NEARER * away[index]:
                nozzles[measurement.step.subject] = self._units[nearest]
                wrong = f"the command of {self._units[index]} opens {self._units[nearest]}"
                notes.append(f"swapped: {wrong}; exchange their cables before a run")
            else:
                nozzles[measurement.step.subject] = self._units[index]
        return nozzles, tuple(notes)

    def _times(self, values: Array) -> Array:
        """First times of the valves, from the pulses of one thruster: the best of some delays and minimum pulses."""
        valve, period = self.table.valve, self._bench.loop.period_s
        t, wrench = values[:, 0], self._plateau(values)
        force = (values[:, 2:] - self._before(values)) @ wrench / (wrench @ wrench)
        train = pulses_of(t, values[:, 1])
        rise = max(valve.rise_s, self._window)
        delays = _SEARCH * max(valve.delay_s, 2 * period)
        minimums = _SEARCH * max(valve.minimum_on_s, period)

        def size(delay: float, minimum: float) -> float:
            left = force - mean_openings(t, self._window, *train, np.array([delay, rise, minimum]))
            return float(left @ left)

        delay, minimum = min(((d, m) for d in delays for m in minimums), key=lambda both: size(*both))
        return np.array([delay, rise, minimum])


def _stand_of(bed: Testbed, module: str) -> str | None:
    """The force gauges of a testbed that hold a module."""
    for name, gauges in bed.devices_of(ForceGauges).items():
        if any(_holds(gauges.contact_of(bed, unit), module) for unit in gauges.units):
            return name
    return None


def _unit_of(bed: Testbed, gauges: ForceGauges, module: str) -> ForceGauge:
    return next(unit for unit in gauges.units if _holds(gauges.contact_of(bed, unit), module))


def _holds(contact: Contact, module: str) -> bool:
    return contact.first.module == module and contact.second.grounded and contact.kind == "rigid_grasp"


def _moved(matrix: Array, point: Point) -> Array:
    """Wrenches about a point of the root body, not about its origin."""
    p = np.array(spatial(point.position_m))
    moved = matrix.copy()
    if len(matrix) == 3:
        moved[2] -= p[0] * matrix[1] - p[1] * matrix[0]
    else:
        moved[3:] -= np.cross(p, matrix[:3].T).T
    return moved
