"""Testbed files that Granite writes: as a whole or not at all, and read before they take their place."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed


def write_testbed(
    path: Path, text: str, *, overwrite: bool, check: Callable[[Testbed], None] = lambda written: None
) -> None:
    """Write a testbed file; a link stays a link, and a file that is replaced keeps its mode.

    Parameters
    ----------
    path
        The file as the user named it.
    text
        Its content, with the line ends that it shall have.
    overwrite
        Replace the file of that name; without it a link to no file is refused too.
    check
        Called with the testbed as it was read, before it takes its place.

    Raises
    ------
    InputError
        Where the file exists and may not be replaced, can't be written, or its content is refused.
    """
    if os.path.lexists(path) and not overwrite:
        raise InputError(f"testbed '{path}' exists", expected="a new name, or --overwrite")
    final = Path(os.path.realpath(path))
    # It is read beside the name that was typed, because files that a testbed names are looked for from there.
    tried, unfinished = (one.with_name(f".granite-{os.getpid()}.toml") for one in (path, final))
    try:
        mode = stat.S_IMODE(final.stat().st_mode) if final.exists() else None
        for file in (tried, unfinished):
            file.touch(0o666 if mode is None else 0o600)
            file.write_bytes(text.encode())
        check(load(tried))
        if mode is not None:
            unfinished.chmod(mode)
        os.replace(unfinished, final)
    except InputError as refusal:
        raise refusal.within(file=str(path)) from None
    except OSError as error:
        raise InputError(f"testbed '{path}' can't be written: {error.strerror or error}") from None
    finally:
        for file in (tried, unfinished):
            file.unlink(missing_ok=True)
