"""Libraries of C code: compiled once, and kept in a cache by content.

Entries of the cache (`code_cache.py`) are named by a hash of source, compiler, flags and processor, and appear by an
atomic rename: two processes may compile at once, and the later one replaces a file with an equal one. A cache that
can't be written is only read; missing entries are then compiled into a directory of this process. Each entry ends with
its own checksum, because loading a truncated library kills the process: an entry that does not match is compiled again.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from granite.config.errors import CompilationError
from granite.kernels import code_cache
from granite.kernels.c_compiler import compile_library, find_compiler, refuse_junk, version_of

#: generated code is one straight line: -O1 runs as fast as -O3 and compiles in less than half the time; tests
#: that run most of it but once take another level, with the same bits
_OPTIMISATION = os.environ.get("GRANITE_OPTIMISATION") or "-O1"
FLAGS = (_OPTIMISATION, "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared")

#: what exported code, and compiled code with GRANITE_PORTABLE=1, has in place of the machine's sin, cos, exp and hypot
ELEMENTARY = Path(__file__).with_name("elementary.c")


def is_portable() -> bool:
    """Whether compiled code has the functions of `elementary.c`, whose bits depend on no processor or C library."""
    return os.environ.get("GRANITE_PORTABLE", "0") not in ("", "0")


def compile_source(name: str, source: str) -> ctypes.CDLL:
    """A library of C code, compiled or from the cache.

    Raises
    ------
    CompilationError
        Where there is no compiler, or it rejects the code.
    """
    compiler = find_compiler()
    library = compiled_library(name, source, (), compiler) if compiler else None
    library = code_cache.loadable(library) if library else None
    if library is None:
        raise CompilationError(f"{name} can't be compiled: no compiler, or no disk has room for it")
    return ctypes.CDLL(str(library))


def compiled_library(name: str, source: str, names: Iterable[str], compiler: str) -> Path | None:
    """The library with these functions, from the cache or compiled; None where no disk has room for it."""
    if is_portable():
        source = f'#include "{ELEMENTARY}"\n{source}'
    file = f"{name}-{code_digest((source,), compiler)[:24]}.so"

    def compile_to(library: Path) -> None:
        logging.getLogger("granite").info("granite: compiling %s", name)
        for callback in _CALLBACKS:
            callback(name)
        code = library.with_suffix(".c")
        code.write_text(source)
        compile_library(compiler, FLAGS, code, library, library.stem)
        library.chmod(0o600)
        refuse_junk(library, names, compiler, library.stem)

    try:
        return cached_file(file, compile_to)
    except OSError as error:
        reason = error.strerror or str(error)
    code_cache.warn(f"the model runs in the virtual machine, because no compiled code can be written ({reason})")
    return None


def cached_file(file: str, compile_to: Callable[[Path], None]) -> Path:
    """A compiled file, from the cache or compiled.

    Parameters
    ----------
    file
        Its name, with a digest of everything that it depends on.
    compile_to
        Writes it at a path.

    Raises
    ------
    OSError
        Where no disk has room for it.
    """
    cache = code_cache.trusted_cache()
    if cache and code_cache.is_intact(cache / file):
        return cache / file
    failure = OSError("no cache")
    for directory_of in (code_cache.open_cache, code_cache.private_directory):
        try:
            directory = directory_of()
            if directory is not None:
                target = directory / file
                return target if code_cache.is_intact(target) else _compile(target, compile_to)
        except OSError as error:
            failure = error
    raise failure


def _compile(target: Path, compile_to: Callable[[Path], None]) -> Path:
    """Compile beside the target and rename it there, so that no process ever finds a part of it."""
    with code_cache.build_directory(target) as scratch:
        made = Path(scratch) / target.name
        compile_to(made)
        content = made.read_bytes()
        with made.open("ab") as whole:
            whole.write(code_cache.checksum(content))  # loaders ignore bytes after the code
        os.replace(made, target)
    return target


@contextmanager
def on_compile(callback: Callable[[str], None]) -> Iterator[None]:
    """A context in which `callback` is called with the name of each file before it is compiled."""
    _CALLBACKS.append(callback)
    try:
        yield
    finally:
        _CALLBACKS.remove(callback)


def code_digest(content: Iterable[str], compiler: str) -> str:
    """Hash of the content and of everything else that compiled code depends on: compiler, flags, processor."""
    functions = (ELEMENTARY.with_suffix(".h"), ELEMENTARY) if is_portable() else ()
    parts = (*content, *(file.read_text() for file in functions), version_of(compiler), *FLAGS, _processor())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


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
