"""Operators of a running loop."""

import json
import os
import socket as sockets
import subprocess
import sys
import threading
import time

import pytest
import zmq

import granite
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, RunMode
from granite.rt.operator import client
from granite.rt.operator.client import Operator
from granite.rt.operator.keys import loop_keys, new_operator, public_key, read_pair
from granite.rt.operator.link import OperatorLink

#: of an operator who is lost to the channel of the tests [s]
SILENCE_S = 0.8


def free_address() -> str:
    """An address on this machine where nobody listens."""
    with sockets.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{free.getsockname()[1]}"


class Answering:
    """A loop without a robot: takes requests in its own thread and answers them; `asked` keeps them."""

    def __init__(self, link: OperatorLink) -> None:
        self.link, self.asked, self._over = link, [], threading.Event()
        #: requests wait while somebody else holds it
        self.turn = threading.Lock()
        self.answer = Reply.DONE, RunMode.HOLDING, Reason.OPERATOR_HOLD
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        self._thread.join()

    def _run(self):
        t = 0.0
        while not self._over.wait(0.002):
            t += 0.002
            with self.turn:
                if (request := self.link.take(t, RunMode.RUNNING, Reason.PASSED)) is not None:
                    self.asked.append(request)
                    self.link.answer(request, *self.answer)


class Hasty:
    """An operator who does not wait for answers."""

    def __init__(self, address: str, name: str, folder) -> None:
        socket = self._socket = zmq.Context.instance().socket(zmq.DEALER)
        socket.curve_serverkey = public_key(folder)
        socket.curve_publickey, socket.curve_secretkey = read_pair(folder, name)
        socket.connect(address)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._socket.close(0)

    def send(self, *commands: str) -> None:
        """Send them all."""
        self.send_messages([json.dumps({"do": do}).encode() for do in commands])

    def send_messages(self, messages: list[bytes]) -> None:
        """Send what may be none."""
        for message in messages:
            self._socket.send_multipart([b"", message])

    def hear(self, count: int) -> list[str]:
        """Texts of the next answers."""
        texts = []
        for _ in range(count):
            assert self._socket.poll(10_000), f"only {len(texts)} answers"
            texts.append(json.loads(self._socket.recv_multipart()[-1])["text"])
        return texts


@pytest.fixture(scope="module")
def channel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    address = free_address()
    loop_keys(folder)
    new_operator(folder, "second")
    bed = load("free-flyer", [f'operator.address="{address}"', f"operator.silence_s={SILENCE_S}"])
    link = OperatorLink.start(bed, folder)
    with Answering(link) as loop, pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "WATCH_S", SILENCE_S / 8)
        patch.setattr(client, "ANSWER_S", 30.0)  # a busy machine answers late
        yield loop, folder, address
    link.close()


@pytest.fixture
def no_patience(monkeypatch):
    """Nobody will answer: a client need not wait for it."""
    monkeypatch.setattr(client, "ANSWER_S", 0.2)


RUN = ["free-flyer", "--operator", "--duration", "60", "--set", "loop.longest_lateness_s=2", "--set",
       "loop.watchdog_s=5"]  # fmt: skip
COMMANDS = {"sim": ["sim", "--realtime"], "rehearse": ["rehearse"]}


class Session:
    """`granite sim --operator` or another command in another process, and its operator."""

    def __init__(self, folder, *more: str, command: str = "sim") -> None:
        self.address, self.log = free_address(), folder / "run.mcap"
        loop_keys(folder / "keys")
        environment = {**os.environ, "GRANITE_KEYS": str(folder / "keys")}
        words = [sys.executable, "-m", "granite.cli", *COMMANDS[command], *RUN, "--out", str(self.log), *more]
        words += ["--set", f'operator.address="{self.address}"']
        self.process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.operator = Operator(self.address, "operator", folder / "keys")

    def __enter__(self):
        self.until("disarmed")
        return self

    def __exit__(self, *error):
        self.operator.close()
        self.process.kill()
        self.process.communicate()

    def until(self, mode: str, limit: float = 90.0) -> None:
        """Wait for a mode."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            try:
                if self.operator.ask("status")["mode"] == mode:
                    return
            except InputError:
                continue
            time.sleep(0.05)
        raise AssertionError(f"never {mode}")

    def do(self, command: str, mode: str, **more) -> None:
        deadline = time.monotonic() + 30
        while not (answer := self.operator.ask(command, **more))["ok"]:
            assert time.monotonic() < deadline, answer
            time.sleep(0.2)
        self.until(mode)

    def finish(self):
        self.process.communicate(timeout=300)
        return granite.read_log(self.log)
