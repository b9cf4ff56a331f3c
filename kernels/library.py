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
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from granite.config.errors import CompilationError
from granite.kernels import code_cache
from granite.kernels.c_compiler import compile_library, find_compiler, refuse_junk, version_of

#: generated code is one straight line: -O1 runs as fast as -O3 and compiles in less than half the time
FLAGS = ("-O1", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared")


def compile_source(name: str, source: str) -> ctypes.CDLL:
    """A library of C code, compiled or from the cache.

    Raises
    ------
    CompilationError
        Where there is no compiler, or it rejects the code.
    """
    compiler = find_compiler()
    library = compiled_library(name, source, (), compiler) if compiler else None
    if library is None:
        raise CompilationError(f"{name} can't be compiled: no compiler, or no disk has room for it")
    return ctypes.CDLL(str(library))


def compiled_library(name: str, source: str, names: Iterable[str], compiler: str) -> Path | None:
    """The library with these functions, from the cache or compiled; None where no disk has room for it."""
    file = f"{name}-{code_digest((source,), compiler)[:24]}.so"
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


def _compile(name: str, source: str, compiler: str, target: Path, functions: Iterable[str]) -> Path:
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
    parts = (*content, version_of(compiler), *FLAGS, _processor())
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
