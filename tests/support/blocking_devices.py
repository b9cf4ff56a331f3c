"""Runs of the free-flyer whose motors are a driver in a file of its own that blocks, fails or does not confirm."""

from collections.abc import Mapping
from pathlib import Path

import granite
from granite.config.loader import load

DRIVER = '''
import ctypes
import time

import numpy as np

import granite

LIBC = ctypes.CDLL(None)
NOTED = []


class Motors:
    """Block in `blocks` at a time, by `how`; `stop` is confirmed after some calls."""

    class Options(granite.PartTable):
        blocks: str = ""
        how: str = "sleep"
        at_s: float = 0.1
        confirm_after: int = 0
        fails: str = ""

    def __init__(self, options, name, bed):
        self.options, self.number, self.stops, self.applied = options, 0, 0, np.zeros(2)
        NOTED.clear()

    def open(self):
        self.do("open", 1e9)

    def close(self):
        NOTED.append(("close", 0.0))
        self.do("close", 1e9)

    def write(self, t, setpoint):
        NOTED.append(("write", t))
        self.do("write", t)
        self.applied = setpoint
        return self.frame(t)

    def stop(self, t):
        NOTED.append(("stop", t))
        self.do("stop", 1e9)
        self.stops += 1
        if self.stops > self.options.confirm_after:
            self.applied = np.zeros(2)
        return self.frame(t)

    def frame(self, t):
        self.number += 1
        return granite.Frame(t, self.number, granite.Status.OK, self.applied)

    def do(self, verb, t):
        if verb == self.options.fails:
            raise OSError("the port is gone")
        if verb != self.options.blocks or t < self.options.at_s:
            return
        if self.options.how == "sleep":
            time.sleep(3600)
        elif self.options.how == "swallow":
            while True:
                try:
                    time.sleep(3600)
                except BaseException:
                    pass
        elif self.options.how == "c":
            mutex = ctypes.create_string_buffer(64)
            LIBC.pthread_mutex_lock(mutex)
            LIBC.pthread_mutex_lock(mutex)  # by the same thread: never returns, and no signal ends it
        elif self.options.how == "spin":
            while True:
                pass
        elif self.options.how == "signals":
            import os
            import signal
            for number in (signal.SIGINT, signal.SIGINT):
                os.kill(os.getpid(), number)
            time.sleep(3600)
'''
OTHERS = ("joint_sensors", "vision", "thrusters")


def bed_with_driver(folder: Path, loop: Mapping[str, float], **options: object) -> granite.Testbed:
    """A testbed whose motors are the driver, with these options, and these keys of the loop."""
    file = folder / "driver.py"
    file.write_text(DRIVER)
    return load(
        "free-flyer",
        {
            "devices.motors.driver": {"kind": f"{file}:Motors", **options},
            "loop.duration_s": 0.5,
            "loop.priority": 0,
            "loop.stop_timeout_s": 0.1,
            # The machine of the tests may be loaded: no tick is left out, and none is too late.
            "loop.overrun": "catch_up",
            "loop.watchdog_s": 30.0,
            "loop.longest_lateness_s": 30.0,
            **{f"loop.{key}": value for key, value in loop.items()},
        },
    )


def run_with_driver(folder: Path, loop: Mapping[str, float] | None = None, **options: object) -> granite.Run:
    """A run on the driver; every other device is simulated."""
    return granite.Run(bed_with_driver(folder, loop or {}, **options), simulate=OTHERS)


def noted(run: granite.Run) -> list[tuple[str, float]]:
    """What was done to the driver in turn, with the time."""
    driver = run.devices._actuators["motors"].device.device
    return type(driver).write.__globals__["NOTED"]
