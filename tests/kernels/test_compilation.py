"""Compilation: the same bits with and without a compiler, and a cache that survives what happens to files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import casadi as ca
import grimp
import numpy as np
import pytest

import granite
from granite.config.errors import CompilationError
from granite.kernels import c_compiler, compilation, library
from granite.kernels.c_compiler import find_compiler
from granite.kernels.code_cache import cache_directory
from granite.kernels.compilation import compile_functions, mode
from granite.kernels.kernel import Array
from tests.peers.random_trees import random_module
from tests.support.dense_model import functions
from tests.support.small_functions import cache as cache
from tests.support.small_functions import make, needs_compiler, once, swung

ROOT = Path(__file__).parents[2]


# --- the same function twice


def bits(array: Array) -> bytes:
    """The numbers as they stand in memory; the sign of a NaN means nothing to IEEE 754, nor to us."""
    return np.where(np.isnan(array), np.nan, array).tobytes()


@needs_compiler
@pytest.mark.parametrize(("dimension", "level"), [("planar", "-O0"), ("planar", "-O1"), ("spatial", "-O1")])
def test_compiled_and_interpreted_functions_give_the_same_bits(
    dimension: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every function of a model, on ordinary and on very large arguments: gcc's sincos is no exception."""
    module, rng = random_module(800, dimension, "floating", 3), np.random.default_rng(17)
    monkeypatch.setattr(library, "FLAGS", (level, *library.FLAGS[1:]))
    compiled = compile_functions(module.name, functions(module))
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    interpreted = compile_functions(module.name, functions(module))
    assert compiled.keys() == interpreted.keys()
    for name, kernel in compiled.items():
        for scale in (1.0, 1.0, 1.0, 10.0, 1e4) * 20:
            arguments = [scale * rng.normal(size=argument.size) for argument in kernel.inputs]
            assert bits(kernel.run(arguments)) == bits(interpreted[name].run(arguments)), name


@needs_compiler
def test_the_last_function_is_compiled_quickly_where_it_is_called_seldom(cache: Path) -> None:
    x = ca.SX.sym("x", 3)
    many = [ca.Function(name, [x], [ca.sin(x) / x * factor]) for name, factor in (("often", 2), ("seldom", 3))]
    source = compilation._generate("two", many, "seldom")
    before, pragma, after = source.partition('#pragma GCC optimize ("O0")')
    assert pragma
    assert "/* often:(" in before
    assert after.startswith("\n/* seldom:(")
    for key in ("a key", None):
        kernels = compilation.compile_once("two", key, lambda: many, seldom="seldom")
        argument = np.array([0.3, -1.7, 12.5])
        for function in many:
            assert bits(kernels[function.name()].run((argument,))) == bits(np.array(function(argument)).ravel())


def test_without_a_compiler_functions_still_run(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    assert mode() == "virtual machine"
    assert swung(make())
    assert not cache.exists()


def test_a_machine_without_a_compiler_falls_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert mode() == "virtual machine"
    assert swung(make())


@needs_compiler
def test_portable_code_has_functions_of_its_own_and_only_compiled(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ca.SX.sym("x")
    sine, angle = ca.Function("sine", [x], [ca.sin(x)]), np.array([1.0e7])  # beyond what `elementary.c` reduces
    for key in ("a key", None):
        assert np.isfinite(compilation.compile_once("sine", key, lambda: [sine])["sine"].run((angle,)))
    monkeypatch.setenv("GRANITE_PORTABLE", "1")
    assert mode() == "portable"
    for key in ("a key", None):
        assert np.isnan(compilation.compile_once("sine", key, lambda: [sine])["sine"].run((angle,)))
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    with pytest.raises(CompilationError, match="needs a C compiler"):
        compile_functions("sine", [sine])


# --- the cache


@needs_compiler
def test_a_library_is_compiled_once_and_then_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert swung(make())
    (file,) = cache.iterdir()
    monkeypatch.setattr(library, "_compile", lambda *_: pytest.fail("compiled again"))
    assert swung(make())
    assert list(cache.iterdir()) == [file]


@needs_compiler
def test_the_callback_gets_what_is_compiled_and_not_what_is_read(cache: Path) -> None:
    compiled: list[str] = []
    with library.on_compile(compiled.append):
        make("first")
        make("first")
        make("second")
    make("third")
    assert compiled == ["first", "second"]


@needs_compiler
@pytest.mark.parametrize("kept", [0.0, 0.005, 0.1, 0.5, 0.8, 0.99])
def test_a_library_that_was_cut_is_compiled_again(kept: float, cache: Path) -> None:
    """Loading a file cut to between 1 % and 80 % would end the process with SIGBUS."""
    make()
    (library,) = cache.iterdir()
    whole = library.read_bytes()
    library.unlink()
    library.write_bytes(whole[: int(kept * len(whole))])
    assert swung(make())
    assert library.stat().st_size == len(whole)


@needs_compiler
def test_a_library_with_one_wrong_bit_is_compiled_again(cache: Path) -> None:
    make()
    (library,) = cache.iterdir()
    whole = bytearray(library.read_bytes())
    whole[len(whole) // 2] ^= 1
    library.unlink()
    library.write_bytes(whole)
    assert swung(make())
    assert library.read_bytes() != bytes(whole)


@needs_compiler
def test_other_flags_make_another_entry(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make()
    monkeypatch.setattr(library, "FLAGS", (*library.FLAGS, "-DOTHER"))
    assert swung(make())
    assert len(list(cache.iterdir())) == 2


@needs_compiler
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a regular file no directory can be made, not even by root."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRANITE_CACHE", str(tmp_path / "file" / "cache"))
    assert swung(make())
    monkeypatch.setattr(library, "_compile", lambda *_: pytest.fail("compiled again in one process"))
    assert swung(make())


@needs_compiler
def test_a_full_cache_can_be_read_only(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make()
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: pytest.fail("wrote into the cache"))
    assert swung(make())


@needs_compiler
def test_a_cache_in_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRANITE_CACHE", ".")
    assert swung(make())
    assert len(list(tmp_path.glob("*.so"))) == 1


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRANITE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_directory() == Path("/somewhere/granite")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_directory() == Path("/home/someone/.cache/granite")


COMPILE_ALL = """
import sys
import numpy as np
from granite.kernels.compilation import compile_functions
from tests.support.dense_model import functions
from tests.support.small_functions import cache as cache
from tests.support.small_functions import make, needs_compiler, once, swung
from tests.peers.random_trees import random_module
print("ready", flush=True)
sys.stdin.read(1)
kernels = compile_functions("tree", functions(random_module(801, "planar", "floating", 1)))
print(kernels["mass_matrix"].run((np.full(4, 0.1),)).tobytes().hex())
"""


@pytest.mark.slow
@needs_compiler
def test_two_processes_may_compile_at_once(cache: Path) -> None:
    command = [sys.executable, "-c", COMPILE_ALL]
    both = [subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, text=True) for _ in "ab"]
    assert [process.stdout.readline() for process in both if process.stdout] == ["ready\n"] * 2
    for process in both:
        assert process.stdin is not None
        process.stdin.write("!")
        process.stdin.flush()
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0] == said[1] != ""
    assert [entry.suffix for entry in cache.iterdir()] == [".so"]


@needs_compiler
def test_a_compiler_that_fails_is_quoted(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken-cc"
    broken.write_text("#!/bin/sh\necho 'no space in the attic' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(CompilationError, match=r"broken-cc could not compile swing-.*: no space in the attic"):
        make()
    assert list(cache.iterdir()) == []


def test_the_compiler_named_by_cc_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own-cc"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("CC", str(own))
    monkeypatch.delenv("GRANITE_NO_COMPILER", raising=False)
    assert find_compiler() == str(own)
    assert os.access(str(find_compiler()), os.X_OK)


# --- functions that are written only where the cache lacks them


@needs_compiler
def test_what_the_cache_has_is_not_written_in_symbols_again(cache: Path) -> None:
    written: list[str] = []
    assert [once("twice", 2.0, written), once("twice", 2.0, written), once("thrice", 3.0, written)] == [2.0, 2.0, 3.0]
    assert written == ["twice", "thrice"]


@needs_compiler
def test_another_code_of_granite_writes_its_functions_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    once("twice", 2.0, written)
    monkeypatch.setattr(compilation, "own_code_hash", lambda: "another one")
    assert once("twice", 4.0, written) == 4.0
    assert len(written) == 2


@needs_compiler
@pytest.mark.parametrize("damage", ["", "{", "[1, 2]", '["gone.so", ["scaled"]]'])
def test_a_damaged_entry_is_written_again(cache: Path, damage: str) -> None:
    written: list[str] = []
    once("twice", 2.0, written)
    [entry] = cache.glob("*.json")
    entry.write_text(damage)
    assert once("twice", 2.0, written) == 2.0
    assert once("twice", 2.0, written) == 2.0
    assert len(written) == 2


def test_an_edit_of_a_command_keeps_the_cache_and_one_of_the_model_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a copy of the source: the digest follows the packages that write symbols, and no others."""
    package = tmp_path / "granite"
    shutil.copytree(Path(granite.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "testbeds"))
    monkeypatch.setattr(compilation, "__file__", str(package / "kernels" / "compilation.py"))
    first = compilation.own_code_hash.__wrapped__()
    for file in ("cli/app.py", "views/plots/page.py", "rt/run.py", "drivers/__init__.py"):
        _edit(package / file)
        assert compilation.own_code_hash.__wrapped__() == first, file
    for file in ("mrds/tree.py", "controllers/estimation/kalman.py", "rt/guard/limits.py", "config/testbed.py"):
        _edit(package / file)
        second = compilation.own_code_hash.__wrapped__()
        assert second != first, file
        first = second


def _edit(file: Path) -> None:
    with file.open("a") as code:
        code.write("# edited\n")


def test_functions_are_written_by_no_other_package_than_those_of_the_key() -> None:
    """Else an edit would leave an old function in the cache: `WRITERS` import nothing that shapes a symbol."""
    graph = grimp.build_graph("granite", cache_dir=None)
    written = tuple("granite." + package.replace("/", ".") for package in compilation.WRITERS)
    importers = graph.find_modules_that_directly_import("granite.kernels.compilation")
    writers = {module for module in importers if "compile_once(" in _source(module)}
    assert {module for module in writers if not module.startswith(written)} == set()
    imported = set().union(*(graph.find_upstream_modules(module) for module in writers)) - {"granite"}
    others = "granite.logs", "granite.drivers"  # numbers to fit, which the key has, and the contract of devices
    assert {module for module in imported if not module.startswith((*written, *others))} == set()


def _source(module: str) -> str:
    return Path(granite.__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py").read_text()


def test_ctrl_c_is_not_lost_where_the_compiler_ends_at_the_same_time() -> None:
    """Python waits a quarter of a second for a program after Ctrl-C; one that ends in it can't be killed any more."""
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        c_compiler._call(["sleep", "0.3"], "sleep", "nothing", 10.0)
    timer.join()
