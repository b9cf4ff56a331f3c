"""The cache runs no code of others, and a compiler that is slow, full or broken is named and leaves nothing."""

from __future__ import annotations

import logging
import os
import subprocess
import time
from pathlib import Path

import pytest

from granite.config.errors import CompilationError
from granite.kernels import c_compiler, code_cache
from granite.kernels.c_compiler import find_compiler
from granite.rt.checks import doctor
from granite.rt.checks.doctor import examine
from tests.support.small_functions import cache as cache
from tests.support.small_functions import make, needs_compiler, once, swung
from tests.support.strangers import STRANGER, give_away
from tests.support.waiting import until

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def _warn_again() -> None:
    code_cache.warn.cache_clear()


def test_the_cache_is_private(cache: Path) -> None:
    once("twice", 2.0, [])
    assert cache.stat().st_mode & 0o777 == 0o700
    assert {entry.stat().st_mode & 0o777 for entry in cache.iterdir()} == {0o600}


@pytest.mark.parametrize("pattern", ["*.so", "*.json"])
def test_an_entry_of_another_user_is_not_used(cache: Path, pattern: str) -> None:
    written: list[str] = []
    once("twice", 2.0, written)
    [entry] = cache.glob(pattern)
    give_away(entry)
    assert once("twice", 2.0, written) == 2.0
    assert len(written) == 2
    assert entry.stat().st_uid == os.getuid()  # replaced by our own


@pytest.mark.parametrize("pattern", ["*.so", "*.json"])
def test_an_entry_that_others_can_write_is_not_used(cache: Path, pattern: str) -> None:
    written: list[str] = []
    once("twice", 2.0, written)
    [entry] = cache.glob(pattern)
    entry.chmod(0o666)
    once("twice", 2.0, written)
    assert len(written) == 2
    assert entry.stat().st_mode & 0o777 == 0o600


def test_an_entry_leads_to_no_library_outside_the_cache(cache: Path, tmp_path: Path) -> None:
    written: list[str] = []
    once("twice", 2.0, written)
    [entry], [library] = cache.glob("*.json"), cache.glob("*.so")
    library.rename(tmp_path / "outside.so")
    entry.write_text('["../outside.so", ["scaled"]]')
    once("twice", 2.0, written)
    assert len(written) == 2


def test_a_directory_that_others_can_write_is_refused_by_name(
    cache: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    wake_ups = doctor._wake_ups
    monkeypatch.setattr(doctor, "_wake_ups", lambda: wake_ups(20))
    cache.mkdir(mode=0o700)
    cache.chmod(0o777)
    with caplog.at_level(logging.WARNING):
        assert swung(make())
        assert swung(make())
    assert list(cache.iterdir()) == []
    [said] = caplog.messages
    assert said.startswith(
        f"granite: the cache '{cache}' is not used, because other users can write '{cache}': each run"
    )
    [limit] = [finding for finding in examine() if finding.name == "model cache"]
    assert limit.status == "limited"
    assert "chmod go-w" in limit.advice


def test_a_directory_below_one_that_others_can_write_is_refused(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.mkdir(mode=0o700)
    cache.parent.chmod(0o777)
    assert swung(make())
    assert f"because other users can write '{cache.parent}'" in caplog.text
    cache.parent.chmod(0o1777)  # sticky, as /tmp is
    assert swung(make())
    assert len(list(cache.iterdir())) == 1


def test_a_directory_of_another_user_is_refused(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.mkdir(mode=0o700)
    give_away(cache)
    assert swung(make())
    assert f"because '{cache}' belongs to another user" in caplog.text
    assert list(cache.iterdir()) == []


def test_a_directory_below_one_of_another_user_is_refused(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.mkdir(mode=0o700)
    give_away(cache.parent)
    assert swung(make())
    assert f"because '{cache.parent}' belongs to another user" in caplog.text
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("is_relative", [False, True])
def test_a_link_of_another_user_is_refused(
    is_relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    target, link = tmp_path / "target", tmp_path / "link"
    (target / "cache").mkdir(parents=True)
    link.symlink_to("target/../target" if is_relative else target)
    monkeypatch.setenv("GRANITE_CACHE", str(link / "cache"))
    assert swung(make())
    assert len(list((target / "cache").iterdir())) == 1  # a link of our own is followed
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    assert code_cache.fault_of(link / "cache") == f"because '{link}' belongs to another user"
    assert swung(make())
    assert f"because '{link}' belongs to another user" in caplog.text


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "is a link to itself" in str(code_cache.fault_of(tmp_path / "a"))


def test_what_was_checked_is_loaded_although_another_directory_takes_its_place(cache: Path, tmp_path: Path) -> None:
    assert swung(make())
    [library] = cache.glob("*.so")
    content, path = library.read_bytes(), code_cache.loadable(library)
    assert path is not None
    cache.rename(tmp_path / "away")
    cache.mkdir(mode=0o700)
    library.write_bytes(b"another")
    assert path.read_bytes() == content
    assert code_cache.loadable(library) is None
    assert code_cache.loadable(tmp_path / "away" / library.name) == path
    os.close(int(path.parent.name))  # as a forked process does
    assert code_cache.loadable(tmp_path / "away" / library.name) is not None
    cache.chmod(0o777)
    library.write_bytes(content)
    assert code_cache.loadable(library) is None


def test_the_usual_directory_made_with_a_lax_umask_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("GRANITE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    usual = tmp_path / "granite"
    usual.mkdir()
    usual.chmod(0o775)
    assert swung(make())
    assert usual.stat().st_mode & 0o777 == 0o700
    assert caplog.messages == []


# --- the disk


def test_a_full_disk_falls_back_to_a_directory_of_the_process_and_then_to_the_virtual_machine(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A compiler that meets a full disk says so and fails."""
    full = script(tmp_path, "echo 'fatal error: error writing to model.s: No space left on device' >&2; exit 1")
    monkeypatch.setenv("CC", full)
    assert swung(make())
    assert list(cache.iterdir()) == []
    assert "because no compiled code can be written (No space left on device)" in caplog.text


def test_leftovers_of_killed_builds_go(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    old, new = cache / ".building-old", cache / ".building-new"
    for left in (old, new):
        left.mkdir()
        (left / "model.c").touch()
    an_hour_ago = time.time() - 3700
    os.utime(old, (an_hour_ago, an_hour_ago))
    make()
    assert not old.exists()
    assert new.exists()  # that of a build that still runs


def test_private_directories_of_killed_processes_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left, living = tmp_path / f"granite-{ended.pid}-x", tmp_path / f"granite-{os.getpid()}-x"
    left.mkdir()
    living.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code_cache.private_directory.cache_clear()
    made = code_cache.private_directory()
    assert made.parent == tmp_path
    assert made.stat().st_mode & 0o777 == 0o700
    assert not left.exists()
    assert living.exists()
    code_cache.private_directory.cache_clear()


# --- the compiler


def script(folder: Path, words: str) -> str:
    own = folder / "own-cc"
    own.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "own 1.0" && exit\n{words}\n')
    own.chmod(0o755)
    return str(own)


def test_a_compiler_may_have_arguments(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = find_compiler()
    monkeypatch.setenv("CC", f"env GRANITE_TEST=1 {usual} -DOTHER")
    assert str(find_compiler()).endswith(f"env GRANITE_TEST=1 {usual} -DOTHER")
    assert swung(make())
    [with_arguments] = cache.glob("*.so")
    monkeypatch.setenv("CC", str(usual))
    make()
    assert len(list(cache.glob("*.so"))) == 2, with_arguments


def test_a_compiler_may_lie_in_a_directory_with_spaces(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my tools"
    folder.mkdir()
    monkeypatch.setenv("CC", script(folder, f'exec {find_compiler()} "$@"'))
    assert swung(make())


def test_a_compiler_that_hangs_is_ended_and_named(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = script(tmp_path, f"sleep 1000 & echo $! > {tmp_path}/child; wait")
    monkeypatch.setenv("CC", hanging)
    monkeypatch.setattr(c_compiler, "TIME_LIMIT", 0.75)  # a busy machine starts it late
    with pytest.raises(CompilationError, match=r"own-cc did not finish swing-\w+ in 0\.75 s$"):
        make()
    assert list(cache.iterdir()) == []
    state = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    until(lambda: not _lives(state))  # the programs that it started are killed too


def _lives(state: Path) -> bool:
    try:
        return state.read_text().split()[2] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


OUT = "while [ $# -gt 0 ]; do [ $1 = -o ] && out=$2; shift; done"
JUNK = {
    "text": f"{OUT}; echo junk > $out",
    "nothing": "exit 0",
    "another library": f"{OUT}; echo 'int x;' > $out.c; CC $out.c -shared -fPIC -o $out",
}


@pytest.mark.parametrize("words", JUNK.values(), ids=JUNK)
def test_a_compiler_that_writes_junk_is_named_and_its_entry_not_kept(
    words: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CC", script(tmp_path, words.replace("CC", str(find_compiler()))))
    with pytest.raises(CompilationError, match=r"own-cc could not compile swing-\w+: it(s| wrote no) library"):
        make()
    assert list(cache.iterdir()) == []
    monkeypatch.delenv("CC")
    assert swung(make())


def test_a_compiler_that_is_no_program_is_named(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "own-cc"
    broken.write_bytes(b"\x7fELF broken")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(CompilationError, match=r"own-cc can't be started \(Exec format error\)"):
        make()


def test_the_time_limit_is_shorter_than_the_age_of_a_leftover() -> None:
    assert c_compiler.TIME_LIMIT < code_cache._ABANDONED
