"""The compiled form of a part: its C beside its Python, calling the same kernels on the same numbers.

Both forms do the same IEEE operations in the same order, so their results are equal to the bit; a test compares them on
every controlled testbed. A part lists here what its C needs; all names are macros or members there:

- `sizes` and `tables`: numbers and arrays of integers that follow from the testbed, as constants;
- `parameters`: numbers that may be changed without compiling again, such as gains, in `struct parameters`;
- `memory`: the numbers that a call leaves to the next one, in `struct memory`;
- `kernels`: CasADi's compiled functions by name, several of a name where there are several devices, None for a device
  that calls none.

Parameters and memory are the part's own arrays, which both forms read and write in place: a tick may be of one form and
the next of the other, and a gain that changes in Python has changed in C. Records pass from part to part in the row of
the log, by the offsets `ROW_...`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from granite.kernels.kernel import Array, Kernel
from granite.kernels.library import compile_source

#: file with what every C file uses
HEADER = Path(__file__).with_name("compiled_form.h")


@dataclass(frozen=True)
class CompiledForm:
    """What the C code of a part needs."""

    #: files, or text that was generated
    sources: tuple[Path | str, ...]
    sizes: Mapping[str, float | str] = field(default_factory=dict)
    tables: Mapping[str, Sequence[int]] = field(default_factory=dict)
    parameters: Mapping[str, Array] = field(default_factory=dict)
    memory: Mapping[str, Array] = field(default_factory=dict)
    kernels: Mapping[str, Sequence[Kernel | None]] = field(default_factory=dict)
    #: the C function of the part's step
    entry: str = ""


def form_of(part: Any, verb: str) -> CompiledForm | None:
    """The compiled form of a part; none of a subclass that has another method than the class of the form."""
    classes = type(part).__mro__
    of_form = next((i for i, kind in enumerate(classes) if "compiled_form" in vars(kind)), None)
    of_verb = next((i for i, kind in enumerate(classes) if verb in vars(kind)), 0)
    form: CompiledForm | None = part.compiled_form() if of_form is not None and of_form <= of_verb else None
    return form


def in_turn(name: str, forms: Sequence[CompiledForm | None]) -> CompiledForm | None:
    """Parts that change the same record one after the other, as one; None where one has no form."""
    known = [form for form in forms if form is not None]
    if len(known) < len(forms):
        return None
    calls = " && ".join(f"{form.entry}(p, m, ks, row)" for form in known)
    head = f"static int {name}(const struct parameters *p, struct memory *m, const struct kernels *ks, double *row)"
    return joined_forms(name, [*known, CompiledForm((f"{head}\n{{\n    return {calls};\n}}",))])


def joined_forms(entry: str, forms: Sequence[CompiledForm]) -> CompiledForm:
    """Several forms as one, whose function is `entry`."""
    joined = CompiledForm((), entry=entry)
    for form in forms:
        joined = CompiledForm(
            (*joined.sources, *form.sources),
            {**joined.sizes, **form.sizes},
            {**joined.tables, **form.tables},
            {**joined.parameters, **form.parameters},
            {**joined.memory, **form.memory},
            {**joined.kernels, **form.kernels},
            entry,
        )
    return joined


class CompiledParts:
    """Parts in one library.

    Parameters
    ----------
    name
        Label of the library.
    forms
        In an order in which a C file may use the ones before it.

    Raises
    ------
    CompilationError
        Where the compiler rejects the code.

    Attributes
    ----------
    parameters, memory
        The arrays of the parts by name.
    """

    def __init__(self, name: str, forms: Sequence[CompiledForm]) -> None:
        self._library = compile_source(name, source_of(forms))
        self.parameters = {key: value for form in forms for key, value in form.parameters.items()}
        self.memory = {key: value for form in forms for key, value in form.memory.items()}
        self._start = {key: value.copy() for key, value in self.memory.items()}
        self._scratch: list[Any] = []  # kept as long as the pointers to it
        several = [kernels for form in forms for kernels in form.kernels.values()]
        pointers = [list(self._pointers(kernel)) for kernels in several for kernel in kernels or [None]]
        self._structs = _addresses(self.parameters), _addresses(self.memory), np.array(pointers, dtype=np.uint64)
        self._addresses = tuple(struct.ctypes.data for struct in self._structs)

    def restart(self) -> None:
        """Set the memory to its start values."""
        for key, start in self._start.items():
            if start.size:
                self.memory[key][:] = start

    def function(self, name: str, *arguments: Any) -> Any:
        """A function of the library: (parameters, memory, kernels, more arguments) -> int, called with the latter."""
        function = getattr(self._library, name)
        function.argtypes = [ctypes.c_void_p] * 3 + [*arguments]
        function.restype = ctypes.c_int
        return function, self._addresses

    def _pointers(self, kernel: Kernel | None) -> Iterator[int]:
        """Function, arguments, results and work space of a kernel, as `struct kernel` has them."""
        if kernel is None:  # a member that is never used
            yield from (0, 0, 0, 0, 0)
            return
        assert kernel.library is not None, f"kernel '{kernel.function.name()}' of a compiled part is not compiled"
        library, name = ctypes.CDLL(str(kernel.library)), kernel.function.name()
        yield ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        f = kernel.function
        for size in (f.sz_arg(), f.sz_res(), f.sz_iw(), f.sz_w()):
            space = np.zeros(max(size, 1))
            self._scratch += [library, space]
            yield space.ctypes.data


def source_of(forms: Sequence[CompiledForm]) -> str:
    """The C source of a library."""
    lines = [HEADER.read_text()]
    for form in forms:
        lines += [f"#define {key} {value}" for key, value in form.sizes.items()]
        lines += [f"static const int {key}[] = {{{_listed(table)}}};" for key, table in form.tables.items()]
    for what in ("parameters", "memory"):
        members = [f"    double *{key};" for form in forms for key in getattr(form, what)]
        lines += [f"struct {what} {{", *(members or ["    double *none;"]), "};"]
    several = [f"    struct kernel {key}[{len(k) or 1}];" for form in forms for key, k in form.kernels.items()]
    lines += ["struct kernels {", *several, "};"]
    for form in forms:
        lines += [source if isinstance(source, str) else source.read_text() for source in form.sources]
    return "\n".join(lines)


class HasMemory(Protocol):
    """A device of several, each with its block of numbers."""

    memory: Array


def joined_memory(parts: Sequence[HasMemory]) -> Array:
    """One block of the memories of several parts, which are views of it from then on."""
    block, first = np.concatenate([np.zeros(0), *(part.memory for part in parts)]), 0
    for part in parts:
        part.memory = block[first : first + len(part.memory)]
        first += len(part.memory)
    return block


def _listed(table: Sequence[int]) -> str:
    return ", ".join(map(str, table)) or "0"


def _addresses(arrays: Mapping[str, Array]) -> NDArray[np.uint64]:
    """The struct of pointers to these arrays."""
    for name, array in arrays.items():
        fits = array.dtype == np.float64 and array.flags.c_contiguous
        assert fits, f"{name} is not a block of float64 numbers"
    return np.array([array.ctypes.data for array in arrays.values()] or [0], dtype=np.uint64)
