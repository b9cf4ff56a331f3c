"""The steps of the tick in one compiled call, equal to `StepByStep` to the bit.

A part without a compiled form is called in Python between two such calls (`parts_in_python.py`).
A command that passes the guard is decided without Python. Everything else (sensors that have not reported, a fault, a
clamped set point, a measurement that was refused) is decided by the guard in Python, on the records in the row.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from math import nan
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from granite.config.devices.device import Device
from granite.config.reasons import Reason
from granite.config.records import Array, Command, Reference, Sample, State, Verdict, new
from granite.config.testbed import Testbed
from granite.controllers.stack import Stack
from granite.kernels.c_compiler import find_compiler
from granite.kernels.compiled_form import CompiledForm, CompiledParts
from granite.logs.channels import Channels
from granite.mrds.valves import SOURCE as VALVES
from granite.rt.guard.guard import Guard
from granite.rt.steps.parts_in_python import ESTIMATE, PartsInPython
from granite.rt.steps.step_by_step import Decision, StepByStep
from granite.rt.supervisor.supervisor import Supervisor

_PASSED = Reason.PASSED
#: how the steps end, as `steps.c` has it
_ASK_THE_GUARD, _PASS, _FOUND_A_FAULT, _IN_PYTHON = range(4)
#: (t, state, reference, the guard's verdict) -> the verdict, after the response to it
Judge = Callable[[float, State, Reference, Verdict], Verdict]


def has_compiled_steps(bed: Testbed) -> bool:
    """Whether it is worth while: without a controller nothing but the guard would be compiled."""
    return bed.controller is not None and find_compiler() is not None


def steps_in_python(stack: Stack) -> list[str]:
    """The parts that have no compiled form, by name; all compiled ones need a C compiler besides."""
    if find_compiler() is None:
        return ["no C compiler"]
    return [name for name, part in vars(stack).items() if _form(part) is None]


def compiled_parts(stack: Stack) -> list[Any]:
    """The parts that have a compiled form."""
    return [part for part in vars(stack).values() if _form(part) is not None]


def step_forms(bed: Testbed, channels: Channels, stack: Stack, guard: Guard) -> list[CompiledForm]:
    """The compiled forms of all steps, in their initial state."""
    parts = {name: _form(part) for name, part in vars(stack).items()}
    is_compiled = {f"COMPILED_{name.upper()}": int(form is not None) for name, form in parts.items()}
    forms = [_row_form(bed, channels), CompiledForm((VALVES,)), *parts.values(), _form(guard)]
    steps = CompiledForm((Path(__file__).with_name("steps.c"),), is_compiled)
    return [*(form for form in forms if form), steps]


class GuardOfCompiledSteps:
    """The guard in Python for what the compiled steps do not decide, with its memory brought to and fro."""

    def __init__(self, channels: Channels, guard: Guard, memory: Mapping[str, Array]) -> None:
        self._channels, self._guard, self._memory = channels, guard, memory

    def decide(self, row: Array, judge: Judge, sample: Sample | None = None) -> tuple[Verdict, bytes]:
        """The verdict on the records of a row, and all of them with it, as `Decision` has them."""
        guard, memory = self._guard, self._memory
        guard.adopt(memory)
        recorded, state, reference, demand, command = self._channels.read_controllers(row.copy())
        seen = sample or recorded
        verdict = judge(seen.t, state, reference, guard.check(seen, state, reference, demand, command))
        memory["guard_memory"][:], memory["guard_waits"][:] = guard.memory, guard.waits
        memory["guard_passed"][:] = np.concatenate([*guard.passed, ()])
        return verdict, self._channels.pack_decision(seen, state, reference, demand, command, verdict)


class CompiledSteps:
    """The steps in one call, or in one before and one after each part in Python.

    Raises
    ------
    CompilationError
        Where the compiler rejects the code.
    """

    def __init__(self, bed: Testbed, channels: Channels, stack: Stack, guard: Guard) -> None:
        self.parts = CompiledParts("steps", step_forms(bed, channels, stack, guard))
        self._channels, self._row, self._guard_in_python = channels, np.zeros(channels.width), guard
        self._guard = GuardOfCompiledSteps(channels, guard, self.parts.memory)
        #: the parts that go on in Python from the memory of their compiled forms
        self._compiled_parts = [*compiled_parts(stack), guard]
        self._parts_in_python = PartsInPython(channels, stack, self._compiled_parts, self.parts.memory)
        self._sample = self._row[: channels.topic("/sample").stop].data.cast("B")
        self._records = self._row[: channels.topic("/verdict").stop].data.cast("B")
        self._laps = np.zeros(4)
        self._setpoints = [self._row[place] for place in _setpoints(bed, channels)]
        self._thrust = self._row[channels.place("/command", "thrust")]
        self._unloading = self._row[_unloading(channels)]
        self._call = self._bound()
        self._supervisor: Supervisor
        self._step_by_step: StepByStep
        #: whether the parts in Python have taken over
        self.is_over = False

    def begin(self, supervisor: Supervisor) -> None:
        """The supervisor of the run judges what does not pass, and looks at the newest records when it needs them."""
        self._supervisor = supervisor
        self._step_by_step = StepByStep(self._channels, self._guard_in_python, supervisor)
        supervisor.newest = self._newest

    def run(self, sample: Sample, stack: Stack) -> Decision:
        """Evaluate the steps for a sample, of the stack that they were compiled from."""
        self._sample[:] = self._channels.pack_sample(sample)
        end = self._call(ESTIMATE)
        if end >= _IN_PYTHON:
            end = self._with_parts_in_python(end, sample)
        if end != _PASS:
            return self._decided_in_python(end, sample, stack)
        t, setpoints = sample.t, []
        for setpoint in self._setpoints:
            setpoints.append(setpoint.copy())
        command = new(Command, (t, tuple(setpoints), self._thrust.copy(), self._unloading.copy()))
        verdict = new(Verdict, (t, command, _PASSED, 0, nan, nan, False))
        return new(Decision, (verdict, bytes(self._records), self._laps.tolist()))

    def _with_parts_in_python(self, end: int, sample: Sample) -> int:
        """Call the part that comes next, then the compiled ones after it, and so on; returns how the steps end."""
        self._parts_in_python.begin()
        while end >= _IN_PYTHON:
            step, since = end - _IN_PYTHON, perf_counter()
            if self._parts_in_python.run(step, self._row, sample):
                return _FOUND_A_FAULT
            self._laps[step] = perf_counter() - since
            end = self._call(step + 1)
        return end

    def _decided_in_python(self, end: int, sample: Sample, stack: Stack) -> Decision:
        """What the guard does not pass, and everything after a fault of a thruster was found."""
        if end == _ASK_THE_GUARD:
            return Decision(*self._guard.decide(self._row, self._supervisor.judge, sample), self._laps.tolist())
        state = self._channels.read_state(self._row.copy())
        self.hand_over()
        return self._step_by_step.after_estimate(sample, state, stack, self._laps.item(0))

    def hand_over(self) -> None:
        """Let the parts in Python continue from here; the compiled ones are not to be called any more."""
        self.is_over = True
        self._supervisor.look()
        self._supervisor.newest = None
        for part in self._compiled_parts:
            part.adopt(self.parts.memory)

    def _newest(self) -> tuple[State, Reference]:
        """The records of the last tick."""
        row = self._row.copy()
        return self._channels.read_state(row), self._channels.read_reference(row)

    def _bound(self) -> Callable[[int], int]:
        """The function of the first step alone: its other arguments never change."""
        function, addresses = self.parts.function("steps", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        pointers = [ctypes.c_void_p(a) for a in (*addresses, self._row.ctypes.data, self._laps.ctypes.data)]

        def call(first: int) -> int:
            return int(function(*pointers, first))

        return call


def _form(part: Any) -> CompiledForm | None:
    """None also for a subclass that has no form of its own: that of its base is another part."""
    form: CompiledForm | None = part.compiled_form() if "compiled_form" in vars(type(part)) else None
    return form


def _row_form(bed: Testbed, channels: Channels) -> CompiledForm:
    """Where the records stand in the row, and how many devices and coordinates there are."""
    sizes: dict[str, int] = {
        "N_Q": len(bed.known.positions),
        "N_U": len(bed.known.velocities),
        "SENSORS": len(bed.sensors),
        "ACTUATORS": len(bed.actuators),
        "SENSOR_VALUES": sum(_sizes(bed, bed.sensors)),
        "ACTUATOR_VALUES": sum(_sizes(bed, bed.actuators)),
        "COMMAND_SIZE": channels.topic("/command").stop - channels.topic("/command").start,
        "ROW_WIDTH": channels.width,
        "ROW_APPLIED": channels.topic("/applied").start,
    }
    for topic in channels.topics:
        for entry in topic.entries:
            if "." not in entry:
                sizes[f"ROW{topic.name.replace('/', '_')}_{entry}".upper()] = _start(channels.place(topic.name, entry))
    sizes.setdefault("ROW_DEMAND_DISTRIBUTION", channels.topic("/demand").stop)  # most laws have none
    sizes["ROW_COMMAND_UNLOADING"] = _unloading(channels).start
    tables = {
        "SENSOR_FRAME": [_start(channels.place("/sample", f"{name}.t")) for name in bed.sensors],
        "APPLIED_FRAME": [_start(channels.place("/sample", f"applied.{name}.t")) for name in bed.actuators],
        "SETPOINT": [_start(place) for place in _setpoints(bed, channels)],
        "SENSOR_SIZE": _sizes(bed, bed.sensors),
        "ACTUATOR_SIZE": _sizes(bed, bed.actuators),
    }
    return CompiledForm((), sizes, tables, {"period": np.array([bed.loop.period_s])})


def _setpoints(bed: Testbed, channels: Channels) -> list[int | slice]:
    return [channels.place("/command", f"setpoint.{name}") for name in bed.actuators]


def _unloading(channels: Channels) -> slice:
    """Of a yaw wheel; empty without one."""
    command = channels.topic("/command")
    return slice(command.stop - len(command.entries.get("unloading", ())), command.stop)


def _sizes(bed: Testbed, devices: Mapping[str, Device]) -> list[int]:
    return [len(device.signals(bed)) for device in devices.values()]


def _start(place: int | slice) -> int:
    return place.start if isinstance(place, slice) else place
