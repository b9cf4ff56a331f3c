"""The directory of compiled functions: no other user can write into it, and leftovers of killed builds go.

It is GRANITE_CACHE, else XDG_CACHE_HOME/granite, else ~/.cache/granite, made with mode 0700. What lies in it is loaded
into this process, so a directory or an entry that another user owns, could write or could replace is not used: the
directory is named in a warning, and functions are compiled into a private directory of this process instead. Root is
trusted.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path

from granite.config.private_files import OTHERS_WRITE, fault_of, is_ours

_BUILDING = ".building-"
_PRIVATE = "granite-"
#: age of what a killed build left: no compiler may take as long [s]
_ABANDONED = 3600.0
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
            if directory.stat().st_uid == os.geteuid() and directory.stat().st_mode & OTHERS_WRITE:
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
        status = os.fstat(entry.fileno())
        if not is_ours(status) or status.st_mode & OTHERS_WRITE:
            raise PermissionError(f"'{file}' belongs to another user, or others can write it")
        return entry.read()


def is_intact(library: Path) -> bool:
    """Whether the file exists, is our own and ends with the checksum of its content."""
    try:
        content = content_of_entry(library)
    except OSError:
        return False
    return checksum(content[:-_CHECKSUM]) == content[-_CHECKSUM:]


def loadable(library: Path) -> Path | None:
    """An intact library by the path to load it by; None where it is not intact.

    The path leads through a descriptor of the directory. So what was checked is what is loaded, whatever happens to
    directories and links on the way in between: only this user and root can exchange a file in the directory itself.
    """
    try:
        path = _held_open(library.parent) / library.name
    except OSError:
        return None
    return path if is_intact(path) else None


def _held_open(directory: Path) -> Path:
    """The directory by its descriptor, which stays open: the loader knows a library by its path."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    identity = _identity(descriptor)
    status = os.fstat(descriptor)
    if not is_ours(status) or status.st_mode & OTHERS_WRITE:
        os.close(descriptor)
        raise PermissionError(f"'{directory}' belongs to another user, or others can write it")
    if _identity(before := _OPEN.setdefault(identity, descriptor)) != identity:
        _OPEN[identity] = descriptor  # a forked process has closed the one before
    elif before != descriptor:
        os.close(descriptor)
    return Path(f"/proc/self/fd/{_OPEN[identity]}")


def _identity(descriptor: int) -> tuple[int, int] | None:
    """Device and inode of what a descriptor is open for; None where it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
#: descriptors of directories by device and inode
_OPEN: dict[tuple[int, int] | None, int] = {}
