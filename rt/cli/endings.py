"""How a command ends: its exit code, and one sentence if it failed."""

from __future__ import annotations

import sys
from typing import NoReturn

from granite.rt.cli.screen import err

DONE, FAULT, BAD_INPUT, STOPPED, DIFFERS = 0, 1, 2, 3, 4
EXIT_CODES = """\b
Exit codes:
  0  done
  1  a fault inside Granite
  2  bad input
  3  the run was ended by the guard, the operator, or a simulated plant that was lost
  4  the replay differs from the log"""


def end(sentence: str, code: int) -> NoReturn:
    """Print one line, without the line breaks and control characters of the input, and exit."""
    line = " ".join(sentence.split())
    err.print("granite: " + "".join(c if c.isprintable() else "?" for c in line), soft_wrap=True)
    sys.exit(code)
