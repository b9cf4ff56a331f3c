"""The command line: `granite list | show | new | sim | replay | plot | info | recover | runs | compare | modes`, ...

Bad input ends with one sentence, never with a traceback, and leaves no file.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable

#: Ctrl-C, Ctrl-\\, and what ends a session
_STOPPING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
#: address space of a command
_LEAST_MEMORY_MB = 600


def main() -> None:
    """Entry point. Importing the commands takes a second, and a signal in it ends in one sentence too."""
    _refuse_too_little_memory()
    before = {
        number: signal.signal(number, _stop_importing)
        for number in _STOPPING
        if signal.getsignal(number) is not signal.SIG_IGN  # as by a shell that keeps Ctrl-C from it
    }
    run = _plain_operate() or _any_command()
    for number, handler in before.items():
        signal.signal(number, handler)
    run()


def _refuse_too_little_memory() -> None:
    """End where what is imported next would not find room: the linear algebra waits for it without end."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _LEAST_MEMORY_MB * 10**6:
        sentence = f"{limit / 1e6:.0f} MB of memory are allowed, expected at least {_LEAST_MEMORY_MB} (ulimit -v)"
        print(f"granite: {sentence}", file=sys.stderr)
        sys.exit(2)  # BAD_INPUT


def _plain_operate() -> Callable[[], None] | None:
    """`granite operate` in its plain form: a stop does not wait for the import of the other commands."""
    if sys.argv[1:2] != ["operate"]:
        return None
    from granite.cli.operator_commands import plain_form, run_plain

    arguments = plain_form(sys.argv[2:])
    return None if arguments is None else lambda: run_plain(arguments)


def _any_command() -> Callable[[], None]:
    from granite.cli.app import main as run

    return run


def _stop_importing(*_: object) -> None:
    """End at once: nothing is open, and an exception could be lost inside of an import."""
    os.write(2, b"granite: stopped by the operator\n")
    os._exit(3)  # STOPPED, as of every run that the operator stops
