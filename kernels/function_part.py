"""A part of the tick that is one CasADi function; its Python form and its C form follow from the names of its numbers.

    state_q, reference_u, demand_force, ...   an entry of a record of this tick, read or given
    sample_joints_values, sample_joints_t     of a device's frame: t, number, status, values
    parameter_stiffness                       a number that may change between two ticks, such as a gain
    memory_sum -> next_sum                    a number that one call leaves to the next
    row_legs                                  the row in force of a table over time
    python_needed                             1: this tick is left to the Python form, and the memory stays as it was
    python_hessian                            a number that only the Python form uses

Entries of its record that the function does not give have the values of `otherwise`, or of the record that it changes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import casadi as ca
import numpy as np

from granite.config.errors import InputError, one_of
from granite.config.records import Command, Demand, Reference, State
from granite.kernels.compiled_form import CompiledForm
from granite.kernels.kernel import Array, Kernel

#: before the names of functions that users wrote
OWN = "own_"
#: how many numbers an entry has; a tuple where the record has a tuple of arrays
Size = int | tuple[int, ...]


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


class TimeTable(NamedTuple):
    """Rows of numbers over time, of which a function gets the one in force."""

    times: Array  #: from when on each row is in force [s], ascending; the first one before that too
    rows: Array  #: (times, numbers)
    since: str = ""  #: the memory with the time from which they count; else from the start of the run

    def at(self, t: float) -> Array:
        """The row in force at time t."""
        row: Array = self.rows[max(bisect_right(self.times, t) - 1, 0)]
        return row


class KernelChoice(Protocol):
    """Which of several functions is in force: that of the contact set that the grips report."""

    reports: Array  #: (sets, grips)
    index: Array  #: of the function in force, from tick to tick

    def follow(self, holding: Array) -> int:
        """The index for a report."""


class FunctionPart:
    """One function of named numbers, or one of several with the same names.

    Parameters
    ----------
    verb
        The step that it is: a key of `VERBS`.
    kernel
        The function, whose inputs and outputs have the names above; several with a `choice`, NAME_0 and so on.
    parameters, memory
        The arrays behind `parameter_...` and `memory_...`, by name; both forms use these very arrays.
    sizes
        How many numbers each entry has that may be read or given: `{"state_q": 3, "demand_force": 3}`.
    otherwise
        Values of entries that the function does not give, if not zero.
    tables
        The tables behind `row_...`, by name.
    changes
        Of a part that changes the record of another one: how many numbers the entries of that record have.
    choice
        Which of several functions is in force.

    Raises
    ------
    InputError
        Where a name or size of the function does not fit.
    """

    def __init__(
        self,
        verb: str,
        kernel: Kernel | Sequence[Kernel],
        parameters: Mapping[str, Array],
        memory: Mapping[str, Array],
        sizes: Mapping[str, Size],
        otherwise: Mapping[str, Array] | None = None,
        tables: Mapping[str, TimeTable] | None = None,
        changes: Mapping[str, Size] | None = None,
        choice: KernelChoice | None = None,
    ) -> None:
        self.parameters, self.memory, self.tables = dict(parameters), dict(memory), dict(tables or {})
        self._kernels = [kernel] if isinstance(kernel, Kernel) else list(kernel)
        self._sizes, self._changes, self._verb, self._choice = sizes, changes, VERBS[verb], choice
        f = self._kernels[0].function
        self.name: str = f.name().removesuffix("_0") if choice else f.name()
        self._inputs: list[str] = f.name_in()
        self._outputs: list[str] = f.name_out()
        topic = self._verb.topic
        self._rest = {
            entry: np.array((otherwise or {}).get(entry, np.zeros(_count(size))), dtype=np.float64)
            for name, size in sizes.items()
            if (entry := name.removeprefix(f"{topic}_")) != name and name not in self._outputs and entry != "t"
            if changes is None
        }
        self._refuse_misfits([f.numel_in(i) for i in range(f.n_in())], [f.numel_out(i) for i in range(f.n_out())])

    def run(self, **records: Any) -> Any:
        """The record for these records of the tick."""
        return self.finish(self.evaluate(**records), **records)

    def evaluate(self, **records: Any) -> dict[str, Array]:
        """The function's outputs by name; the memory stays as it was."""
        arguments = [self._argument(port, records) for port in self._inputs]
        kernel = self._kernels[self._choice.follow(records["state"].holding) if self._choice else 0]
        return dict(zip(self._outputs, kernel.split(kernel.run(arguments)), strict=True))

    def finish(self, outputs: Mapping[str, Array], **records: Any) -> Any:
        """Keep the memory of these outputs; the record with them."""
        topic, entries = self._verb.topic, dict(self._rest)
        for port, value in outputs.items():
            kind, _, name = port.partition("_")
            if kind == "next":
                self.memory[name][:] = value.ravel(order="F")
            elif kind == topic:
                entries[name] = value
        shaped = {entry: self._shaped(entry, value) for entry, value in entries.items()}
        if self._changes is None:
            return self._verb.record(records[self._verb.reads[0]].t, **shaped)
        return records[topic]._replace(**shaped) if shaped else records.get(topic)

    def form(self) -> CompiledForm:
        """The same in C."""
        f, topic, choice = self._kernels[0].function, self._verb.topic, self._choice
        binding = [f"k->arg[{i}] = {self._address(port, f.numel_in(i))};" for i, port in enumerate(self._inputs)]
        ends, after = [], 0
        for i, port in enumerate(self._outputs):
            size, kind = f.numel_out(i), port.partition("_")[0]
            if kind == "next" or port in self._inputs:  # a kernel may write an output before it has read all inputs
                ends.append(f"copy({self._address(port, size)}, after + {after}, {size});")
            elif port == "python_needed":
                ends.insert(0, f"if (after[{after}]) return 0;")
            else:
                binding.append(f"k->res[{i}] = {'0' if kind == 'python' else self._address(port, size)};")
                continue
            binding.append(f"k->res[{i}] = after + {after};")
            after += size
        rest = {f"{self.name}_rest_{entry}": value for entry, value in self._rest.items() if value.size}
        filled = [
            f"copy({self._address(f'{topic}_{entry}', value.size)}, p->{self.name}_rest_{entry}, {value.size});"
            for entry, value in self._rest.items()
            if value.size
        ]
        if self._changes is None:
            filled.append(f"row[ROW_{topic.upper()}_T] = row[ROW_{self._verb.reads[0].upper()}_T];")
        chosen, index = [], "0"
        if choice is not None:
            index = "(int)set"
            n_sets, n_grips = choice.reports.shape
            chosen.append(f"double set = m->{self.name}_set[0];")
            if n_grips:
                reports = f"p->{self.name}_sets, {n_sets}, {n_grips}, row + ROW_STATE_HOLDING"
                chosen.append(f"set = equal_row({reports}, set);")
            ends.append(f"m->{self.name}_set[0] = set;")
        lines = [
            f"/* {self.name}, from its declaration. */",
            f"static int {self.name}_step(const struct parameters *p, struct memory *m, const struct kernels *ks, "
            "double *row)",
            "{",
            *(f"    {line}" for line in chosen),
            f"    const struct kernel *k = ks->{self.name} + {index};",
            f"    double after[{after + 1}];",
            *(f"    {line}" for line in [*binding, "evaluate(k);", *ends, *filled, "(void)p, (void)m, (void)after;"]),
            "    return 1;",
            "}",
        ]
        tables = {f"{self.name}_{key}_rows": table.rows for key, table in self.tables.items()}
        times = {f"{self.name}_{key}_times": table.times for key, table in self.tables.items()}
        own = {f"{self.name}_{key}": value for key, value in self.parameters.items()}
        memory = {f"{self.name}_{key}": value for key, value in self.memory.items()}
        if choice is not None:
            own[f"{self.name}_sets"], memory[f"{self.name}_set"] = choice.reports, choice.index
        return CompiledForm(
            ("\n".join(lines),),
            parameters={**own, **rest, **times, **tables},
            memory=memory,
            kernels={self.name: self._kernels},
            entry=f"{self.name}_step",
        )

    def _argument(self, port: str, records: Mapping[str, Any]) -> Array:
        kind, _, name = port.partition("_")
        if kind == "parameter":
            return self.parameters[name]
        if kind == "memory":
            return self.memory[name]
        if kind == "row":
            table = self.tables[name]
            since = self.memory[table.since].item(0) if table.since else 0.0
            return table.at(records[self._verb.reads[0]].t - since)
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
        if kind == "row":
            table, prefix = self.tables[name], f"p->{self.name}_{name}"
            since = f" - m->{self.name}_{table.since}[0]" if table.since else ""
            t = f"row[ROW_{self._verb.reads[0].upper()}_T]{since}"
            return f"{prefix}_rows + {size} * row_in_force({prefix}_times, {len(table.times)}, {t})"
        return f"row + ROW_{port.upper()}" if size else "row"

    def _refuse_misfits(self, sizes_in: list[int], sizes_out: list[int]) -> None:
        reads = {name: _count(size) for name, size in self._sizes.items() if name.startswith(self._verb.reads)}
        gives = {name: _count(size) for name, size in self._sizes.items() if name.startswith(f"{self._verb.topic}_")}
        reads |= {name: _count(size) for name, size in (self._changes or {}).items() if name in gives}
        reads |= {f"parameter_{name}": value.size for name, value in self.parameters.items()}
        reads |= {f"memory_{name}": value.size for name, value in self.memory.items()}
        reads |= {f"row_{name}": table.rows.shape[1] for name, table in self.tables.items()}
        gives |= {f"next_{name}": value.size for name, value in self.memory.items()}
        gives |= {name: n for name, n in zip(self._outputs, sizes_out, strict=True) if name.startswith("python_")}
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
    names = list(inputs), list(outputs)
    # A part may change an entry that it reads.
    return ca.Function(name, list(inputs.values()), list(outputs.values()), *names, {"allow_duplicate_io_names": True})


def _count(size: int | tuple[int, ...]) -> int:
    return sum(size) if isinstance(size, tuple) else size
