"""The exported controller: its commands are those of the log, on this machine and on a Cortex-M4 in QEMU."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import mpmath
import numpy as np
import pytest

from granite.cli.logs import export
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.kernels.library import ELEMENTARY
from granite.logs.log import Log
from granite.rt.controller_export import TICKS, export_controller
from granite.rt.run_in_memory import simulate_in_memory
from tests.firmware.emulated import FIRMWARE, need

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
FLAGS = ["-O0", "-ffp-contract=off", "-std=c99", "-Werror=implicit", "-Werror=return-type"]
#: function parts, arms, gauges whose memory is a parameter of the next part, optimal valves, two bases
BEDS = ["free-flyer", "stanford-free-flyer", "flexible-arm", "two-flyers", "atmos", "free-flyer/planned", "astrobee"]


def short_run(name: str, seconds: float) -> tuple[Testbed, Log]:
    bed = load(name)
    return bed, simulate_in_memory(bed.model_copy(update={"loop": bed.loop.model_copy(update={"duration_s": seconds})}))


def replayed(folder: Path, *options: str) -> list[str]:
    """The lines of the replay, built for this machine."""
    program = folder / "replay"
    sources = sorted(map(str, folder.glob("*.c")))
    subprocess.run([str(COMPILER), *FLAGS, *options, *sources, "-o", str(program), "-lm"], check=True)
    return subprocess.run([str(program)], capture_output=True, text=True, check=False).stdout.splitlines()


@needs_compiler
@pytest.mark.parametrize("name", ["spot", *(pytest.param(bed, marks=pytest.mark.slow) for bed in BEDS)])
def test_its_commands_and_verdicts_are_those_of_the_log_to_the_bit(name: str, tmp_path: Path) -> None:
    bed, log = short_run(name, 0.5 if name == "spot" else 1.0)
    export_controller(bed, tmp_path / "c", log)
    *ticks, last = replayed(tmp_path / "c", "-DGRANITE_LIBM")
    n = min(log.ticks, TICKS)
    assert len(ticks) == n
    assert last.startswith(f"{n} of {n} ticks equal, largest difference 0.0e+00"), last
    assert sum(line.split()[1] == "0" for line in ticks) > n / 2  # most pass the guard


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["free-flyer", "spot", "atmos", "stanford-free-flyer"])
def test_a_cortex_m4_gives_the_bits_of_a_portable_log_and_it_fits_an_stm32f405(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("make", "arm-none-eabi-gcc", "qemu-system-arm")
    monkeypatch.setenv("GRANITE_PORTABLE", "1")
    bed, log = short_run(name, 1.0)
    export_controller(bed, tmp_path / "c", log)
    *here, _ = replayed(tmp_path / "c")
    # Linking fails where code or memory is too large for the chip.
    subprocess.run(
        ["make", "-s", "-C", str(FIRMWARE), "controller", f"EXPORT={tmp_path / 'c'}"], check=True, timeout=120
    )
    command = ["qemu-system-arm", "-machine", "mps2-an386", "-kernel", str(tmp_path / "c" / "emulated.elf")]
    command += ["-display", "none", "-monitor", "none", "-serial", "none", "-icount", "shift=3"]
    command += ["-semihosting-config", "enable=on,target=native"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout
    *board, last = said.splitlines()
    assert board == here
    assert last.startswith(f"{len(board)} of {len(board)} ticks equal, largest difference 0.0e+00"), last
    numbers = re.search(r"counted (\d+) in the mean, at most (\d+)", last)
    assert numbers
    instructions = 5 * int(numbers[2])
    assert 0 < instructions < 168e6 * bed.loop.period_s


def test_the_elementary_functions_are_within_one_ulp(tmp_path: Path) -> None:
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    built = tmp_path / "elementary.so"
    subprocess.run([COMPILER, *FLAGS, "-shared", "-fPIC", str(ELEMENTARY), "-o", str(built), "-lm"], check=True)
    library, rng = ctypes.CDLL(str(built)), np.random.default_rng(1)
    turns = [*rng.uniform(-4, 4, 400), *rng.uniform(-1e5, 1e5, 400), *(np.arange(-200, 200) * np.pi / 2), 0.0, 1e-300]
    for name, points in (("sin", turns), ("cos", turns), ("exp", [*rng.uniform(-700, 700, 400), 0.0, -1e-20])):
        function = getattr(library, f"granite_{name}")
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
        with mpmath.workprec(200):
            for x in map(float, points):
                exact = getattr(mpmath, name)(mpmath.mpf(x))
                assert abs(function(x) - exact) <= 0.9 * mpmath.mpf(np.spacing(abs(float(exact)))), (name, x)
        assert np.isnan(function(np.nan))
        assert name == "exp" or np.isnan(function(1e7))
    hypot = library.granite_hypot
    hypot.restype, hypot.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    for x, y in rng.normal(size=(400, 2)).tolist():
        assert abs(hypot(x, y) - mpmath.hypot(x, y)) <= np.spacing(abs(hypot(x, y))), (x, y)


@pytest.mark.usefixtures("interpreted")
def test_what_it_cannot_export_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without a controller"):
        export_controller(load("mrds-1"), tmp_path / "c")
    bed, other = load("atmos"), short_run("flexible-arm", 0.05)[1]
    with pytest.raises(InputError, match="a log of flexible-arm with other signals"):
        export_controller(bed, tmp_path / "c", other)
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match=r"no controller: expected a folder with a controller\.h"):
        export_controller(bed, tmp_path / "mine", overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


@pytest.mark.usefixtures("interpreted")
def test_the_command_writes_it_without_a_log_and_without_a_compiler(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    export(controller="atmos", path=folder)
    header = (folder / "controller.h").read_text()
    assert "sample[0]  sample.t" in header or "sample[0]  t_s [s]" in header, header
    assert "#define TICKS 0" in (folder / "samples.h").read_text()
    for source in folder.glob("controller*.c"):
        assert not re.search(r"\b(malloc|calloc|free|clock_gettime|printf)\(", source.read_text())
    with pytest.raises(InputError, match="another export, too"):
        export(controller="atmos", model="atmos")


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
def test_a_behaviour_that_changes_its_state_in_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="changes its state in Python"):
        export_controller(load("leap"), tmp_path / "c")
