"""Parts of the tick that are one CasADi function of named numbers; both forms follow from the names.

The function's inputs and outputs are named as `granite.kernels.function_part` says: `state_q`, `reference_u`,
`parameter_stiffness`, `memory_sum`, `demand_force`, `next_sum`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from granite.config.devices.gauge import Gauge
from granite.config.devices.grips import Grips
from granite.config.devices.pressure import Pressure
from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array, Command, Demand, Frame, Reference, Sample, State
from granite.config.testbed import Testbed
from granite.kernels.compilation import compile_functions
from granite.kernels.compiled_form import CompiledForm, form_of, in_turn
from granite.kernels.function_part import OWN, FunctionPart, KernelChoice, Size, TimeTable, named_function
from granite.kernels.kernel import Kernel

if TYPE_CHECKING:
    from granite.controllers.stack import Estimator

#: entries of a state that are unknown where an estimator leaves them out
_LEFT_OUT = "deviation", "innovation", "correction", "rate_deviation", "bias"


class SymbolicPart(FunctionPart):
    """A part that is one function.

    Parameters
    ----------
    bed
        The testbed.
    function
        From entries of the records that the step reads, parameters and memory to entries of the record that it gives,
        and the next memory.
    parameters, memory
        Start values by name: `parameter_stiffness` of the function is `parameters["stiffness"]`.
    otherwise
        Entries of the record that the function does not give, if not zero.
    tables
        Tables over time: `row_legs` of the function is the row of `tables["legs"]` in force.
    changes
        Of a function that changes the record of another part: how many numbers the entries of that record have.
    choice
        Which of several functions is in force: of a part with one for each contact set.

    Raises
    ------
    InputError
        Where a name or size of the function does not fit.
    """

    verb: ClassVar[str]

    def __init__(
        self,
        bed: Testbed,
        function: ca.Function | Kernel | list[Kernel],
        parameters: Mapping[str, ArrayLike] | None = None,
        memory: Mapping[str, ArrayLike] | None = None,
        otherwise: Mapping[str, Array] | None = None,
        tables: Mapping[str, TimeTable] | None = None,
        changes: Mapping[str, Size] | None = None,
        choice: KernelChoice | None = None,
    ) -> None:
        if isinstance(function, ca.Function):
            own = _of_a_user(function)
            function = compile_functions(own.name(), [own])[own.name()]
        numbers = _numbers(parameters), _numbers(memory)
        super().__init__(self.verb, function, *numbers, record_sizes(bed), otherwise, tables, changes, choice)


class SymbolicLaw(SymbolicPart):
    """A law that is one function, from `State` and `Reference` to `Demand`; see `SymbolicPart`."""

    verb = "control"

    def control(self, state: State, reference: Reference) -> Demand:
        """The demand for the state and the reference."""
        demand: Demand = self.run(state=state, reference=reference)
        return demand

    def force_at(self, state: State, reference: Reference) -> Array:
        """The generalised force of the demand; the memory stays as it was."""
        return self.evaluate(state=state, reference=reference)["demand_force"]

    compiled_form = FunctionPart.form


class SymbolicBehaviour(SymbolicPart):
    """A behaviour that is one function, from `State` to `Reference`; see `SymbolicPart`."""

    verb = "decide"

    def decide(self, state: State) -> Reference:
        """The reference at the time of the state."""
        reference: Reference = self.run(state=state)
        return reference

    def preview(self, state: State, times: Array) -> list[Reference]:
        """The references at later times [s], after the decision of this tick; nothing is remembered."""
        later = [state._replace(t=t) for t in times.tolist()]
        return [Reference(s.t, *self._motion(self.evaluate(state=s)), False) for s in later]

    @staticmethod
    def _motion(outputs: Mapping[str, Array]) -> tuple[Array, Array, Array]:
        q, u, a = (outputs[f"reference_{name}"].ravel() for name in "qua")
        return q, u, a

    compiled_form = FunctionPart.form


class SymbolicAllocation(SymbolicPart):
    """An allocation that is one function, from `State`, `Reference` and `Demand` to `Command`; see `SymbolicPart`."""

    verb = "allocate"

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        """The command for the demand."""
        command: Command = self.run(state=state, reference=reference, demand=demand)
        return command

    compiled_form = FunctionPart.form


class SymbolicEstimator(SymbolicPart):
    """An estimator that is one function, from `Sample` to `State`; see `SymbolicPart`.

    Frames are read by the names of the devices: `sample_gyro_t`, `sample_gyro_number`, `sample_gyro_values`, and of an
    actuator `sample_applied_motors_values`. The state is ready when all sensors have reported, its ages are those of
    their frames, and it holds what the grips report, unless the function gives these; the deviation is then unknown.

    Parameters
    ----------
    bed, function, parameters, memory
        As of every `SymbolicPart`.
    inner
        Another estimator, whose state the function reads (`state_u`) and changes. It gives what the function does not.
    inner_sizes
        How many numbers entries of its state have, where these are not those of the testbed's: `{"state_q": 2}`.
    """

    verb = "estimate"

    def __init__(
        self,
        bed: Testbed,
        function: ca.Function | Kernel,
        parameters: Mapping[str, ArrayLike] | None = None,
        memory: Mapping[str, ArrayLike] | None = None,
        inner: Estimator | None = None,
        inner_sizes: Mapping[str, Size] | None = None,
    ) -> None:
        self.inner, self._frames = inner, _frames(bed)
        sizes = record_sizes(bed)
        unknown = {name: np.full(sizes[f"state_{name}"], math.nan) for name in _LEFT_OUT}
        if inner is None and not isinstance(function, Kernel):
            function = _completed(function, bed)
        changes = None if inner is None else {**sizes, **(inner_sizes or {})}
        super().__init__(bed, function, parameters, memory, unknown, changes=changes)

    def estimate(self, sample: Sample) -> State:
        """The state at the time of the sample."""
        records: dict[str, Any] = {"sample": NamedFrames(sample, self._frames)}
        if self.inner is not None:
            records["state"] = self.inner.estimate(sample)
        state: State = self.run(**records)
        return state

    def compiled_form(self) -> CompiledForm | None:
        """The same in C; None where the other estimator has no form in C."""
        if self.inner is None:
            return self.form()
        return in_turn(f"{self.name}_estimate", [form_of(self.inner, "estimate"), self.form()])


class NamedFrames:
    """A sample whose frames have names: `t`, `gyro_t`, `gyro_values`, `applied_motors_values`."""

    def __init__(self, sample: Sample, frames: Mapping[str, tuple[bool, int, int]]) -> None:
        self.t, self._sample, self._frames = sample.t, sample, frames

    def __getattr__(self, name: str) -> Any:
        is_applied, device, field = self._frames[name]
        return (self._sample.applied if is_applied else self._sample.frames)[device][field]


def _frames(bed: Testbed) -> dict[str, tuple[bool, int, int]]:
    """Of each name of `NamedFrames`: whether it is of an actuator, and the indices of device and field."""
    return {
        f"{prefix}{name}_{field}": (bool(prefix), device, i)
        for prefix, devices in (("", bed.sensors), ("applied_", bed.actuators))
        for device, name in enumerate(devices)
        for i, field in enumerate(Frame._fields)
    }


def named_frames(bed: Testbed, sample: Sample) -> NamedFrames:
    """The sample of a testbed with names."""
    return NamedFrames(sample, _frames(bed))


def record_sizes(bed: Testbed) -> dict[str, Size]:
    """How many numbers each entry of the records from the sample to the command has."""
    law, known = (bed.control.law, bed.known) if bed.controller else (None, None)
    n_q, n_u = (len(known.positions), len(known.velocities)) if known else (0, 0)
    roots = [module for module in known.modules if module.base == "floating"] if known else []
    held = bed.controller.payload if bed.controller else None
    signals = {name: len(device.signals(bed)) for name, device in {**bed.sensors, **bed.actuators}.items()}
    names = list(bed.sensors), list(bed.actuators)
    frames: dict[str, Size] = {
        f"sample_{name}": signals[names[is_applied][device]] if Frame._fields[field] == "values" else 1
        for name, (is_applied, device, field) in _frames(bed).items()
    }
    return {
        "sample_t": 1,
        **frames,
        **dict.fromkeys(("state_t", "state_ready", "reference_t", "reference_done", "demand_t", "command_t"), 1),
        **dict.fromkeys(("state_q", "reference_q"), n_q),
        **dict.fromkeys(("state_u", "state_deviation", "state_correction", "state_disturbance"), n_u),
        "state_rate_deviation": n_u,
        **dict.fromkeys(("reference_u", "reference_a", "demand_acceleration", "demand_force"), n_u),
        "state_ages": len(bed.sensors),
        **dict.fromkeys(("state_innovation", "state_bias"), sum(signals[name] for name in bed.sensors)),
        "state_faults": len(bed.thrusters),
        "state_gauges": sum(signals[name] for name in bed.devices_of(Gauge)),
        "state_holding": len(bed.grips),
        "state_supply": len(bed.devices_of(Thrusters)) if bed.devices_of(Pressure) else 0,
        "state_payload": len(held.recorded(bed)) if held else 0,
        "reference_direct": tuple(signals[name] for name in bed.direct_actuators),
        "reference_task": len(bed.behaviour.recorded(bed)) if law else 0,
        "demand_wrench": sum(3 if module.dimension == "planar" else 6 for module in roots),
        "demand_distribution": len(law.recorded(bed)) if law else 0,
        "command_setpoints": tuple(signals[name] for name in bed.actuators),
        "command_thrust": len(bed.thrusters),
        "command_unloading": int(law is not None and bed.control.allocation.yaw_wheel is not None),
    }


def _completed(function: ca.Function, bed: Testbed) -> ca.Function:
    """The function of a user's estimator with what it leaves out."""
    symbol = ca.SX if function.is_a("SXFunction") else ca.MX
    inputs = dict(zip(function.name_in(), _symbols(function), strict=True))
    outputs = dict(zip(function.name_out(), function.call(list(inputs.values())), strict=True))

    def read(name: str, n: int = 1) -> Any:
        return inputs.setdefault(f"sample_{name}", symbol.sym(name, n))

    if "state_ready" not in outputs:
        ready = symbol(1)
        for name in bed.sensors:
            ready = ca.logic_and(ready, read(f"{name}_number") > 0)
        outputs["state_ready"] = ready
    if "state_ages" not in outputs:
        outputs["state_ages"] = read("t") - ca.vertcat(*(read(f"{name}_t") for name in bed.sensors))
    for name, device in bed.actuators.items():
        if isinstance(device, Grips) and "state_holding" not in outputs:
            held = read(f"applied_{name}_values", len(bed.grips))
            outputs["state_holding"] = ca.if_else(ca.fabs(held) < math.inf, held, 0.0)
    return named_function(function.name(), inputs, outputs)


def _of_a_user(function: ca.Function) -> ca.Function:
    """The function under a name that is neither a word of C nor the name of a part of ours."""
    symbols = _symbols(function)
    inputs = zip(function.name_in(), symbols, strict=True)
    outputs = zip(function.name_out(), function.call(symbols), strict=True)
    return named_function(f"{OWN}{function.name()}", dict(inputs), dict(outputs))


def _symbols(function: ca.Function) -> list[Any]:
    symbols: list[Any] = function.sx_in() if function.is_a("SXFunction") else function.mx_in()
    return symbols


def _numbers(arrays: Mapping[str, ArrayLike] | None) -> dict[str, Array]:
    """As blocks of float64, which the compiled form reads in place; matrices column by column, as CasADi has them."""
    return {name: np.array(value, dtype=np.float64, ndmin=1).ravel(order="F") for name, value in (arrays or {}).items()}
