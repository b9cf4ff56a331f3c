"""The command line: `granite list | show | new | sim | replay | plot | info | recover | runs | compare | modes`, ...

Bad input ends with one sentence, never with a traceback, and leaves no file.
"""

import os
import signal


def main() -> None:
    """Entry point. Importing the commands takes a second, and Ctrl-C in it ends in one sentence too."""
    interrupted = signal.getsignal(signal.SIGINT)
    if interrupted is signal.default_int_handler:  # else the shell that started it ignores Ctrl-C
        signal.signal(signal.SIGINT, _stop_importing)
    from granite.rt.cli.app import main as run

    signal.signal(signal.SIGINT, interrupted)
    run()


def _stop_importing(*_: object) -> None:
    """End at once: nothing is open, and an exception could be lost inside of an import."""
    os.write(2, b"granite: stopped by the operator\n")
    os._exit(3)  # STOPPED, as of every run that the operator stops
