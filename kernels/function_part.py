"""A part of the tick that is one CasADi function; its Python form and its C form follow from the names of its numbers.

    state_q, reference_u, demand_force, ...   an entry of a record of this tick, read or given
    parameter_stiffness                       a number that may change between two ticks, such as a gain
    memory_sum -> next_sum                    a number that one call leaves to the next

Entries of its record that the function does not give have the values of `otherwise`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from granite.config.errors import InputError, one_of
from granite.config.records import Command, Demand, Reference, State
from granite.kernels.compiled_form import CompiledForm
from granite.kernels.kernel import Array, Kernel

#: before the names of functions that users wrote
OWN = "own_"


class Verb(NamedTuple):
    """A step of the tick."""

    record: type  #: what it gives
    topic: str  #: the name of that
    reads: tuple[str, ...]  #: the records that it may read; the first one has its time


VERBS = {
    "estimate": Verb(State, "state", ("sample",)),
    "decide": Verb(Reference, "reference", ("state",)),
    "control": Verb(Demand, "demand", ("state", "reference")),
    "allocate": Verb(Command, "command", ("state", "reference", "demand")),
}


class FunctionPart:
    """One function of named numbers.

    Parameters
    ----------
    verb
        The step that it is: a key of `VERBS`.
    kernel
        The function, whose inputs and outputs have the names above.
    parameters, memory
        The arrays behind `parameter_...` and `memory_...`, by name; both forms use these very arrays.
    sizes
        How many numbers each entry has that may be read or given: `{"state_q": 3, "demand_force": 3}`; a tuple of sizes
        where the record has a tuple of arrays.
    otherwise
        Values of entries that the function does not give, if not zero.

    Raises
    ------
    InputError
        Where a name or size of the function does not fit.
    """

    def __init__(
        self,
        verb: str,
        kernel: Kernel,
        parameters: Mapping[str, Array],
        memory: Mapping[str, Array],
        sizes: Mapping[str, int | tuple[int, ...]],
        otherwise: Mapping[str, Array] | None = None,
    ) -> None:
        self.parameters, self.memory, self._kernel, self._sizes = dict(parameters), dict(memory), kernel, sizes
        self._verb = VERBS[verb]
        f = kernel.function
        self.name: str = f.name()
        self._inputs: list[str] = f.name_in()
        self._outputs: list[str] = f.name_out()
        topic = self._verb.topic
        self._rest = {
            entry: np.array((otherwise or {}).get(entry, np.zeros(_count(size))), dtype=np.float64)
            for name, size in sizes.items()
            if (entry := name.removeprefix(f"{topic}_")) != name and name not in self._outputs and entry != "t"
        }
        self._refuse_misfits([f.numel_in(i) for i in range(f.n_in())], [f.numel_out(i) for i in range(f.n_out())])

    def run(self, **records: Any) -> Any:
        """The record for these records of the tick."""
        arguments = [self._argument(port, records) for port in self._inputs]
        values = self._kernel.split(self._kernel.run(arguments))
        topic, entries = self._verb.topic, dict(self._rest)
        for port, value in zip(self._outputs, values, strict=True):
            if port.startswith("next_"):
                self.memory[port.removeprefix("next_")][:] = value.ravel(order="F")
            else:
                entries[port.removeprefix(f"{topic}_")] = value
        shaped = {entry: self._shaped(entry, value) for entry, value in entries.items()}
        return self._verb.record(records[self._verb.reads[0]].t, **shaped)

    def form(self) -> CompiledForm:
        """The same in C."""
        record = self._verb.topic.upper()
        lines = [
            f"/* {self.name}, from its declaration. */",
            f"static int {self.name}_step(const struct parameters *p, struct memory *m, const struct kernels *ks, "
            "double *row)",
            "{",
            f"    const struct kernel *k = ks->{self.name};",
        ]
        f, after = self._kernel.function, 0
        ends = []
        for i, port in enumerate(self._inputs):
            lines.append(f"    k->arg[{i}] = {self._address(port, f.numel_in(i))};")
        for i, port in enumerate(self._outputs):
            if not port.startswith("next_"):
                lines.append(f"    k->res[{i}] = {self._address(port, f.numel_out(i))};")
                continue
            lines.append(f"    k->res[{i}] = after + {after};")
            ends.append(f"    copy({self._address(port, 1)}, after + {after}, {f.numel_out(i)});")
            after += f.numel_out(i)
        lines.insert(4, f"    double after[{after + 1}];")
        for entry, value in self._rest.items():
            if value.size:
                lines.append(
                    f"    copy(row + ROW_{record}_{entry.upper()}, p->{self.name}_rest_{entry}, {value.size});"
                )
        first = self._verb.reads[0].upper()
        lines += ["    evaluate(k);", *ends, f"    row[ROW_{record}_T] = row[ROW_{first}_T];"]
        lines += ["    (void)p, (void)m, (void)after;", "    return 1;", "}"]
        rest = {f"{self.name}_rest_{entry}": value for entry, value in self._rest.items() if value.size}
        return CompiledForm(
            ("\n".join(lines),),
            parameters={**{f"{self.name}_{key}": value for key, value in self.parameters.items()}, **rest},
            memory={f"{self.name}_{key}": value for key, value in self.memory.items()},
            kernels={self.name: [self._kernel]},
            entry=f"{self.name}_step",
        )

    def _argument(self, port: str, records: Mapping[str, Any]) -> Array:
        kind, _, name = port.partition("_")
        if kind == "parameter":
            return self.parameters[name]
        if kind == "memory":
            return self.memory[name]
        value = getattr(records[kind], name)
        if isinstance(value, tuple):
            return np.concatenate(value) if value else np.zeros(_count(self._sizes[port]))
        numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
        # An estimator may leave out the disturbance.
        return numbers if numbers.size else np.zeros(_count(self._sizes[port]))

    def _shaped(self, entry: str, value: Array) -> Any:
        size = self._sizes[f"{self._verb.topic}_{entry}"]
        if isinstance(size, tuple):
            return tuple(np.split(value, np.cumsum(size)[:-1])) if size else ()
        return bool(value.item(0)) if entry in ("done", "ready") else value

    def _address(self, port: str, size: int) -> str:
        """Where the numbers stand in C."""
        kind, _, name = port.partition("_")
        if kind == "parameter":
            return f"p->{self.name}_{name}"
        if kind in ("memory", "next"):
            return f"m->{self.name}_{name}"
        return f"row + ROW_{port.upper()}" if size else "row"

    def _refuse_misfits(self, sizes_in: list[int], sizes_out: list[int]) -> None:
        reads = {name: _count(size) for name, size in self._sizes.items() if name.startswith(self._verb.reads)}
        gives = {name: _count(size) for name, size in self._sizes.items() if name.startswith(f"{self._verb.topic}_")}
        reads |= {f"parameter_{name}": value.size for name, value in self.parameters.items()}
        reads |= {f"memory_{name}": value.size for name, value in self.memory.items()}
        gives |= {f"next_{name}": value.size for name, value in self.memory.items()}
        function = self.name.removeprefix(OWN)
        for what, names, sizes, possible in (
            ("input", self._inputs, sizes_in, reads),
            ("output", self._outputs, sizes_out, gives),
        ):
            for name, size in zip(names, sizes, strict=True):
                if name not in possible:
                    problem = f"function '{function}' has an {what} '{name}'"
                    raise InputError(problem, expected=one_of(name, sorted(possible)))
                if size != possible[name]:
                    problem = f"{what} '{name}' of function '{function}' has {size} numbers"
                    raise InputError(problem, expected=str(possible[name]))


def named_function(name: str, inputs: Mapping[str, ca.SX], outputs: Mapping[str, ca.SX]) -> ca.Function:
    """A function from named inputs to named outputs.

    Parameters
    ----------
    name
        Of the function.
    inputs, outputs
        Symbols and expressions by name, such as `state_q` and `demand_force`.
    """
    return ca.Function(name, list(inputs.values()), list(outputs.values()), list(inputs), list(outputs))


def _count(size: int | tuple[int, ...]) -> int:
    return sum(size) if isinstance(size, tuple) else size
