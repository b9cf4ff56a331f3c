"""Processor time of drivers in a tick: read and write of the loop's thread, with an emulated peer on a real port."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from benchmarks.result import Result
from granite import Command, load
from granite.drivers.device_set import DeviceSet
from granite.rt.devices import build_subset
from tests.support.emulated_bus import EmulatedServo, emulated
from tests.support.emulated_moteus import EmulatedFdcanusb, EmulatedMoteus
from tests.support.mocap_servers import SERVERS, MocapServer
from tests.support.text_peer import text_peer

_TICK_S = 0.005
_TICKS = 400
_IDS = {"shoulder": 1, "elbow": 2}


def measure() -> Iterator[Result]:
    """Median and 99 % of each driver."""
    for server in SERVERS:
        yield from _result(f"{server.kind}: a pose", _pose(server))
    with text_peer(lambda line: b"" if line else b"0.125\n") as peer:
        driver = {"kind": "serial_text", "port": peer.port}
        yield from _result("serial_text: a gyro", _times(_devices({"gyro": driver})))
    with text_peer(lambda line: line + b"\n" if line else b"") as peer:
        driver = {"kind": "serial_text", "port": peer.port}
        yield from _result("serial_text: two motors", _times(_devices({"motors": driver})))
    with text_peer(EmulatedFdcanusb(EmulatedMoteus(1), EmulatedMoteus(2))) as peer:
        driver = {"kind": "moteus", "port": peer.port, "ids": _IDS}
        yield from _result("moteus: two servos", _times(_devices({"joint_sensors": driver, "motors": driver})))
    for fast in (False, True):
        with emulated(EmulatedServo(1), EmulatedServo(2)) as bus:
            driver = {"kind": "dynamixel", "port": bus.port, "ids": _IDS, "fast_read": fast}
            motors = {**driver, "torque_n_m_per_a": dict.fromkeys(_IDS, 1.8)}
            name = f"dynamixel: two servos{', fast read' if fast else ''}"
            yield from _result(name, _times(_devices({"joint_sensors": driver, "motors": motors})))


def _devices(drivers: dict[str, dict[str, Any]]) -> DeviceSet:
    changes: dict[str, Any] = {"devices.gyro": {}} if "gyro" in drivers else {}
    changes |= {f"devices.{name}.driver": driver for name, driver in drivers.items()}
    devices, _ = build_subset(load("free-flyer", changes), list(drivers), [])
    return devices


def _pose(kind: type[MocapServer]) -> np.ndarray:
    with ExitStack() as stack:
        server = kind()
        stack.callback(server.close)
        driver = {"kind": server.kind, "server": "127.0.0.1", server.key: "base", "processing_s": 0.004}
        driver |= server.options
        if server.kind == "vicon":
            del driver["server"]
        devices = _devices({"vision": driver})

        def send(number: int) -> None:
            server.send(server.frame(300_000 + number, time.monotonic(), {"base": (1.0, 0.5, 0.1)}))

        return _times(devices, send)


def _times(devices: DeviceSet, send: Callable[[int], None] | None = None) -> np.ndarray:
    """Processor time of the loop's thread in each tick [s]; peers are threads of their own."""
    devices.open()
    setpoints = tuple(np.zeros(len(frame.values)) for frame in devices.applied)
    times = []
    began = time.monotonic()
    for k in range(_TICKS):
        if send is not None:
            send(k)
        time.sleep(max(0.0, began + k * _TICK_S - time.monotonic()))
        t = time.monotonic() - began
        before = time.thread_time()
        devices.read(t)
        devices.write(t, Command(t, setpoints, np.zeros(0)))
        times.append(time.thread_time() - before)
    devices.stop(time.monotonic() - began, paced=True)
    devices.close()
    return np.array(times[_TICKS // 4 :])


def _result(name: str, times: np.ndarray) -> Iterator[Result]:
    high = f"99 % {1e6 * np.percentile(times, 99):.0f} us"
    yield Result(f"{name}, a tick", "us", 1e6 * float(np.median(times)), None, high, "", None)
