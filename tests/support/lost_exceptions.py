"""Exceptions of signals that nobody sees."""

import contextlib
import os
import time


def loses_the_exception(number: int) -> None:
    """As the callback of a weak reference does, or code that catches everything."""
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), number)
        time.sleep(0.1)
