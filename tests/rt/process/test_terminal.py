"""Output for people never keeps a run waiting: a terminal that takes nothing gets nothing."""

import os
import pty
import termios
import threading
from collections import deque

import pytest

from granite.config.reasons import Reason
from granite.config.run_modes import Request
from granite.rt.process import terminal as terminal_
from granite.rt.process.terminal import Terminal
from granite.rt.recording.run_watch import RunWatch


@pytest.fixture(params=["own", "of another user"])
def stopped(request, monkeypatch):
    """A terminal after Ctrl-S: its user's end, and the end to write to."""
    if request.param != "own":

        def refuse(*arguments):
            raise PermissionError

        monkeypatch.setattr(terminal_.os, "open", refuse)
    here, there = pty.openpty()
    termios.tcflow(there, termios.TCOOFF)
    yield here, there
    termios.tcflow(there, termios.TCOON)
    os.close(here)  # ends a write that still waits
    os.close(there)


def ends(action) -> bool:
    """Whether it ends; a thread that does not is left behind."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(20.0)
    return not thread.is_alive()


def test_a_stopped_terminal_is_not_waited_for_and_gets_what_comes_later(stopped):
    here, there = stopped
    terminal = Terminal(there)
    assert ends(lambda: print("granite: holding" * 1000, file=terminal))
    termios.tcflow(there, termios.TCOON)
    print("granite: running", file=terminal)
    assert os.read(here, 100).startswith(b"granite: running")


def test_a_terminal_that_nobody_reads_is_not_waited_for():
    here, there = pty.openpty()
    assert ends(lambda: [print("granite: holding" * 100, file=Terminal(there)) for _ in range(200)])
    os.close(here)
    os.close(there)


def test_the_flags_of_the_shell_s_descriptor_stay_as_they_are():
    here, there = pty.openpty()
    print("granite: running", file=Terminal(there))
    assert os.get_blocking(there)
    os.close(here)
    os.close(there)


def test_a_file_in_place_of_a_terminal_gets_everything(tmp_path):
    with (tmp_path / "errors.txt").open("w") as file:
        print("first", file=file, flush=True)
        print("granite: running", file=Terminal(file.fileno()))
    assert (tmp_path / "errors.txt").read_text() == "first\ngranite: running\n"


def test_faults_are_found_while_the_terminal_is_stopped(stopped):
    _, there = stopped
    first, second = threading.Event(), threading.Event()
    # The second fault is looked for after the first was said.
    faults = {Reason.RECORDER_LOST: lambda: True, Reason.DISK_FULL: first.is_set}

    class Inbox(deque[Request]):
        def append(self, request):
            super().append(request)
            (second if first.is_set() else first).set()

    inbox = Inbox()
    watch = RunWatch(inbox, faults, say=lambda sentence: print(sentence * 100, file=Terminal(there)))
    watch.__enter__()
    assert second.wait(20.0)
    assert [request.argument for request in inbox] == [Reason.RECORDER_LOST, Reason.DISK_FULL]
    assert ends(lambda: watch.__exit__(None, None, None))
