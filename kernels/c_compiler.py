"""The C compiler of this machine: which one, its version, and one call of it with a time limit."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from granite.config.errors import CompilationError

#: a large model takes some ten seconds on a slow machine [s]
TIME_LIMIT = 600.0
_VERSION_LIMIT = 20.0
_LONGEST = 2000


def find_compiler() -> str | None:
    """Command of the C compiler (CC, cc, gcc or clang); None where there is none or GRANITE_NO_COMPILER is set.

    CC may have arguments, as in `CC="ccache gcc"`.
    """
    if os.environ.get("GRANITE_NO_COMPILER", "0") not in ("", "0"):
        return None
    return _found_compiler(os.environ.get("CC"), os.environ.get("PATH"))


@functools.cache
def _found_compiler(own: str | None, path: str | None) -> str | None:
    for candidate in (own, "cc", "gcc", "clang"):
        for program, *arguments in _readings(candidate or ""):
            if compiler := shutil.which(program, path=path):
                return shlex.join([compiler, *arguments])
    return None


def _readings(command: str) -> list[list[str]]:
    """A command as one program, whose path may have spaces, and as a program with arguments."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that is not closed
        words = []
    return [[command], *([words] if len(words) > 1 else [])]


@functools.cache
def version_of(compiler: str) -> str:
    """What the compiler calls itself, with its arguments."""
    said = _call([*shlex.split(compiler), "--version"], compiler, "its version", _VERSION_LIMIT)
    return f"{compiler} {said.stdout.splitlines()[0]}" if said.stdout else compiler


def compile_library(compiler: str, flags: Sequence[str], code: Path, library: Path, what: str) -> None:
    """Compile a file of C to a shared library.

    Raises
    ------
    CompilationError
        Where the compiler rejects the code, takes too long or writes no library; it is named.
    OSError
        Where the disk is full.
    """
    command = [*shlex.split(compiler), *flags, str(code), "-o", str(library), "-lm"]
    said = _call(command, compiler, what, TIME_LIMIT)
    if said.returncode != 0:
        if os.strerror(errno.ENOSPC) in said.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        words = said.stderr.strip()[:_LONGEST] or f"it ended with code {said.returncode} and no message"
        raise CompilationError(f"{compiler} could not compile {what}: {words}")
    if not library.is_file():
        raise CompilationError(f"{compiler} could not compile {what}: it wrote no library")


def refuse_junk(library: Path, functions: Iterable[str], compiler: str, what: str) -> None:
    """Raise where a new library can't be loaded or lacks a function."""
    try:
        loaded = ctypes.CDLL(str(library))
    except OSError as error:
        raise CompilationError(f"{compiler} could not compile {what}: it wrote no library ({error})") from None
    for name in functions:
        if not hasattr(loaded, name):
            raise CompilationError(f"{compiler} could not compile {what}: its library has no '{name}'")


def _call(command: Sequence[str], compiler: str, what: str, limit: float) -> subprocess.CompletedProcess[str]:
    """Run the compiler in a process group of its own: the programs that it starts end with it."""
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, errors="replace", process_group=0
        )
    except OSError as error:
        if error.errno not in (errno.ENOEXEC, errno.EACCES, errno.ENOENT):
            raise
        raise CompilationError(f"{compiler} can't be started ({error.strerror})") from None
    with process:
        try:
            output, errors = process.communicate(timeout=limit)
        except BaseException as reason:
            with contextlib.suppress(ProcessLookupError):  # it has ended since; the reason must not be lost
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(reason, subprocess.TimeoutExpired):
                raise CompilationError(f"{compiler} did not finish {what} in {limit:g} s") from None
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)
