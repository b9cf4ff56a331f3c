"""The firmware as a program of this computer, compiled on first use into the cache of compiled functions.

python -m granite.rt.rehearsal.board_program --port LINK --world SOCKET     # becomes that program
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from granite.config.errors import InputError
from granite.kernels.c_compiler import compile_library, find_compiler
from granite.kernels.library import cached_file, code_digest

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
    code = [str(file) for file in files if file.suffix == ".c"]
    digest = code_digest((*(file.read_text() for file in files), *_FLAGS), compiler)

    def compile_to(program: Path) -> None:
        compile_library(compiler, [*_FLAGS, *code[:-1]], Path(code[-1]), program, "the firmware")
        program.chmod(0o700)

    try:
        return cached_file(f"granite-board-{digest[:24]}", compile_to)
    except OSError as error:
        problem = f"no place for the program of the boards ({error.strerror or error})"
        raise InputError(problem, expected="a cache with free space") from None


if __name__ == "__main__":
    os.execv(board_program(), sys.argv)
