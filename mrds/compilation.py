"""From symbolic functions to machine code: generated as C, compiled, and kept in a cache by content.

Without a compiler, or with GRANITE_NO_COMPILER=1, the same functions run in CasADi's virtual machine.
Contraction to fused multiply-add is switched off, so both ways do the same IEEE operations in the same order:
a log recorded in one replays to the bit in the other.

The cache lives in GRANITE_CACHE, else in XDG_CACHE_HOME/granite, else in ~/.cache/granite. Its entries are
named by a hash of source, compiler, flags and processor, and appear by an atomic rename: two processes may
compile at once, and the later one replaces a file with an equal one. A cache that cannot be written is only
read; missing entries are then compiled into a directory of this process. Each entry ends with its own checksum,
because loading a truncated library kills the process: an entry that does not match is compiled again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import casadi as ca

from granite.config.errors import CompilationError as CompilationError
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
        Where the compiler rejects the generated code.

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
    source = _generate(name, functions)
    library = _library(name, source, compiler)
    return {f.name(): Kernel(ca.external(f.name(), str(library))) for f in functions}


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
    entry = cache_directory() / f"{name}-{digest[:24]}.json"
    try:
        file, names = json.loads(entry.read_text())
        library = cache_directory() / file
        if _is_intact(library):
            return {function: Kernel(ca.external(function, str(library))) for function in names}
    except (OSError, ValueError, TypeError):
        pass  # not there yet, or damaged: it is written again
    functions = [_dense(f) for f in write()]
    library = _library(name, _generate(name, functions), compiler)
    if library.parent == cache_directory():
        with contextlib.suppress(OSError):
            unfinished = entry.with_suffix(f".{os.getpid()}")
            unfinished.write_text(json.dumps([library.name, [f.name() for f in functions]]))
            os.replace(unfinished, entry)
    return {f.name(): Kernel(ca.external(f.name(), str(library))) for f in functions}


@contextmanager
def on_compile(callback: Callable[[str], None]) -> Iterator[None]:
    """A context in which `callback` is called with the name of each file before it is compiled."""
    _CALLBACKS.append(callback)
    try:
        yield
    finally:
        _CALLBACKS.remove(callback)


def find_compiler() -> str | None:
    """Path of the C compiler (CC, cc, gcc or clang); None where there is none or GRANITE_NO_COMPILER is set."""
    if os.environ.get("GRANITE_NO_COMPILER", "0") not in ("", "0"):
        return None
    return _found_compiler(os.environ.get("CC"), os.environ.get("PATH"))


@functools.cache
def _found_compiler(own: str | None, path: str | None) -> str | None:
    for candidate in (own, "cc", "gcc", "clang"):
        found = shutil.which(candidate, path=path) if candidate else None
        if found:
            return found
    return None


def mode() -> str:
    """How functions are evaluated on this machine: `compiled` or `virtual machine`."""
    return "virtual machine" if find_compiler() is None else "compiled"


def cache_directory() -> Path:
    """Directory of compiled functions."""
    own = os.environ.get("GRANITE_CACHE")
    if own:
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "granite"


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
    """Hash of what compiled code follows from, beside the processor's own: compiler, flags and CasADi."""
    parts = (*content, _version(compiler), *FLAGS, ca.CasadiMeta.version(), _processor())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@functools.cache
def _own_code() -> str:
    """Hash of the source of every package of Granite: what is written in symbols follows from it."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]  # the package: its folders are beside this one
    for folder, _, files in sorted(os.walk(root, followlinks=True)):
        for file in sorted(files):
            if file.endswith(".py"):
                digest.update(Path(folder, file).read_bytes())
    return digest.hexdigest()


def _library(name: str, source: str, compiler: str) -> Path:
    digest = _digest((source,), compiler)
    file = f"{name}-{digest[:24]}.so"
    kept = cache_directory() / file
    if _is_intact(kept):
        return kept
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        return _compile(name, source, compiler, kept)
    except OSError:
        own = _private_directory() / file
        return own if _is_intact(own) else _compile(name, source, compiler, own)


def _compile(name: str, source: str, compiler: str, target: Path) -> Path:
    """Compile beside the target and rename it there, so that no process ever finds a partial library."""
    for callback in _CALLBACKS:
        callback(name)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".building-") as scratch:
        code, library = Path(scratch) / "model.c", Path(scratch) / "model.so"
        code.write_text(source)
        command = [compiler, *FLAGS, str(code), "-o", str(library), "-lm"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            words = run.stderr.strip()[:2000] or f"it ended with code {run.returncode} and no message"
            raise CompilationError(f"{compiler} could not compile {target.stem}: {words}")
        content = library.read_bytes()
        library.write_bytes(content + hashlib.sha256(content).digest())  # loaders ignore bytes after the library
        os.replace(library, target)
    return target


def _is_intact(library: Path) -> bool:
    """Whether the file exists and ends with the checksum of its content."""
    try:
        content = library.read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-32]).digest() == content[-32:]


@functools.cache
def _version(compiler: str) -> str:
    run = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return run.stdout.splitlines()[0] if run.stdout else compiler


@functools.cache
def _processor() -> str:
    """The processor, on which -march=native depends: a cache on a shared disk may serve several machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))


@functools.cache
def _private_directory() -> Path:
    """A directory of this process, for a cache that cannot be written; deleted when the process ends."""
    holder = tempfile.TemporaryDirectory(prefix="granite-")
    _HELD.append(holder)
    return Path(holder.name)


_CALLBACKS: list[Callable[[str], None]] = []
_HELD: list[tempfile.TemporaryDirectory[str]] = []
