"""The command line: `granite list | show | new | sim | replay | plot | info | recover | runs | compare | modes`, ...

Bad input ends with one sentence, never with a traceback, and leaves no file.
"""

import os
import signal

#: Ctrl-C, Ctrl-\\, and what ends a session
_STOPPING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Entry point. Importing the commands takes a second, and a signal in it ends in one sentence too."""
    before = {
        number: signal.signal(number, _stop_importing)
        for number in _STOPPING
        if signal.getsignal(number) is not signal.SIG_IGN  # as by a shell that keeps Ctrl-C from it
    }
    from granite.cli.app import main as run

    for number, handler in before.items():
        signal.signal(number, handler)
    run()


def _stop_importing(*_: object) -> None:
    """End at once: nothing is open, and an exception could be lost inside of an import."""
    os.write(2, b"granite: stopped by the operator\n")
    os._exit(3)  # STOPPED, as of every run that the operator stops
