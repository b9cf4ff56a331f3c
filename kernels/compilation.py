"""From symbolic functions to machine code: generated as C, compiled, and kept in a cache by content.

Without a compiler, or with GRANITE_NO_COMPILER=1, the same functions run in CasADi's virtual machine.
Contraction to fused multiply-add is switched off, so both ways do the same IEEE operations in the same order:
a log recorded in one replays to the bit in the other.

A cache that can't be written is only read; missing entries are then compiled into a directory of this process, and
where that is full too, the functions run in the virtual machine (`kernels`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import casadi as ca

from granite.config.errors import CompilationError
from granite.kernels import code_cache
from granite.kernels.c_compiler import find_compiler
from granite.kernels.kernel import Kernel
from granite.kernels.library import code_digest, compiled_library, is_portable

#: packages that write functions in symbols, with all that they import to do so
WRITERS = ("calibration", "config", "controllers", "kernels", "mrds", "rt/guard", "sim")

_KEPT_SYMBOLIC = ContextVar("kept_symbolic", default=False)


def compile_functions(name: str, functions: Iterable[ca.Function]) -> dict[str, Kernel]:
    """Compile CasADi functions to machine code, or run them in CasADi's virtual machine.

    Parameters
    ----------
    name
        Label of the generated file.
    functions
        Functions with different names; their outputs are made dense.

    Returns
    -------
    dict[str, Kernel]
        By name of the function.

    Raises
    ------
    CompilationError
        Where the compiler rejects the generated code, takes too long or writes no library.

    Examples
    --------
    >>> x = ca.SX.sym("x", 2)
    >>> kernels = compile_functions("example", [ca.Function("double", [x], [2 * x])])
    >>> kernels["double"].run((np.ones(2),))
    array([2., 2.])
    """
    functions = [_dense(f) for f in functions]
    compiler = _compiler()
    if compiler is None:
        return _interpreted(functions)
    return _loaded(functions, _library(name, functions, compiler))


def compile_once(
    name: str, key: str | None, write: Callable[[], Iterable[ca.Function]], seldom: str | None = None
) -> dict[str, Kernel]:
    """The same, but the functions are written in symbols only where the cache does not have them.

    Writing a model in symbols takes longer than loading its code. An entry in the cache leads from the key, the code
    that writes symbols, the compiler and the processor to the library and the names of its functions.

    Parameters
    ----------
    name
        Label of the generated file.
    key
        Everything that the functions follow from, beside the code of Granite itself; None where that is not known.
    write
        Writes the functions.
    seldom
        The last of them, if it is called so seldom that a quick compilation counts for more than a quick call.
    """
    compiler = _compiler()
    if compiler is None:
        return compile_functions(name, write())
    if key is None:
        functions = [_dense(f) for f in write()]
        return _loaded(functions, _library(name, functions, compiler, seldom))
    digest = code_digest((key, own_code_hash(), ca.CasadiMeta.version()), compiler)
    cache = code_cache.trusted_cache()
    entry = cache / f"{name}-{digest[:24]}.json" if cache else None
    if entry and (kept := _kept(entry)):
        return kept
    functions = [_dense(f) for f in write()]
    library = _library(name, functions, compiler, seldom)
    if entry and library and library.parent == entry.parent:
        with contextlib.suppress(OSError):
            put_entry(entry, json.dumps([library.name, [f.name() for f in functions]]))
    return _loaded(functions, library)


def _kept(entry: Path) -> dict[str, Kernel] | None:
    """The functions that an entry leads to."""
    try:
        file, names = json.loads(code_cache.content_of_entry(entry))
        if library := code_cache.loadable(entry.with_name(file)):
            return {function: Kernel(ca.external(function, str(library)), library) for function in names}
    except (OSError, ValueError, TypeError):
        pass  # not there yet, or damaged: it is written again
    return None


def put_entry(entry: Path, text: str) -> None:
    """Write an entry of the cache, whole or not at all."""
    with code_cache.build_directory(entry) as scratch:
        unfinished = Path(scratch) / entry.name
        unfinished.write_text(text)
        unfinished.chmod(0o600)
        os.replace(unfinished, entry)


def _loaded(functions: list[ca.Function], library: Path | None) -> dict[str, Kernel]:
    """The functions from a library, or as they are where there is none."""
    copy = code_cache.loadable(library) if library else None
    if copy is None:
        return _interpreted(functions)
    return {f.name(): Kernel(ca.external(f.name(), str(copy)), copy) for f in functions}


def _interpreted(functions: list[ca.Function]) -> dict[str, Kernel]:
    """The functions in CasADi's virtual machine, which has the machine's own sin and cos."""
    if is_portable() and not _KEPT_SYMBOLIC.get():
        raise CompilationError("GRANITE_PORTABLE=1 needs a C compiler")
    return {f.name(): Kernel(f) for f in functions}


def mode() -> str:
    """How functions are evaluated on this machine: `compiled`, `portable` (compiled) or `virtual machine`."""
    return "virtual machine" if _compiler() is None else "portable" if is_portable() else "compiled"


def _dense(function: ca.Function) -> ca.Function:
    """The function with dense outputs, so that its buffers are plain arrays."""
    symbols: list[Any] = function.sx_in() if function.is_a("SXFunction") else function.mx_in()
    results = [ca.densify(result) for result in function.call(symbols)]
    names = function.name(), function.name_in(), function.name_out()
    # A part may change an entry that it reads: an input and an output then have the same name.
    options = {"cse": True, "allow_duplicate_io_names": True}
    return ca.Function(names[0], symbols, results, *names[1:], options)


def c_source(name: str, functions: Mapping[str, ca.Function]) -> str:
    """The C code that the library compiles, each function by its key with `name` before it."""
    named = []
    for key, function in functions.items():
        dense = _dense(function)
        symbols: list[Any] = dense.sx_in() if dense.is_a("SXFunction") else dense.mx_in()
        ports, options = (dense.name_in(), dense.name_out()), {"allow_duplicate_io_names": True}
        named.append(ca.Function(f"{name}_{key}", symbols, dense.call(symbols), *ports, options))
    return _generate(name, named)


@contextlib.contextmanager
def kept_symbolic() -> Iterator[None]:
    """A context in which kernels are not compiled, so that `c_source` can write them."""
    kept = _KEPT_SYMBOLIC.set(True)
    try:
        yield
    finally:
        _KEPT_SYMBOLIC.reset(kept)


def _compiler() -> str | None:
    return None if _KEPT_SYMBOLIC.get() else find_compiler()


def _generate(name: str, functions: list[ca.Function], seldom: str | None = None) -> str:
    generator = ca.CodeGenerator(f"{name}.c")
    for function in functions:
        generator.add(function)
    before, head, after = str(generator.dump()).partition(f"/* {seldom}:(")
    return f'{before}#pragma GCC optimize ("O0")\n{head}{after}' if head else before


@functools.cache
def own_code_hash() -> str:
    """Hash of the source of the packages that write symbolic functions: commands and plots may change."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]  # the package: its folders are beside this one
    for package in WRITERS:
        for file in sorted((root / package).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _library(name: str, functions: list[ca.Function], compiler: str, seldom: str | None = None) -> Path | None:
    """The library of the functions, from the cache or compiled; None where no disk has room for it."""
    return compiled_library(name, _generate(name, functions, seldom), [f.name() for f in functions], compiler)
