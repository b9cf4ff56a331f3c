"""The exported C code: compiled by itself it gives the bits of the library, and its example runs."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.kernels.compilation import compile_functions
from granite.mrds.model_export import export_model, model_functions

COMPILER = shutil.which("cc")
BEDS = ["free-flyer/clean", "flexible-arm", "mrds-5c", "fixed-dual-arm/cable"]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")


def evaluated(library: ctypes.CDLL, name: str, arguments: list[np.ndarray], size: int) -> np.ndarray:
    """One function of the exported library."""
    sizes = [ctypes.c_longlong() for _ in range(4)]
    getattr(library, f"{name}_work")(*(ctypes.byref(one) for one in sizes))
    n_arg, n_res, n_iw, n_w = (one.value for one in sizes)
    double = ctypes.POINTER(ctypes.c_double)
    arg, res, out = (double * n_arg)(), (double * n_res)(), np.zeros(size)
    kept = [np.ascontiguousarray(one, dtype=float) for one in arguments]
    for i, one in enumerate(kept):
        arg[i] = one.ctypes.data_as(double)
    res[0] = out.ctypes.data_as(double)
    iw, w = (ctypes.c_longlong * (n_iw + 1))(), (ctypes.c_double * (n_w + 1))()
    assert getattr(library, name)(arg, res, iw, w, 0) == 0
    return out


@needs_compiler
@pytest.mark.parametrize("name", [BEDS[0], *(pytest.param(bed, marks=pytest.mark.slow) for bed in BEDS[1:])])
def test_it_gives_the_bits_of_the_library(name: str, tmp_path: Path) -> None:
    bed = load(name)
    source, _, _ = export_model(bed, tmp_path / "robot.c")
    built = tmp_path / "robot.so"
    flags = ["-O1", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unused-function", "-shared", "-fPIC"]
    subprocess.run([str(COMPILER), *flags, str(source), "-o", str(built), "-lm"], check=True)
    library, rng = ctypes.CDLL(str(built)), np.random.default_rng(1)
    functions = model_functions(bed)
    kernels = compile_functions("exported", functions)
    q0 = np.array([bed.simulation.initial.get(c.key, 0.0) for c in bed.positions])
    for function in functions:
        kernel = kernels[function.name()]
        for _ in range(3):
            sizes = [function.numel_in(i) for i in range(function.n_in())]
            arguments = [rng.normal(size=size) for size in sizes]
            if function.name_in(0) == "q":
                arguments[0] = q0 + 1e-3 * arguments[0]
            expected = kernel.run(tuple(arguments)).copy()
            got = evaluated(library, f"robot_{function.name()}", arguments, len(expected))
            assert got.tobytes() == expected.tobytes(), function.name()


@needs_compiler
def test_the_example_links_it_and_prints_the_accelerations_of_the_start(tmp_path: Path) -> None:
    bed = load("flx-pendulum")
    source, header, example = export_model(bed, tmp_path / "pendulum.c")
    assert "#define PENDULUM_NU 2" in header.read_text()
    assert "link_y1 [m]" in header.read_text()
    command = [str(COMPILER), "-O1", "-ffp-contract=off", str(example), str(source), "-o", str(tmp_path / "out"), "-lm"]
    subprocess.run(command, check=True)
    printed = subprocess.run([str(tmp_path / "out")], check=True, capture_output=True, text=True).stdout
    q = np.array([bed.simulation.initial.get(c.key, 0.0) for c in bed.positions])
    kernel = compile_functions("exported", model_functions(bed))["acceleration"]
    expected = kernel.run((q, np.zeros(2), np.zeros(2)))
    assert [float.fromhex(line) for line in printed.split()] == expected.tolist()


def test_files_that_exist_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "robot.h").write_text("mine")
    with pytest.raises(InputError, match=r"robot\.h' exists"):
        export_model(load("flx-pendulum"), tmp_path / "robot.c")
    assert [file.name for file in tmp_path.iterdir()] == ["robot.h"]
    with pytest.raises(InputError, match=r"ends in \.c"):
        export_model(load("flx-pendulum"), tmp_path / "robot.txt")
