"""The compiled form of a part: its C file beside its Python file, calling the same kernels on an explicit memory.

Both forms do the same IEEE operations in the same order, so their results are equal to the bit; a test compares them on
every controlled testbed. A part lists here what its C file needs; all names are macros or members there:

- `sizes` and `tables`: numbers and arrays of integers that follow from the testbed, as constants;
- `parameters`: numbers that may be changed without compiling again, such as gains, in `struct parameters`;
- `memory`: the numbers that a call leaves to the next one, with their start values, in `struct memory`;
- `kernels`: CasADi's compiled functions by name, several of a name where there are several devices, None for a device
  that calls none.

A part with a memory continues in Python from that of its compiled form by `adopt(memory)`. A part whose compiled form
may leave a tick to Python has `give_back(memory)` besides, after which the compiled form continues.
Records pass from part to part in the row of the log, by the offsets `ROW_...`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from granite.kernels.kernel import Array, Kernel
from granite.kernels.library import compile_source

#: file with what every C file uses
HEADER = Path(__file__).with_name("compiled_form.h")


@dataclass(frozen=True)
class CompiledForm:
    """What the C files of a part need."""

    sources: tuple[Path, ...]
    sizes: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Sequence[int]] = field(default_factory=dict)
    parameters: Mapping[str, Array] = field(default_factory=dict)
    memory: Mapping[str, Array] = field(default_factory=dict)
    kernels: Mapping[str, Sequence[Kernel | None]] = field(default_factory=dict)


class CompiledParts:
    """Parts in one library, and one set of their parameters and memory.

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
        Views of the numbers by name: what is written here is used by the next call.
    """

    def __init__(self, name: str, forms: Sequence[CompiledForm]) -> None:
        parameters, memory, kernels = (
            {key: value for form in forms for key, value in getattr(form, what).items()}
            for what in ("parameters", "memory", "kernels")
        )
        self._library = compile_source(name, source_of(forms))
        self.parameters, self._parameters = _block(parameters)
        self.memory, self._memory = _block(memory)
        self._start = self._memory.copy()
        self._scratch: list[Any] = []  # kept as long as the pointers to it
        pointers = [list(self._pointers(k)) for several in kernels.values() for k in several or [None]]
        self._kernels = np.array(pointers, dtype=np.uint64)
        self._addresses = tuple(block.ctypes.data for block in (self._parameters, self._memory, self._kernels))

    def restart(self) -> None:
        """Set the memory to its start values."""
        self._memory[:] = self._start

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
        assert kernel.library is not None, "kernels of compiled parts are compiled"
        library, name = ctypes.CDLL(str(kernel.library)), kernel.function.name()
        yield ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        f = kernel.function
        for size in (f.sz_arg(), f.sz_res(), f.sz_iw(), f.sz_w()):
            space = np.zeros(size + 1)
            self._scratch += [library, space]
            yield space.ctypes.data


def source_of(forms: Sequence[CompiledForm]) -> str:
    """The C source of a library."""
    lines = [HEADER.read_text()]
    for form in forms:
        lines += [f"#define {key} {value}" for key, value in form.sizes.items()]
        lines += [f"static const int {key}[] = {{{_listed(table)}}};" for key, table in form.tables.items()]
    for what in ("parameters", "memory"):
        members = [
            f"    double {key}[{max(1, value.size)}];" for form in forms for key, value in getattr(form, what).items()
        ]
        lines += [f"struct {what} {{", *(members or ["    double none[1];"]), "};"]
    several = [f"    struct kernel {key}[{len(k) or 1}];" for form in forms for key, k in form.kernels.items()]
    lines += ["struct kernels {", *several, "};"]
    lines += [path.read_text() for form in forms for path in form.sources]
    return "\n".join(lines)


def _listed(table: Sequence[int]) -> str:
    return ", ".join(map(str, table)) or "0"


def _block(parts: Mapping[str, Array]) -> tuple[dict[str, Array], Array]:
    """Arrays one after the other in one block, as in the struct of the same members; and views of them by name."""
    sizes = [max(1, value.size) for value in parts.values()]
    block, at, views = np.zeros(max(1, sum(sizes))), 0, {}
    for (name, value), size in zip(parts.items(), sizes, strict=True):
        views[name] = block[at : at + value.size]
        views[name][:] = value.ravel()
        at += size
    return views, block
