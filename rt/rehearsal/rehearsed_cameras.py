"""The cameras of a rehearsal: each has a process that renders its frames into shared memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from granite.config.devices.camera import Camera
from granite.config.errors import InputError
from granite.config.loader import to_json
from granite.config.testbed import Testbed
from granite.drivers.camera.sources import SHARED
from granite.drivers.ordered_process import OrderedProcess

_START_S, _END_S = 60.0, 2.0
#: where the system keeps shared memory, by name
MEMORY = Path("/dev/shm")


class RehearsedCameras:
    """The renderers of all cameras of a testbed that are not real.

    Attributes
    ----------
    processes : dict
        The renderer of each camera, by the name of its device.

    Raises
    ------
    InputError
        Where a timed event changes the poses of a camera, which come from pixels, or a device with the driver of a
        camera is none.
    """

    def __init__(self, bed: Testbed, folder: Path, real: Collection[str] = ()) -> None:
        self.processes: dict[str, OrderedProcess] = {}
        self._bed, names = bed, [name for name in bed.devices_of(Camera) if name not in real]
        #: where each renderer takes its exposures
        self.sockets = {name: str(folder / f"{name}.exposures") for name in names}
        self._memories = {name: f"{folder.name}-{name}" for name in names}
        for name, device in bed.sensors.items():
            if device.driver is not None and device.driver.kind == "camera" and name not in (*names, *real):
                expected = "a device of kind camera, with its targets, as free-flyer/camera has one"
                raise InputError("it finds targets in frames", key=f"devices.{name}.driver", expected=expected)
        for event in bed.simulation.events:
            hit = getattr(event, "device", None)
            if hit in names:
                expected = "another device: in a rehearsal the poses of a camera come from its frames"
                raise InputError(key="simulation.events.device", value=hit, expected=expected)

    @property
    def drivers(self) -> dict[str, Any]:
        """The driver of each camera."""
        return {name: {"kind": "camera", "source": f"{SHARED}{memory}"} for name, memory in self._memories.items()}

    def start(self) -> None:
        """Start all renderers."""
        bed = to_json(self._bed)
        for name, path in self.sockets.items():
            order = {"bed": bed, "camera": name, "socket": path, "memory": self._memories[name]}
            self.processes[name] = OrderedProcess("granite.sim.emulation.renderer_process", order)
        for name, process in self.processes.items():
            if failure := process.answer(_START_S).get("failure"):
                raise InputError(f"the renderer of '{name}' did not start: {failure}")

    def stop(self) -> None:
        """End them, and remove what a killed one left."""
        for process in self.processes.values():
            process.end(_END_S)
        for memory in self._memories.values():
            remove_memory(memory)


def remove_memory(name: str) -> None:
    """Remove shared memory, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(MEMORY / name)


def left_behind(folder: Path, prefix: str) -> Iterator[Path]:
    """What processes that are gone have left; its name is the prefix, their number, and more."""
    for left in folder.glob(f"{prefix}[0-9]*-*"):
        process = left.name.removeprefix(prefix).partition("-")[0]
        with contextlib.suppress(OSError):
            if not Path("/proc", process).exists() and left.lstat().st_uid == os.geteuid():
                yield left
