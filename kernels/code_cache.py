"""The directory of compiled functions: no other user can write into it, and leftovers of killed builds go.

It is GRANITE_CACHE, else XDG_CACHE_HOME/granite, else ~/.cache/granite, made with mode 0700. What lies in it is loaded
into this process, so a directory or an entry that another user owns or could write is not used: the directory is named
in a warning, and functions are compiled into a private directory of this process instead. Root is trusted.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

_BUILDING = ".building-"
_PRIVATE = "granite-"
#: age of what a killed build left: no compiler may take as long [s]
_ABANDONED = 3600.0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_CHECKSUM = 32  #: bytes of SHA-256


def cache_directory() -> Path:
    """Directory of compiled functions."""
    own = os.environ.get("GRANITE_CACHE")
    if own:
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "granite"


def trusted_cache() -> Path | None:
    """The cache's directory; None where other users could write there, which is reported once."""
    directory = cache_directory()
    if "GRANITE_CACHE" not in os.environ:
        with contextlib.suppress(OSError):  # its own usual place, made before with a lax umask
            if directory.stat().st_uid == os.geteuid() and directory.stat().st_mode & _OTHERS_WRITE:
                directory.chmod(0o700)
    fault = fault_of(directory)
    if fault is None:
        return directory
    warn(f"the cache '{directory}' is not used, {fault}: each run compiles its model anew (set GRANITE_CACHE)")
    return None


def open_cache() -> Path | None:
    """The same, made where it does not exist and cleared of leftovers; `OSError` where it can't be made."""
    directory = trusted_cache()
    if directory is not None and not directory.is_dir():
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
        directory = trusted_cache()
    if directory is not None:
        _sweep(directory)
    return directory


def content_of_entry(file: Path) -> bytes:
    """The content of an entry; `OSError` where there is none, or another user owns it or could write it."""
    with file.open("rb") as entry:
        found = os.fstat(entry.fileno())
        if not _is_ours(found) or found.st_mode & _OTHERS_WRITE:
            raise PermissionError(f"'{file}' belongs to another user, or others can write it")
        return entry.read()


def is_intact(library: Path) -> bool:
    """Whether the file exists, is our own and ends with the checksum of its content."""
    try:
        content = content_of_entry(library)
    except OSError:
        return False
    return checksum(content[:-_CHECKSUM]) == content[-_CHECKSUM:]


def checksum(content: bytes) -> bytes:
    """What an entry ends with."""
    return hashlib.sha256(content).digest()


def build_directory(beside: Path) -> tempfile.TemporaryDirectory[str]:
    """A directory for one build, on the same disk as its result."""
    return tempfile.TemporaryDirectory(dir=beside.parent, prefix=_BUILDING)


@functools.cache
def private_directory() -> Path:
    """A directory of this process, for a cache that can't be used; deleted when the process ends."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PRIVATE}[0-9]*-*"):
        process = left.name.removeprefix(_PRIVATE).partition("-")[0]
        if not Path("/proc", process).exists():  # killed, else it would have deleted it
            _delete(left)
    holder = tempfile.TemporaryDirectory(prefix=f"{_PRIVATE}{os.getpid()}-")
    _HELD.append(holder)
    return Path(holder.name)


def fault_of(directory: Path) -> str | None:
    """Why other users could write into a directory, or put another one in its place."""
    place = Path(os.path.realpath(directory))
    for above in (place, *place.parents):
        try:
            found = above.stat()
        except OSError:
            continue  # made by us, or not reachable
        # In a directory with the sticky bit, such as /tmp, nobody can rename what belongs to another.
        if found.st_mode & _OTHERS_WRITE and (above == place or not found.st_mode & stat.S_ISVTX):
            return f"because other users can write '{above}'"
        if above == place and not _is_ours(found):
            return f"because '{above}' belongs to another user"
    return None


def _is_ours(found: os.stat_result) -> bool:
    return found.st_uid in (0, os.geteuid())


def _sweep(directory: Path) -> None:
    """Delete what killed builds left."""
    oldest = time.time() - _ABANDONED
    for left in directory.glob(f"{_BUILDING}*"):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < oldest:
                _delete(left)


def _delete(left: Path) -> None:
    with contextlib.suppress(OSError):
        if left.lstat().st_uid == os.geteuid():
            shutil.rmtree(left, ignore_errors=True)


@functools.cache
def warn(sentence: str) -> None:
    """Report once in this process, on standard error unless the user's code handles the log of `granite`."""
    logging.getLogger("granite").warning("granite: %s", sentence)


_HELD: list[tempfile.TemporaryDirectory[str]] = []
