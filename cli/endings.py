"""How a command ends: its exit code, and one sentence if it failed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from granite.cli.lines import discard, say
from granite.config.errors import CompilationError, GraniteError, InputError
from granite.config.reasons import Reason
from granite.rt.loop.clock import TooLateError
from granite.rt.preparation_failures import system_words

DONE, FAULT, BAD_INPUT, STOPPED, DIFFERS, AUDIT_FAILED, OWN_CODE, COLLIDED, NOT_DONE = range(9)
EXIT_CODES = """\b
Exit codes:
  0  done
  1  a fault inside Granite, or an incomplete log
  2  bad input
  3  the run was ended by the guard, the operator, or a simulated plant that was lost
  4  the replay differs from the log
  5  the run was completed, but a check of its audit failed
  6  an exception in a part of your own ended the run
  7  the run was completed, but bodies collided in the simulated plant
  8  the run was completed, but its behaviour failed: nothing is in hand"""


def end(sentence: str, code: int) -> NoReturn:
    """Print one line, without the line breaks and control characters of the input, and exit."""
    line = " ".join(sentence.split())
    try:
        say("granite: " + "".join(c if c.isprintable() else "?" for c in line), sys.stderr)
    except OSError:  # the device behind standard error is full; the code still says how it ended
        discard(sys.stderr)
    sys.exit(code)


@contextmanager
def one_sentence() -> Iterator[None]:
    """A context in which a failure ends with one sentence and its exit code."""
    _open_standard_streams()
    try:
        yield
    except InputError as error:
        end(str(error), BAD_INPUT)
    except CompilationError as error:
        end(f"{error} (GRANITE_NO_COMPILER=1 runs without a compiler)", FAULT)
    except TooLateError as late:  # of a test or calibration: a run has it in its summary
        end(f"ended by {Reason.TOO_LATE.name.lower()}: {late}", STOPPED)
    except GraniteError as error:
        end(str(error), FAULT)
    except KeyboardInterrupt:
        end("stopped by the operator", STOPPED)
    except OSError as error:
        end_refused(error)


def _open_standard_streams() -> None:
    """Open a closed standard stream as the null device: else the next file, such as a log, would take its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one


def end_refused(error: OSError) -> NoReturn:
    """End after the system refused a file, or the output itself."""
    try:
        sys.stdout.flush()
    except OSError:  # the interpreter would try again at its exit
        discard(sys.stdout)
    end(f"the system refused it, {system_words(error)}", FAULT)
