"""From symbolic functions to machine code: generated as C, compiled, and kept in a cache by content.

Without a compiler, or with GRANITE_NO_COMPILER=1, the same functions run in CasADi's virtual machine.
Contraction to fused multiply-add is switched off, so both ways do the same IEEE operations in the same order:
a log recorded in one replays to the bit in the other.

Entries of the cache (`code_cache.py`) are named by a hash of source, compiler, flags and processor, and appear by an
atomic rename: two processes may compile at once, and the later one replaces a file with an equal one. A cache that
can't be written is only read; missing entries are then compiled into a directory of this process, and where that is
full too, the functions run in the virtual machine. Each entry ends with its own checksum, because loading a truncated
library kills the process: an entry that does not match is compiled again.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import casadi as ca

from granite.config.errors import CompilationError as CompilationError
from granite.mrds import code_cache
from granite.mrds.code_cache import cache_directory as cache_directory
from granite.mrds.compiler import compile_library, refuse_junk, version_of
from granite.mrds.compiler import find_compiler as find_compiler
from granite.mrds.kernel import Kernel

#: generated code is one straight line: -O1 runs as fast as -O3 and compiles in less than half the time
FLAGS = ("-O1", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared")


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
    compiler = find_compiler()
    if compiler is None:
        return {f.name(): Kernel(f) for f in functions}
    return _loaded(functions, _library(name, functions, compiler))


def compile_once(name: str, key: str | None, write: Callable[[], Iterable[ca.Function]]) -> dict[str, Kernel]:
    """The same, but the functions are written in symbols only where the cache does not have them.

    Writing a model in symbols takes longer than loading its code. An entry in the cache leads from the key, the code of
    Granite, the compiler and the processor to the library and the names of its functions.

    Parameters
    ----------
    name
        Label of the generated file.
    key
        Everything that the functions follow from, beside the code of Granite itself; None where that is not known.
    write
        Writes the functions.
    """
    compiler = find_compiler()
    if compiler is None or key is None:
        return compile_functions(name, write())
    digest = _digest((key, _own_code()), compiler)
    cache = code_cache.trusted_cache()
    entry = cache / f"{name}-{digest[:24]}.json" if cache else None
    if entry and (kept := _kept(entry)):
        return kept
    functions = [_dense(f) for f in write()]
    library = _library(name, functions, compiler)
    if entry and library and library.parent == entry.parent:
        with contextlib.suppress(OSError):
            _put(entry, json.dumps([library.name, [f.name() for f in functions]]))
    return _loaded(functions, library)


def _kept(entry: Path) -> dict[str, Kernel] | None:
    """The functions that an entry leads to."""
    try:
        file, names = json.loads(code_cache.content_of_entry(entry))
        library = entry.with_name(file)
        if code_cache.is_intact(library):
            return {function: Kernel(ca.external(function, str(library)), library) for function in names}
    except (OSError, ValueError, TypeError):
        pass  # not there yet, or damaged: it is written again
    return None


def _put(entry: Path, text: str) -> None:
    with code_cache.build_directory(entry) as scratch:
        unfinished = Path(scratch) / entry.name
        unfinished.write_text(text)
        unfinished.chmod(0o600)
        os.replace(unfinished, entry)


def _loaded(functions: list[ca.Function], library: Path | None) -> dict[str, Kernel]:
    """The functions from a library, or as they are where there is none."""
    if library is None:
        return {f.name(): Kernel(f) for f in functions}
    return {f.name(): Kernel(ca.external(f.name(), str(library)), library) for f in functions}


@contextmanager
def on_compile(callback: Callable[[str], None]) -> Iterator[None]:
    """A context in which `callback` is called with the name of each file before it is compiled."""
    _CALLBACKS.append(callback)
    try:
        yield
    finally:
        _CALLBACKS.remove(callback)


def mode() -> str:
    """How functions are evaluated on this machine: `compiled` or `virtual machine`."""
    return "virtual machine" if find_compiler() is None else "compiled"


def _dense(function: ca.Function) -> ca.Function:
    """The function with dense outputs, so that its buffers are plain arrays."""
    symbols: list[Any] = function.sx_in() if function.is_a("SXFunction") else function.mx_in()
    results = [ca.densify(result) for result in function.call(symbols)]
    names = function.name(), function.name_in(), function.name_out()
    return ca.Function(names[0], symbols, results, *names[1:], {"cse": True})


def _generate(name: str, functions: list[ca.Function]) -> str:
    generator = ca.CodeGenerator(f"{name}.c")
    for function in functions:
        generator.add(function)
    return str(generator.dump())


def _digest(content: Iterable[str], compiler: str) -> str:
    """Hash of the content and of everything else that compiled code depends on: compiler, flags, CasADi, processor."""
    parts = (*content, version_of(compiler), *FLAGS, ca.CasadiMeta.version(), _processor())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@functools.cache
def _own_code() -> str:
    """Hash of the source of every package of Granite: symbolic functions depend on it."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]  # the package: its folders are beside this one
    for folder, _, files in sorted(os.walk(root, followlinks=True)):
        for file in sorted(files):
            if file.endswith(".py"):
                digest.update(Path(folder, file).read_bytes())
    return digest.hexdigest()


def compile_source(name: str, source: str) -> ctypes.CDLL:
    """A library of C code, compiled or from the cache.

    Raises
    ------
    CompilationError
        Where there is no compiler, or it rejects the code.
    """
    compiler = find_compiler()
    library = _compiled(name, source, [], compiler) if compiler else None
    if library is None:
        raise CompilationError(f"{name} can't be compiled: no compiler, or no disk has room for it")
    return ctypes.CDLL(str(library))


def _library(name: str, functions: list[ca.Function], compiler: str) -> Path | None:
    """The library of the functions, from the cache or compiled; None where no disk has room for it."""
    return _compiled(name, _generate(name, functions), [f.name() for f in functions], compiler)


def _compiled(name: str, source: str, names: list[str], compiler: str) -> Path | None:
    file = f"{name}-{_digest((source,), compiler)[:24]}.so"
    cache = code_cache.trusted_cache()
    if cache and code_cache.is_intact(cache / file):
        return cache / file
    reason = ""
    for place in (code_cache.open_cache, code_cache.private_directory):
        try:
            directory = place()
            if directory is None:
                continue
            library = directory / file
            return library if code_cache.is_intact(library) else _compile(name, source, compiler, library, names)
        except OSError as error:
            reason = error.strerror or str(error)
    code_cache.warn(f"the model runs in the virtual machine, because no compiled code can be written ({reason})")
    return None


def _compile(name: str, source: str, compiler: str, target: Path, functions: list[str]) -> Path:
    """Compile beside the target and rename it there, so that no process ever finds a partial library."""
    for callback in _CALLBACKS:
        callback(name)
    with code_cache.build_directory(target) as scratch:
        code, library = Path(scratch) / "model.c", Path(scratch) / "model.so"
        code.write_text(source)
        compile_library(compiler, FLAGS, code, library, target.stem)
        content = library.read_bytes()
        with library.open("ab") as whole:
            whole.write(code_cache.checksum(content))  # loaders ignore bytes after the library
        library.chmod(0o600)
        refuse_junk(library, functions, compiler, target.stem)
        os.replace(library, target)
    return target


@functools.cache
def _processor() -> str:
    """The processor, on which -march=native depends: a cache on a shared disk may serve several machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))


_CALLBACKS: list[Callable[[str], None]] = []
