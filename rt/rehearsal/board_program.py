"""The firmware as a program of this computer, compiled on first use into the cache of compiled functions."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from granite.config.errors import InputError
from granite.kernels import code_cache
from granite.kernels.c_compiler import compile_library, find_compiler, version_of

_SOURCES = Path(__file__).parents[2] / "firmware"
_FLAGS = ("-std=c99", "-O2")


def board_program() -> Path:
    """The host build of the firmware (`granite-board`), ready to be started.

    Raises
    ------
    InputError
        Where there is no C compiler, or no place for the program.
    CompilationError
        Where the compiler fails.
    """
    compiler = find_compiler()
    if compiler is None:
        why = "GRANITE_NO_COMPILER is set" if os.environ.get("GRANITE_NO_COMPILER", "0") not in ("", "0") else ""
        problem = f"no C compiler{f' ({why})' if why else ''}: emulated boards are compiled from the firmware"
        raise InputError(problem, expected="cc, gcc or clang on the PATH, or CC (sudo apt install gcc)")
    files = sorted(file for folder in ("core", "host", "boards") for file in (_SOURCES / folder).glob("*.[ch]"))
    content = b"\0".join(file.read_bytes() for file in files)
    key = hashlib.sha256(content + version_of(compiler).encode() + " ".join(_FLAGS).encode()).hexdigest()[:24]
    reason = ""
    for place in (code_cache.open_cache, code_cache.private_directory):
        try:
            directory = place()
            if directory is None:
                continue
            program = directory / f"granite-board-{key}"
            return program if code_cache.is_intact(program) else _compiled(compiler, files, program)
        except OSError as error:
            reason = error.strerror or str(error)
    raise InputError(f"no place for the program of the boards ({reason})", expected="a cache with free space")


def _compiled(compiler: str, files: list[Path], target: Path) -> Path:
    """Compile beside the target and rename it there, so that no process ever finds a part of it."""
    code = [file for file in files if file.suffix == ".c"]
    with code_cache.build_directory(target) as scratch:
        program = Path(scratch) / "granite-board"
        compile_library(compiler, [*_FLAGS, *map(str, code[:-1])], code[-1], program, "the firmware")
        content = program.read_bytes()
        with program.open("ab") as whole:
            whole.write(code_cache.checksum(content))  # loaders ignore bytes after the program
        program.chmod(0o700)
        os.replace(program, target)
    return target
