"""Files and folders that Granite writes: refused before any work is done, and written as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from granite.config.errors import InputError
from granite.config.paths import missing_part


def refuse_output(what: str, path: Path, suffixes: Collection[str], overwrite: bool) -> None:
    """Check before any work is done; `InputError` for a file that can't be written or would be replaced."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{what} '{path}': expected a name that ends in {' or '.join(suffixes)}")
    if not str(path).isprintable():
        raise InputError(f"{what} '{path}': expected a name of printable characters")
    if path.is_dir():
        raise InputError(f"{what} '{path}' is a directory: expected a file")
    if path.exists() and not path.is_file():
        raise InputError(f"{what} '{path}' is not a file: expected a file or a new name")
    if not path.parent.is_dir():
        raise InputError(f"{what} '{path}' can't be written: {missing_part(path)}")
    if os.path.lexists(path) and not overwrite:
        raise InputError(f"{what} '{path}' exists: expected a new name, or --overwrite")


@contextlib.contextmanager
def write_whole(what: str, path: Path, suffixes: Collection[str], overwrite: bool) -> Iterator[Path]:
    """An empty file to write into, which takes the name when the context ends; nothing is left of one that fails.

    A link stays a link, and a file that is replaced keeps its mode.

    Parameters
    ----------
    what
        The kind of file, for the sentence of a refusal.
    path
        The file as the user named it.
    suffixes
        How its name may end.
    overwrite
        Replace the file of that name; without it a link to no file is refused too.

    Raises
    ------
    InputError
        Where the file may not be replaced or can't be written.
    """
    refuse_output(what, path, suffixes, overwrite)
    final = Path(os.path.realpath(path))
    unfinished = final.with_name(f".granite-{os.getpid()}{path.suffix.lower()}")
    try:
        mode = stat.S_IMODE(final.stat().st_mode) if final.exists() else None
        unfinished.touch(0o666 if mode is None else 0o600)
        yield unfinished
        if mode is not None:
            unfinished.chmod(mode)
        give_name(unfinished, final, overwrite)
    except OSError as error:
        raise InputError(f"{what} '{path}' can't be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def give_name(unfinished: Path, final: Path, overwrite: bool) -> None:
    """Rename a file that is whole; without `overwrite`, `FileExistsError` where there is one of that name by now."""
    if overwrite:
        os.replace(unfinished, final)
        return
    try:
        os.link(unfinished, final)  # unlike a renaming, it never replaces
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if final.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(final)) from None
        os.replace(unfinished, final)
    else:
        os.unlink(unfinished)


@contextlib.contextmanager
def whole_folder(what: str, folder: Path, member: str, overwrite: bool) -> Iterator[Path]:
    """A folder that takes the name when the context ends; nothing is left of one that fails.

    Only a folder that has a `member` of that name is replaced.
    """
    if not folder.parent.is_dir():
        raise InputError(f"{what} '{folder}' can't be written: {missing_part(folder)}")
    if os.path.lexists(folder):
        if not overwrite:
            raise InputError(f"{what} '{folder}' exists: expected a new name, or --overwrite")
        if not (folder / member).is_file():
            raise InputError(f"{what} '{folder}' is no {what}: expected a folder with a {member}, or a new name")
    unfinished = folder.with_name(f".granite-{os.getpid()}-folder") / folder.name
    try:
        yield unfinished
        if folder.exists():
            shutil.rmtree(folder)
        unfinished.rename(folder)
    except OSError as error:
        raise InputError(f"{what} '{folder}' can't be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(unfinished.parent, ignore_errors=True)
