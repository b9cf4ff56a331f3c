"""Behaviours, laws and allocations that are one CasADi function of named numbers; both forms follow from the names.

The function's inputs and outputs are named as `granite.kernels.function_part` says: `state_q`, `reference_u`,
`parameter_stiffness`, `memory_sum`, `demand_force`, `next_sum`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from granite.config.devices.gauge import Gauge
from granite.config.records import Array, Command, Demand, Reference, State
from granite.config.testbed import Testbed
from granite.kernels.compilation import compile_functions
from granite.kernels.compiled_form import CompiledForm
from granite.kernels.function_part import OWN, FunctionPart
from granite.kernels.kernel import Kernel


class SymbolicLaw(FunctionPart):
    """A law that is one function.

    Parameters
    ----------
    bed
        The testbed.
    function
        From entries of `State` and `Reference`, parameters and memory to entries of `Demand` and the next memory.
    parameters, memory
        Start values by name: `parameter_stiffness` of the function is `parameters["stiffness"]`.
    otherwise
        Entries of the demand that the function does not give, if not zero.

    Raises
    ------
    InputError
        Where a name or size of the function does not fit.
    """

    def __init__(
        self,
        bed: Testbed,
        function: ca.Function | Kernel,
        parameters: Mapping[str, ArrayLike] | None = None,
        memory: Mapping[str, ArrayLike] | None = None,
        otherwise: Mapping[str, Array] | None = None,
    ) -> None:
        super().__init__("control", *_part(bed, function, parameters, memory), otherwise)

    def control(self, state: State, reference: Reference) -> Demand:
        """The demand for the state and the reference."""
        demand: Demand = self.run(state=state, reference=reference)
        return demand

    def compiled_form(self) -> CompiledForm:
        """The same in C."""
        return self.form()


class SymbolicBehaviour(FunctionPart):
    """A behaviour that is one function.

    Parameters
    ----------
    bed
        The testbed.
    function
        From entries of `State`, parameters and memory to entries of `Reference` and the next memory.
    parameters, memory
        Start values by name, as of a `SymbolicLaw`.
    otherwise
        Entries of the reference that the function does not give, if not zero.
    """

    def __init__(
        self,
        bed: Testbed,
        function: ca.Function | Kernel,
        parameters: Mapping[str, ArrayLike] | None = None,
        memory: Mapping[str, ArrayLike] | None = None,
        otherwise: Mapping[str, Array] | None = None,
    ) -> None:
        super().__init__("decide", *_part(bed, function, parameters, memory), otherwise)

    def decide(self, state: State) -> Reference:
        """The reference at the time of the state."""
        reference: Reference = self.run(state=state)
        return reference

    def compiled_form(self) -> CompiledForm:
        """The same in C."""
        return self.form()


class SymbolicAllocation(FunctionPart):
    """An allocation that is one function, from `State`, `Reference` and `Demand` to `Command`; see `SymbolicLaw`."""

    def __init__(self, bed: Testbed, function: ca.Function | Kernel) -> None:
        super().__init__("allocate", *_part(bed, function, None, None))

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        """The command for the demand."""
        command: Command = self.run(state=state, reference=reference, demand=demand)
        return command

    def compiled_form(self) -> CompiledForm:
        """The same in C."""
        return self.form()


def record_sizes(bed: Testbed) -> dict[str, int | tuple[int, ...]]:
    """How many numbers each entry of the records from the state to the command has."""
    law, known = (bed.control.law, bed.known) if bed.controller else (None, None)
    n_q, n_u = (len(known.positions), len(known.velocities)) if known else (0, 0)
    roots = [module for module in known.modules if module.base == "floating"] if known else []
    signals = sum(len(device.signals(bed)) for device in bed.sensors.values())
    return {
        **dict.fromkeys(("state_t", "state_ready", "reference_t", "reference_done", "demand_t", "command_t"), 1),
        **dict.fromkeys(("state_q", "reference_q"), n_q),
        **dict.fromkeys(("state_u", "state_deviation", "state_correction", "state_disturbance"), n_u),
        **dict.fromkeys(("reference_u", "reference_a", "demand_acceleration", "demand_force"), n_u),
        "state_ages": len(bed.sensors),
        "state_innovation": signals,
        "state_faults": len(bed.thrusters),
        "state_gauges": sum(len(device.signals(bed)) for device in bed.devices_of(Gauge).values()),
        "state_holding": len(bed.grips),
        "reference_direct": tuple(len(device.signals(bed)) for device in bed.direct_actuators.values()),
        "reference_task": len(bed.behaviour.recorded(bed)) if law else 0,
        "demand_wrench": sum(3 if module.dimension == "planar" else 6 for module in roots),
        "demand_distribution": len(law.recorded(bed)) if law else 0,
        "command_setpoints": tuple(len(device.signals(bed)) for device in bed.actuators.values()),
        "command_thrust": len(bed.thrusters),
        "command_unloading": int(law is not None and bed.control.allocation.yaw_wheel is not None),
    }


def _part(
    bed: Testbed,
    function: ca.Function | Kernel,
    parameters: Mapping[str, ArrayLike] | None,
    memory: Mapping[str, ArrayLike] | None,
) -> tuple[Kernel, dict[str, Array], dict[str, Array], dict[str, int | tuple[int, ...]]]:
    """The arguments of `FunctionPart` that all kinds of parts have."""
    if not isinstance(function, Kernel):
        own = _of_a_user(function)
        function = compile_functions(own.name(), [own])[own.name()]
    return function, _numbers(parameters), _numbers(memory), record_sizes(bed)


def _of_a_user(function: ca.Function) -> ca.Function:
    """The function under a name that is neither a word of C nor the name of a part of ours."""
    symbols: list[Any] = function.sx_in() if function.is_a("SXFunction") else function.mx_in()
    names = function.name_in(), function.name_out()
    return ca.Function(f"{OWN}{function.name()}", symbols, function.call(symbols), *names)


def _numbers(arrays: Mapping[str, ArrayLike] | None) -> dict[str, Array]:
    """As blocks of float64, which the compiled form reads in place; matrices column by column, as CasADi has them."""
    return {name: np.array(value, dtype=np.float64, ndmin=1).ravel(order="F") for name, value in (arrays or {}).items()}
