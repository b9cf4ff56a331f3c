"""Operators of a running loop."""

import os
import socket as sockets
import subprocess
import sys
import time

import granite
from granite.config.errors import InputError
from granite.rt.operator.client import Operator
from granite.rt.operator.keys import loop_keys


def free_address() -> str:
    """An address on this machine where nobody listens."""
    with sockets.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{free.getsockname()[1]}"


RUN = ["sim", "free-flyer", "--realtime", "--operator", "--duration", "30", "--set", "loop.longest_lateness_s=2",
       "--set", "loop.watchdog_s=5"]  # fmt: skip


class Session:
    """`granite sim --operator` in another process, and its operator."""

    def __init__(self, folder, *more: str) -> None:
        self.address, self.log = free_address(), folder / "run.mcap"
        loop_keys(folder / "keys")
        environment = {**os.environ, "GRANITE_KEYS": str(folder / "keys")}
        command = [sys.executable, "-m", "granite.rt.cli", *RUN, "--out", str(self.log), *more]
        command += ["--set", f'operator.address="{self.address}"']
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
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
        self.process.communicate(timeout=60)
        return granite.read_log(self.log)
