"""Testbed files that Granite writes: as a whole or not at all, and read before they take their place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.config.whole_file import write_whole


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
    # It is read beside the name that was typed, because files that a testbed names are looked for from there.
    tried = path.with_name(f".granite-{os.getpid()}-tried.toml")
    with write_whole("testbed", path, (".toml",), overwrite) as unfinished:
        unfinished.write_bytes(text.encode())
        try:
            tried.touch(0o600)
            tried.write_bytes(text.encode())
            check(load(tried))
        except InputError as refusal:
            raise refusal.within(file=str(path)) from None
        finally:
            tried.unlink(missing_ok=True)
