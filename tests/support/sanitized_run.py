"""`python -m tests.support.sanitized_run TESTBED TICKS [BEFORE AFTER]`: compiled code under sanitizers.

The C code of the parts is compiled with the address and the undefined-behaviour sanitizer, which end the process at the
first fault; functions that CasADi wrote are not. First a whole run is compiled, then the same run goes through the loop
with compiled steps; all rows must be equal. BEFORE is replaced by AFTER in the C code: a mutant.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from granite.config.loader import load
from granite.kernels import compiled_form
from granite.kernels.c_compiler import compile_library, find_compiler
from granite.kernels.library import FLAGS
from granite.rt.compiled_run import CompiledRun
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run
from tests.support.compiled_runs import assert_same_rows

ROOT = Path(__file__).parents[2]
SANITIZERS = ("-g", "-fno-sanitize-recover=all", "-fsanitize=address,undefined", "-fno-sanitize=alignment")


#: CasADi opens its plugins with a flag that the sanitizer refuses
OPENS_PLAINLY = """
#define _GNU_SOURCE
#include <dlfcn.h>
void *dlopen(const char *file, int flags)
{
    return ((void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"))(file, flags & ~RTLD_DEEPBIND);
}
"""


def sanitized(folder: Path, name: str, ticks: int, *mutant: str) -> subprocess.CompletedProcess[str]:
    """This file in a process that has the library of the address sanitizer from its beginning."""
    code, plainly = folder / "plainly.c", folder / "plainly.so"
    code.write_text(OPENS_PLAINLY)
    subprocess.run(["gcc", "-shared", "-fPIC", code, "-o", plainly], check=True)
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    own = {
        "LD_PRELOAD": f"{plainly} {library.stdout.strip()}",
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
        "PYTHONMALLOC": "malloc",
    }
    command = [sys.executable, "-m", __spec__.name, name, str(ticks), *mutant]
    return subprocess.run(command, env={**os.environ, **own}, cwd=ROOT, capture_output=True, text=True)


def main(name: str, ticks: str, *mutant: str) -> None:
    """Run both forms."""

    def compile_source(label: str, source: str) -> ctypes.CDLL:
        if mutant and mutant[0] in source:
            source = source.replace(*mutant)
            print("mutant", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            code, library = Path(folder) / f"{label}.c", Path(folder) / f"{label}.so"
            code.write_text(source)
            compile_library(find_compiler() or "", (*FLAGS, *SANITIZERS), code, library, label)
            return ctypes.CDLL(str(library))

    compiled_form.compile_source = compile_source
    period = load(name).loop.period_s
    bed = load(name, {"loop.duration_s": int(ticks) * period})
    run = Run(bed)
    whole = CompiledRun(run).rows()
    assert whole is not None
    python = Run(bed)
    memory = Memory(python.channels, python.ticks)
    python.execute(VirtualClock(), memory)
    assert_same_rows(run, whole[0], memory.rows)
    print("equal", len(np.asarray(whole[0])))


if __name__ == "__main__":
    main(*sys.argv[1:])
