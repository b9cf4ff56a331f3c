"""How a command ends: its exit code, and one sentence if it failed."""

from __future__ import annotations

import sys
from typing import NoReturn

from granite.cli.screen import err, out
from granite.rt.preparation_failures import system_words

DONE, FAULT, BAD_INPUT, STOPPED, DIFFERS, AUDIT_FAILED, OWN_CODE = range(7)
EXIT_CODES = """\b
Exit codes:
  0  done
  1  a fault inside Granite, or an incomplete log
  2  bad input
  3  the run was ended by the guard, the operator, or a simulated plant that was lost
  4  the replay differs from the log
  5  the run was completed, but a check of its audit failed
  6  an exception in a part of your own ended the run"""


def end(sentence: str, code: int) -> NoReturn:
    """Print one line, without the line breaks and control characters of the input, and exit."""
    line = " ".join(sentence.split())
    try:
        err.print("granite: " + "".join(c if c.isprintable() else "?" for c in line), soft_wrap=True)
    except OSError:  # the device behind standard error is full; the code still says how it ended
        err.discard()
    sys.exit(code)


def end_refused(error: OSError) -> NoReturn:
    """End after the system refused a file, or the output itself."""
    try:
        out.file.flush()
    except OSError:  # the interpreter would try again at its exit
        out.discard()
    end(f"the system refused it, {system_words(error)}", FAULT)
