"""The steps of the tick in one compiled call, equal to `StepByStep` to the bit, in every mode of the run.

A part without a compiled form is called in Python between two such calls (`parts_in_python.py`).
A command that passes the guard is decided without Python. Everything else (sensors that have not reported, a fault, a
clamped set point, a measurement that was refused) is decided by the guard in Python, on the records in the row.
Both forms of a part have one memory, so that any tick may be of either.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from math import nan
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from granite.config.devices.device import Device
from granite.config.reasons import Reason
from granite.config.records import Array, Command, Reference, Sample, State, Verdict
from granite.config.run_modes import RunMode
from granite.config.testbed import Testbed
from granite.controllers.stack import Stack
from granite.kernels.c_compiler import find_compiler
from granite.kernels.compiled_form import CompiledForm, CompiledParts, form_of
from granite.logs.channels import Channels
from granite.mrds.valves import SOURCE as VALVES
from granite.rt.guard.guard import Guard
from granite.rt.steps.parts_in_python import ESTIMATE, PartsInPython
from granite.rt.steps.step_by_step import Decision
from granite.rt.supervisor.mode_stacks import ModeParts
from granite.rt.supervisor.supervisor import Supervisor

_PASSED, _RUNNING = Reason.PASSED, RunMode.RUNNING
#: how the steps end, as `steps.c` has it
_ASK_THE_GUARD, _PASS, _IN_PYTHON = range(3)
#: the method of each step of a stack
_VERBS = {"estimator": "estimate", "behaviour": "decide", "law": "control", "actuation": "allocate"}


def has_compiled_steps(bed: Testbed) -> bool:
    """Whether it is worth while: without a controller nothing but the guard would be compiled."""
    return bed.controller is not None and find_compiler() is not None


def steps_in_python(stack: Stack) -> list[str]:
    """The parts that have no compiled form, by name; all compiled ones need a C compiler besides."""
    return parts_without_form(stack) if find_compiler() else ["no C compiler"]


def parts_without_form(stack: Stack) -> list[str]:
    """The same, with or without a compiler."""
    return [name for name, part in vars(stack).items() if form_of(part, _VERBS[name]) is None]


class StepForms:
    """The compiled forms of all steps, in all modes.

    Parameters
    ----------
    parts
        Those of the other modes; None: the run is never in one.
    """

    def __init__(
        self, bed: Testbed, channels: Channels, stack: Stack, guard: Guard, parts: ModeParts | None = None
    ) -> None:
        listed: list[tuple[Any, str]] = [(part, _VERBS[name]) for name, part in vars(stack).items()]
        if parts is not None:
            listed += [(part, "decide") for part in parts.behaviours()]
            listed += [(part, "control") for part in parts.laws()]
            listed.append((parts.torques_only, "allocate"))
        self._numbers: dict[int, int] = {}
        forms: list[CompiledForm] = []
        self._kept = [part for part, _ in listed]  # a number is that of an object: it must live on
        for part, verb in listed:
            form = form_of(part, verb)
            if form is not None:
                self._numbers[id(part)] = len(forms)
                forms.append(form)
        guarding = form_of(guard, "check")
        assert guarding is not None
        #: the C functions of the parts
        self.entries = [form.entry for form in forms]
        steps = CompiledForm((_run_part(self.entries), Path(__file__).with_name("steps.c")))
        #: parts and guard, in an order in which each may use the ones before it
        self.parts = [_row_form(bed, channels), CompiledForm((VALVES,)), *forms, guarding]
        #: the same, and the function of all steps
        self.all = [*self.parts, steps]

    def numbers(self, stack: Stack) -> Array:
        """Of each step of a stack the number of its part; -1: one in Python."""
        return np.array([self._numbers.get(id(part), -1) for part in vars(stack).values()], dtype=np.int32)


def _run_part(entries: Iterable[str]) -> str:
    cases = [f"    case {i}: return {entry}(p, m, ks, row);" for i, entry in enumerate(entries)]
    head = "static int run_part(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row, "
    return "\n".join([head + "int which)", "{", "    switch (which) {", *cases, "    default: return 0;", "    }", "}"])


class CompiledSteps:
    """The steps in one call, or in one before and one after each part in Python.

    Parameters
    ----------
    parts
        Controllers of the other modes.

    Raises
    ------
    CompilationError
        Where the compiler rejects the code.
    """

    def __init__(self, bed: Testbed, channels: Channels, stack: Stack, guard: Guard, parts: ModeParts) -> None:
        self._forms = StepForms(bed, channels, stack, guard, parts)
        self.parts = CompiledParts("steps", self._forms.all)
        self._channels, self._row, self._guard = channels, np.zeros(channels.width), guard
        self._parts_in_python = PartsInPython(channels)
        self._sample = self._row[: channels.topic("/sample").stop].data.cast("B")
        self._records = self._row[: channels.topic("/verdict").stop].data.cast("B")
        self._laps = np.zeros(4)
        self._setpoints = [self._row[column] for column in _setpoints(bed, channels)]
        self._thrust = self._row[channels.columns("/command", "thrust")]
        self._unloading = self._row[_unloading(channels)]
        #: the parts of the stack of the last tick
        self._stack, self._which = stack, self._forms.numbers(stack)
        self._call = self._bound()
        self._supervisor: Supervisor

    def begin(self, supervisor: Supervisor) -> None:
        """The supervisor of the run judges what does not pass, and looks at the newest records when it needs them."""
        self._supervisor = supervisor
        supervisor.newest = self._newest

    def run(self, sample: Sample, stack: Stack) -> Decision:
        """Evaluate the steps for a sample, with the parts of the stack."""
        if stack is not self._stack:
            self._stack, self._which[:] = stack, self._forms.numbers(stack)
        self._sample[:] = self._channels.pack_sample(sample)
        end = self._call(ESTIMATE)
        if end >= _IN_PYTHON:
            end = self._with_parts_in_python(end, sample)
        if end != _PASS:
            return self._ask_the_guard(sample)
        t = sample.t
        setpoints = tuple([setpoint.copy() for setpoint in self._setpoints])
        verdict = Verdict(
            t, Command(t, setpoints, self._thrust.copy(), self._unloading.copy()), _PASSED, 0, nan, nan, False
        )
        if self._supervisor.mode is not _RUNNING:
            judged = self._supervisor.judge(t, verdict)
            if judged is not verdict:
                return Decision(judged, self._with_verdict(sample, judged), self._laps.tolist())
        return Decision(verdict, bytes(self._records), self._laps.tolist())

    def _with_parts_in_python(self, end: int, sample: Sample) -> int:
        """Call the part that comes next, then the compiled ones after it, and so on; returns how the steps end."""
        self._parts_in_python.begin()
        while end >= _IN_PYTHON:
            step, since = end - _IN_PYTHON, perf_counter()
            self._parts_in_python.run(step, self._row, self._stack, sample)
            self._laps[step] = perf_counter() - since
            end = self._call(step + 1)
        return end

    def _ask_the_guard(self, sample: Sample) -> Decision:
        _, state, reference, demand, command = self._channels.read_controllers(self._row.copy())
        verdict = self._guard.check(sample, state, reference, demand, command)
        verdict = self._supervisor.judge(sample.t, verdict)
        return Decision(verdict, self._with_verdict(sample, verdict), self._laps.tolist())

    def _with_verdict(self, sample: Sample, verdict: Verdict) -> bytes:
        """The records of the row, with another verdict."""
        _, state, reference, demand, command = self._channels.read_controllers(self._row.copy())
        return self._channels.pack_decision(sample, state, reference, demand, command, verdict)

    def _newest(self) -> tuple[State, Reference]:
        """The records of the last tick."""
        row = self._row.copy()
        return self._channels.read_state(row), self._channels.read_reference(row)

    def _bound(self) -> Callable[[int], int]:
        """The function of the first step alone: its other arguments never change."""
        pointer = ctypes.c_void_p
        function, addresses = self.parts.function("steps", pointer, pointer, pointer, ctypes.c_int)
        blocks = self._row, self._laps, self._which
        pointers = [pointer(address) for address in (*addresses, *(block.ctypes.data for block in blocks))]

        def call(first: int) -> int:
            return int(function(*pointers, first))

        return call


def _row_form(bed: Testbed, channels: Channels) -> CompiledForm:
    """Where the records stand in the row, and how many devices and coordinates there are."""
    sizes: dict[str, int] = {
        "N_Q": len(bed.known.positions),
        "N_U": len(bed.known.velocities),
        "SENSORS": len(bed.sensors),
        "ACTUATORS": len(bed.actuators),
        "ACTUATOR_VALUES": sum(_sizes(bed, bed.actuators)),
        "COMMAND_SIZE": channels.topic("/command").stop - channels.topic("/command").start,
        "ROW_WIDTH": channels.width,
        "ROW_APPLIED": channels.topic("/applied").start,
    }
    for topic in channels.topics:
        for entry in topic.entries:
            name = f"ROW_{topic.name.removeprefix('/')}_{entry}".replace(".", "_").upper()
            sizes[name] = _start(channels.columns(topic.name, entry))
    sizes.setdefault("ROW_DEMAND_DISTRIBUTION", channels.topic("/demand").stop)  # most laws have none
    sizes["ROW_COMMAND_UNLOADING"] = _unloading(channels).start
    # Set points of several devices, one after the other.
    sizes["ROW_REFERENCE_DIRECT"] = sizes["ROW_REFERENCE_DONE"] + 1
    sizes["ROW_COMMAND_SETPOINTS"] = sizes["ROW_COMMAND_T"] + 1
    tables = {
        "SENSOR_FRAME": [_start(channels.columns("/sample", f"{name}.t")) for name in bed.sensors],
        "APPLIED_FRAME": [_start(channels.columns("/sample", f"applied.{name}.t")) for name in bed.actuators],
        "SETPOINT": [_start(columns) for columns in _setpoints(bed, channels)],
        "ACTUATOR_SIZE": _sizes(bed, bed.actuators),
    }
    return CompiledForm((), sizes, tables, {"period": np.array([bed.loop.period_s])})


def _setpoints(bed: Testbed, channels: Channels) -> list[int | slice]:
    return [channels.columns("/command", f"setpoint.{name}") for name in bed.actuators]


def _unloading(channels: Channels) -> slice:
    """Of a yaw wheel; empty without one."""
    command = channels.topic("/command")
    return slice(command.stop - len(command.entries.get("unloading", ())), command.stop)


def _sizes(bed: Testbed, devices: Mapping[str, Device]) -> list[int]:
    return [len(device.signals(bed)) for device in devices.values()]


def _start(columns: int | slice) -> int:
    return columns.start if isinstance(columns, slice) else columns
