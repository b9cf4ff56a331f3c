"""Whole runs in virtual time as compiled code: plant, simulated devices and steps, tick after tick without Python.

The rows are those of the loop in Python, to the bit, except for the durations of the steps, which are zero. Warnings
and clamped set points are decided by the guard in Python, and the run continues; so does it after a tick that a part
leaves to Python, and after contacts were closed or opened. A part of the controllers without a compiled form, such as
a user's Python, is called between the compiled ones in every tick. A run with a fault, which needs a response, and one
with a plant or a device that has no compiled form, run in the loop; `parts_in_python` names the parts.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from granite.config.errors import GraniteError, PlantLostError
from granite.config.reasons import Reason
from granite.config.records import NOTHING, Array, Command, Status, Truth, Verdict
from granite.config.run_modes import RunMode
from granite.config.testbed import Testbed
from granite.drivers.device_set import DeviceSet
from granite.kernels.c_compiler import find_compiler
from granite.kernels.compiled_form import CompiledForm, CompiledParts
from granite.logs.channels import Channels
from granite.rt.loop.loop import Outcome
from granite.rt.run import Run
from granite.rt.steps.compiled_steps import StepForms, steps_in_python
from granite.rt.steps.parts_in_python import ALLOCATE, PartsInPython
from granite.rt.supervisor.supervisor import Supervisor
from granite.sim.devices.accelerometer import SimulatedAccelerometer
from granite.sim.devices.force_gauges import SimulatedForceGauges
from granite.sim.devices.grips import SimulatedGrips
from granite.sim.devices.gyro import SimulatedGyro
from granite.sim.devices.joint_sensors import SimulatedJointSensors, SimulatedTachometers
from granite.sim.devices.measured import SimulatedMeasurement
from granite.sim.devices.momentum_wheel import SimulatedMomentumWheels
from granite.sim.devices.motors import SimulatedMotors
from granite.sim.devices.pressure import SimulatedPressure
from granite.sim.devices.sampled_sensor import SampledSensor
from granite.sim.devices.strain_gauges import SimulatedStrainGauges
from granite.sim.devices.thrusters import SimulatedThrusters
from granite.sim.devices.vision import SimulatedVision
from granite.sim.plant.forces import n_held
from granite.sim.plant.plant_in_python import PlantInPython
from granite.sim.wrapped_devices import ActuatorInC, SensorInC, WrappedDevices, simulated_behind

#: where a tick is resumed, as `compiled_run.c` has it, after Python has found the loads of contacts, changed frames,
#: called a step, judged, commanded the grips, sent set points, or advanced the plant
_ENDED, _AFTER_THE_LOADS, _AFTER_THE_READINGS = range(3)
_AFTER_THE_GUARD, _AFTER_THE_GRIPS, _AFTER_THE_WRITINGS, _AFTER_THE_PLANT = range(ALLOCATE + 4, ALLOCATE + 8)
_RUNNING = RunMode.RUNNING
_NOTHING = Verdict(0.0, Command(0.0, (), NOTHING), Reason.PASSED, 0, math.nan, math.nan, False)
_KINDS = (
    SimulatedJointSensors,
    SimulatedTachometers,
    SimulatedForceGauges,
    SimulatedStrainGauges,
    SimulatedAccelerometer,
    SimulatedGyro,
    SimulatedMeasurement,
    SimulatedPressure,
    SimulatedVision,
    SimulatedMotors,
    SimulatedMomentumWheels,
    SimulatedThrusters,
    SimulatedGrips,
)

Kind = TypeVar("Kind")


def parts_in_python(run: Run) -> list[str]:
    """Names of the parts that have no compiled form."""
    return [*steps_in_python(run.stack), *_lab_in_python(run)]


def is_compilable(run: Run) -> bool:
    """Whether the whole run can be compiled: all of it but some parts of the controllers."""
    return run.bed.controller is not None and find_compiler() is not None and not _lab_in_python(run)


def _lab_in_python(run: Run) -> list[str]:
    """The plant and the devices that have no compiled form."""
    names = ["plant"] if run.lab is None else []
    devices = {name: simulated_behind(device) for name, device in run.devices.all().items()}
    # A subclass is another device.
    names += [f"devices.{name}" for name, device in devices.items() if type(device) not in _KINDS]
    return names if run.bed.sensors and run.bed.actuators else [*names, "devices"]


class CompiledRun:
    """The run of a testbed, to be had any number of times, each with its own seed, where all of its parts are compiled.

    Parameters
    ----------
    run
        That is compilable; it is not used up where `is_repeatable`.

    Raises
    ------
    CompilationError
        Where the compiler rejects the code.
    """

    def __init__(self, run: Run) -> None:
        bed, lab = run.bed, run.lab
        assert lab is not None
        #: the run that it was made of
        self.run = run
        self._bed, self._lab = bed, lab
        devices = {name: simulated_behind(device) for name, device in run.devices.all().items()}
        self._wrapped = WrappedDevices(bed, lab.events, run.devices.all(), self._device_columns)
        self._sampled, self._cameras = _of(SampledSensor, devices), _of(SimulatedVision, devices)
        self._motors, self._thrusters = _of(SimulatedMotors, devices), _of(SimulatedThrusters, devices)
        self._grips = _of(SimulatedGrips, devices)
        #: of a row: what they are commanded
        self._gripped = next(
            (_column(run.channels, "/verdict", f"setpoint.{name}") for name in self._grips), slice(0, 0)
        )
        rates = [camera.rate_hz for camera in self._cameras.values()]
        self._exposures = int((run.ticks + 2) * bed.loop.period_s * max([0.0, *rates])) + 4
        forms = StepForms(bed, run.channels, run.stack, run.guard)
        self._which = forms.numbers(run.stack)
        self._parts = CompiledParts(
            "run",
            [
                *forms.all,
                self._device_form(run.devices),
                SampledSensor.compiled_form(list(self._sampled.values()), run.ticks),
                SimulatedMotors.compiled_form(list(self._motors.values()), n_held(lab.plant.bed)),
                SimulatedThrusters.compiled_form(list(self._thrusters.values())),
                SimulatedVision.compiled_form(list(self._cameras.values()), self._exposures),
                *lab.compiled_forms(),
                SimulatedGrips.compiled_form(lab.plant.contacts if self._grips else None),
                CompiledForm((Path(__file__).with_suffix(".c"),)),
            ],
        )
        #: the time of a sample in its row, and of the tick whose steps were last called in Python [s]
        self._time, self._steps_at = _column(run.channels, "/sample", "t").start, -math.inf
        self._steps_in_python = PartsInPython(run.channels)
        self._plant = PlantInPython(lab.plant, self._parts)
        #: of all motors, as drawn for the run
        self._gain = self._parts.memory["sim_motor_gain"].copy()
        #: of the last tick that the guard judged in Python
        self.verdict = _NOTHING
        #: whether the same parts can make another run: those in Python keep the memory of the last one
        self.is_repeatable = bool((self._which >= 0).all())

    def rows(self, seed: int | None = None, into: Array | None = None) -> tuple[Array, Outcome, Truth] | None:
        """The rows of a run, how it ended, and the state of the plant at its end; None where it needs the loop.

        The seed is that of the testbed where none is given. `into` is memory for the rows, all of which are written:
        new memory for a run of 50 MB takes the system up to half as long as the run.
        """
        parts, run = self._parts, self.run
        draws, exposures = self._restart(self._bed.seed if seed is None else seed)
        rows = np.empty((run.ticks, run.channels.width)) if into is None else into
        pointer, tick = ctypes.c_void_p, parts.memory["run_tick"]
        go, addresses = parts.function("run_ticks", *(pointer,) * 4, ctypes.c_long, ctypes.c_int)
        data = [block.ctypes.data for block in (draws, exposures, rows, self._which)]
        point, outcome = _ENDED, Outcome()
        try:
            while point := go(*addresses, *data, run.ticks, point):
                if not self._in_python(point, rows[int(tick[0])]):
                    return None
        except PlantLostError as lost:
            outcome.reason, outcome.fault = Reason.PLANT_LOST, lost
            tick[0] += 1
        except GraniteError:  # the loop names it, in a log
            return None
        outcome.ticks = int(tick[0])
        outcome.t = (outcome.ticks - 1) * self._bed.loop.period_s
        return rows[: outcome.ticks], outcome, self._truth()

    def _restart(self, seed: int) -> tuple[Array, Array]:
        """Begin a run; what the seed draws: errors of the sensors, exposures of the cameras."""
        self._parts.restart()
        for part in vars(self.run.stack).values():
            if hasattr(part, "restart"):
                part.restart()
        draws, exposures = self._draw(seed)
        self._plant.restart(exposures)
        self._wrapped.restart(self._in_c)
        self._events, self._steps_at = self._lab.events.on_plant(self._plant), -math.inf
        begin, addresses = self._parts.function("begin_run", ctypes.c_void_p)
        begin(*addresses, exposures.ctypes.data)
        return draws, exposures

    def _in_python(self, point: int, row: Array) -> bool:
        """Do what comes before this point of a tick; returns whether the run may continue."""
        if point == _AFTER_THE_LOADS:
            self._plant.find_loads()
        elif point == _AFTER_THE_READINGS:
            self._wrapped.read(row.item(self._time), row)
        elif point < _AFTER_THE_GUARD:
            if row[self._time] != self._steps_at:
                self._steps_at = row.item(self._time)
                self._steps_in_python.begin()
            self._steps_in_python.run(point - _AFTER_THE_READINGS - 1, row, self.run.stack)
        elif point == _AFTER_THE_GUARD:
            channels, records = self.run.channels, self.run.channels.read_controllers(row.copy())
            self.verdict = self.run.guard.check(*records)
            if self.verdict.reason >= 10:
                return False
            decided = np.frombuffer(channels.pack_decision(*records, self.verdict))
            row[: len(decided)] = decided
        elif point == _AFTER_THE_GRIPS:
            self._plant.grip(row[self._gripped])
        elif point == _AFTER_THE_WRITINGS:
            t, tick, marked = row.item(self._time), int(self._parts.memory["run_tick"][0]), self._parts.parameters
            if marked["run_writings"][tick]:
                self._wrapped.write(t, row, self._frame_in_c)
            if marked["run_loads"][tick]:
                self._plant.happen(t, self._events.happen)
        else:
            period = self._bed.loop.period_s
            self._plant.finish(self._parts.memory["run_tick"].item(0) * period + period)
        return True

    def take_gains(self, bed: Testbed) -> bool:
        """Use the law's table of a testbed that differs in nothing else; False where it differs in more than gains."""
        take = getattr(self.run.stack.law, "take_gains", None)
        if take is None or not take(bed.control.law):
            return False
        gains = [gain.value for gain in bed.control.law.live_gains(bed)]
        operation = self._parts.parameters["run_operation"]
        operation[len(operation) - len(gains) :] = gains
        return True

    def _truth(self) -> Truth:
        state, n_q, n_u = self._parts.memory["plant_state"], len(self._bed.positions), len(self._bed.velocities)
        nothing = np.zeros(0)
        t = self._parts.memory["plant_steps"].item(0) * self._lab.plant.step_s
        return Truth(t, state[:n_q].copy(), state[n_q : n_q + n_u].copy(), nothing, nothing)

    def _draw(self, seed: int) -> tuple[Array, Array]:
        """Everything random of a run: constants of the plant, errors of sensors, exposures, gains of motors."""

        def stream(name: str) -> np.random.Generator:
            return self._lab.random_numbers(name, seed)

        self._lab.plant.draw(seed, self._parts.memory["plant_state"])
        draws = [device.draw(stream(name), self.run.ticks) for name, device in self._sampled.items()]
        exposures = [device.draw(stream(name), self._exposures).ravel() for name, device in self._cameras.items()]
        gains = [device.draw(stream(name)) for name, device in self._motors.items()]
        self._gain[:] = np.concatenate([np.zeros(0), *gains])
        for name in (*self._motors, *self._thrusters):
            self._set_faults(name, ())
        return np.concatenate([np.zeros(1)[:0], *draws]), np.concatenate([np.zeros(1)[:0], *exposures])

    def _set_faults(self, name: str, faults: Iterable[tuple[str, str, float | None]]) -> None:
        """Give single motors or thrusters of a device in C their faults."""
        if name in self._motors:
            units = _units(self._motors, name, lambda device: len(device.torque))
            self._parts.memory["sim_motor_gain"][units] = self._motors[name].faulty_gain(self._gain[units], faults)
        else:
            units, parameters = _units(self._thrusters, name, lambda device: device.size), self._parts.parameters
            nominal, stuck = self._thrusters[name].faulty_units(faults)
            parameters["sim_nominal"][units], parameters["sim_stuck"][units] = nominal, stuck

    def _in_c(self, name: str) -> SensorInC | ActuatorInC:
        """A device in C, as its wrapper in Python sees it."""
        if name in self._bed.sensors:
            return SensorInC(self._frame_in_c(name))
        number, pointer = list(self._bed.actuators).index(name), ctypes.c_void_p
        write, addresses = self._parts.function("write_device", ctypes.c_int, ctypes.c_double, pointer, pointer)

        def written(t: float, setpoint: Array, applied: Array) -> None:
            write(*addresses, number, t, setpoint.ctypes.data, applied.ctypes.data)

        return ActuatorInC(written, partial(self._set_faults, name))

    def _frame_in_c(self, name: str) -> Array:
        """The last frame of a device in C."""
        is_sensor = name in self._bed.sensors
        frames = self._parts.memory["run_frames" if is_sensor else "run_applied"]
        first = 0
        for other, device in (self._bed.sensors if is_sensor else self._bed.actuators).items():
            size = 3 + len(device.signals(self._bed))
            if other == name:
                return frames[first : first + size]
            first += size
        raise KeyError(name)

    def _device_columns(self, name: str) -> slice:
        """Of a row: the frame of a sensor, or the set point that the guard lets pass to an actuator."""
        channels = self.run.channels
        if name not in self._bed.sensors:
            return _column(channels, "/verdict", f"setpoint.{name}")
        first, values = (_column(channels, "/sample", f"{name}.{entry}") for entry in ("t", "values"))
        return slice(first.start, values.stop)

    def _operation(self) -> Array:
        """The numbers of `Operation` without its time, while nothing is asked and nothing is wrong."""
        usual = Supervisor(self._bed, self.run.stack, self.run.guard).operation(0.0, _RUNNING, _NOTHING)
        _, *numbers, goal, gains = usual
        return np.array([*numbers, *goal, *gains])

    def _device_form(self, devices: DeviceSet) -> CompiledForm:
        """Which device of its kind each sensor and actuator is, and their first frames."""
        bed = self._bed
        sensors, actuators = list(bed.sensors), list(bed.actuators)
        cameras, kinds = list(self._cameras), (list(self._thrusters), list(self._motors), list(self._grips))
        kind_of = [next(i for i, names in enumerate(kinds) if name in names) for name in actuators]
        frames = [_frame(math.nan, np.full(len(device.signals(bed)), math.nan)) for device in bed.sensors.values()]
        applied = [_frame(frame.t, frame.values) for frame in devices.applied]
        return CompiledForm(
            (),
            {
                "FRAMES_SIZE": sum(map(len, frames)),
                "APPLIED_SIZE": sum(map(len, applied)),
                "OPERATION_SIZE": len(self._operation()),
                "ROW_GRIPS": self._gripped.start,
                **({"DEMANDED": len(bed.known.velocities)} if bed.control.law.kind == "demanded_acceleration" else {}),
            },
            {
                "SIM_SENSOR_IS_CAMERA": [int(name in cameras) for name in sensors],
                "SIM_SENSOR": [(cameras if name in cameras else list(self._sampled)).index(name) for name in sensors],
                "SIM_ACTUATOR_KIND": kind_of,
                "SIM_ACTUATOR_IS_WRAPPED": [int(name in self._wrapped.names) for name in actuators],
                "SIM_ACTUATOR": [kinds[kind].index(name) for kind, name in zip(kind_of, actuators, strict=True)],
            },
            parameters={
                "run_operation": self._operation(),
                "run_readings": self._wrapped.ticks(sensors, self.run.ticks),
                "run_writings": self._wrapped.ticks(actuators, self.run.ticks),
                "run_loads": self._wrapped.load_ticks(self.run.ticks),
            },
            memory={
                "run_tick": np.zeros(1),
                "run_frames": np.concatenate(frames),
                "run_applied": np.concatenate(applied),
            },
        )


def _of(kind: type[Kind], devices: Any) -> dict[str, Kind]:
    return {name: device for name, device in devices.items() if isinstance(device, kind)}


def _units(devices: Mapping[str, Kind], name: str, size: Callable[[Kind], int]) -> slice:
    """Where the units of a device stand among those of all devices of its kind."""
    sizes = [size(device) for device in devices.values()]
    i = list(devices).index(name)
    return slice(sum(sizes[:i]), sum(sizes[: i + 1]))


def _column(channels: Channels, topic: str, entry: str) -> slice:
    """Where an entry stands in a row."""
    column = channels.columns(topic, entry)
    return column if isinstance(column, slice) else slice(column, column + 1)


def _frame(t: float, values: Sequence[float] | Array) -> Array:
    """A frame before the first one."""
    return np.concatenate([[t, 0.0, float(Status.NO_FRAME)], values])
