"""The outside of a rehearsal: emulated boards, cameras and the plant, each in a process of its own behind real ports.

Boards are the host build of the firmware, on pseudo-terminals; poses come as a stream over UDP, frames of cameras in
shared memory. Which boards and
channels there are follows from the testbed's devices. All processes end with this one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, TextIO

from granite.config.errors import InputError, PlantLostError, one_of
from granite.config.loader import to_json
from granite.config.records import Array, Truth
from granite.config.testbed import Testbed
from granite.drivers.device_set import DeviceSet
from granite.drivers.ordered_process import OrderedProcess
from granite.rt.devices import build_devices
from granite.rt.half_real import refuse_open_loops
from granite.rt.loop.clock import RealClock
from granite.rt.rehearsal.board_program import board_program
from granite.rt.rehearsal.rehearsed_cameras import MEMORY, RehearsedCameras, left_behind
from granite.sim.emulation.shared_truth import SharedTruth
from granite.sim.emulation.wiring import WiredBoard, is_pose, wire
from granite.sim.mirror import MirroredActuator, watchdog_of

_FOLDER = "granite-rehearsal-"
_START_S = 10.0
#: the plant may have to compile its model
_PLANT_START_S = 600.0
_END_S = 5.0
#: of the boards. On a loaded machine a byte through a pseudo-terminal can take
#: longer than the 20 ms of a real board [s]
_WATCHDOG_S = 0.1
#: a plant that is later than this is lost [s]
_LOST_S = 0.25
#: a board does not answer while the plant's measurements are older than this: it would date them now [ms]
_FRESH_MS = 10
#: before the boards: they must run before their host
_BOARD_PRIORITY = 90


class Rehearsal:
    """Boards and plant of a testbed, running.

    Attributes
    ----------
    bed : Testbed
        With the drivers of the emulated devices.
    boards : dict
        The process of each board, by its name.
    plant : OrderedProcess
        The process of the plant.
    cameras : RehearsedCameras
        The processes that render the frames of its cameras.
    """

    def __init__(self, bed: Testbed, folder: Path, watchdog_s: float | None = None, real: Collection[str] = ()) -> None:
        self.boards: dict[str, subprocess.Popen[str]] = {}
        self.plant: OrderedProcess | None = None
        self._folder, self._wired, self._real = folder, wire(bed, real), real
        self.cameras = RehearsedCameras(bed, folder, real)
        self._shared: SharedTruth | None = None
        self._streams = {
            name: f"udp://127.0.0.1:{_free_port()}"
            for name in bed.sensors
            if is_pose(bed.sensors[name], bed) and name not in real
        }
        #: of the boards: two ticks are the least
        self.watchdog_s = watchdog_s or max(_WATCHDOG_S, 4 * bed.loop.period_s)
        self._bed = bed
        self.bed = bed.with_changes(self._drivers())
        self._sizes: list[int] = []

    def start(self) -> None:
        """Start all processes.

        Raises
        ------
        InputError
            Where one does not start; the sentence is its own.
        """
        program = board_program() if self._wired else None
        for board in self._wired:
            assert program is not None
            self.boards[board.name] = _start_board(program, self._folder, board)
        for name, process in self.boards.items():
            _wait_for_board(process, self._folder / f"{name}.port")
        self._shared = SharedTruth()
        self.cameras.start()
        order = {
            "bed": to_json(self.bed),
            "worlds": [str(self._folder / f"{board.name}.world") for board in self._wired],
            "streams": self._streams,
            "cameras": self.cameras.sockets,
            "truth": self._shared.descriptor,
            "real": {name: watchdog_of(self.bed, name) for name in self._real},
        }
        self.plant = OrderedProcess("granite.sim.emulation.plant_process", order, (self._shared.descriptor,))
        answer = self.plant.answer(_PLANT_START_S)
        if "sizes" not in answer:
            raise InputError(f"the plant of the rehearsal did not start: {answer.get('failure')}")
        self._sizes = answer["sizes"]

    def build_devices(self) -> DeviceSet:
        """The devices of the testbed behind their real drivers."""
        return build_devices(self.bed, simulate=(), twins={name: self._mirrored(name) for name in self._real})[0]

    def clock(self, spin_s: float) -> RealClock:
        """The clock of the run; its start releases the robot."""
        return _ReleasingClock(self, spin_s)

    def release(self, zero_ns: int) -> None:
        """Let go of the robot: the run starts at this time of the clock since boot [ns]."""
        assert self.plant is not None
        self.plant.tell({"release_ns": zero_ns})

    def press_emergency_stop(self, is_pressed: bool = True) -> None:
        """Press or release the emergency stop inputs of all boards."""
        assert self.plant is not None
        self.plant.tell({"emergency_stop": is_pressed})

    def truth(self, t: float) -> Truth:
        """The newest true state of the plant, near time t [s].

        Raises
        ------
        PlantLostError
            Where the plant does not move any more.
        """
        truth, _ = self._newest()
        if t - truth.t > _LOST_S:
            raise PlantLostError(self._why_lost())
        return truth

    def outputs(self) -> Array:
        """Of each board: its time at the newest change of its outputs [us], and whether all but grips are at zero."""
        return self._newest()[1].reshape(-1, 2)

    def stop(self) -> None:
        """End all processes."""
        if self.plant is not None:
            self.plant.end(_END_S)
        self.cameras.stop()
        for board in self.boards.values():
            board.terminate()
        for board in self.boards.values():
            try:
                board.wait(_END_S)
            except subprocess.TimeoutExpired:
                board.kill()
                board.wait()
            if board.stderr is not None:
                board.stderr.close()
        if self._shared is not None:
            self._shared.close()

    def _mirrored(self, name: str) -> Callable[[Any], Any]:
        """Lets a real actuator move the plant."""
        assert self.plant is not None
        twin = _DistantTwin(self.plant, name)
        return lambda actuator: MirroredActuator(actuator, twin, watchdog_of(self.bed, name), lambda: 0.0)

    def _newest(self) -> tuple[Truth, Array]:
        assert self._shared is not None
        newest = self._shared.get(self._sizes, len(self._wired))
        if newest is None:
            raise PlantLostError("the plant of the rehearsal does not finish its step")
        return newest

    def _why_lost(self) -> str:
        """The plant's own words, if it has some."""
        assert self.plant is not None
        code = self.plant.poll()
        if code is None:
            return f"the plant of the rehearsal is more than {_LOST_S} s late"
        why = self.plant.answer(0.0).get("failure") if code == 0 else f"its process ended with code {code}"
        return f"the plant of the rehearsal is gone: {why}"

    def _drivers(self) -> dict[str, Any]:
        """The driver of each device, by key."""
        drivers: dict[str, Any] = {
            name: {"kind": "pose_stream", "address": address} for name, address in self._streams.items()
        }
        drivers |= self.cameras.drivers
        for board in self._wired:
            for device in board.devices:
                drivers[device.name] = {
                    "kind": "board",
                    "port": str(self._folder / f"{board.name}.port"),
                    "board": board.name,
                    "watchdog_s": self.watchdog_s,
                    "channels": {wire.signal: f"{wire.kind.name.lower()} {wire.name}" for wire in device.wires},
                }
        return {f"devices.{name}.driver": driver for name, driver in drivers.items()}


class _DistantTwin:
    """The simulated device of a real actuator, in the plant's process."""

    def __init__(self, plant: OrderedProcess, name: str) -> None:
        self._plant, self._name = plant, name
        self._n = 0

    def write(self, t: float, setpoint: Array) -> None:
        """Apply these values from now on."""
        self._n = len(setpoint)
        self._plant.tell({"device": self._name, "applied": setpoint.tolist()})

    def stop(self, t: float) -> None:
        """Go to zero."""
        self._plant.tell({"device": self._name, "applied": [0.0] * self._n})


class _ReleasingClock(RealClock):
    """The real clock; when it starts, the plant starts too."""

    def __init__(self, rehearsal: Rehearsal, spin_s: float) -> None:
        super().__init__(spin_s)
        self._rehearsal = rehearsal

    def start(self) -> None:
        """Now is zero."""
        super().start()
        self._rehearsal.release(self._zero_ns)


@contextlib.contextmanager
def rehearsal(bed: Testbed, watchdog_s: float | None = None, real: Collection[str] = ()) -> Iterator[Rehearsal]:
    """The running outside of a testbed; its processes end, and its ports go, with the context.

    Parameters
    ----------
    bed
        The testbed; its own drivers are not used, but for the real devices.
    watchdog_s
        Of the boards; None: 0.1 s, or four ticks.
    real
        Devices on their own ports: actuators move the plant by what they report.

    Raises
    ------
    InputError
        Where it can't be started, or a real device has no driver or can't close its loop with the emulated ones.
    """
    for name in real:
        if name not in bed.devices:
            raise InputError("no such device", key="real", value=name, expected=one_of(name, bed.devices))
        if getattr(bed.devices[name], "driver", None) is None:
            raise InputError.missing(f"devices.{name}.driver", "the driver of the real device, or a rehearsal without")
    refuse_open_loops(bed, [name for name in bed.devices if name not in real])
    _sweep()
    with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        made = Rehearsal(bed, Path(folder), watchdog_s, real)
        try:
            made.start()
            yield made
        finally:
            made.stop()


def _sweep() -> None:
    """Delete the folders and the shared memory of rehearsals that were killed."""
    for memory in left_behind(MEMORY, _FOLDER):
        with contextlib.suppress(OSError):
            memory.unlink()
    for folder in left_behind(Path(tempfile.gettempdir()), _FOLDER):
        shutil.rmtree(folder, ignore_errors=True)


def _start_board(program: Path, folder: Path, board: WiredBoard) -> subprocess.Popen[str]:
    layout = folder / f"{board.name}.layout"
    layout.write_text(board.layout)
    files = ("--port", folder / f"{board.name}.port", "--world", folder / f"{board.name}.world", "--layout", layout)
    options = ("--priority", str(_BOARD_PRIORITY), "--fresh-ms", str(_FRESH_MS), "--with-parent")
    return subprocess.Popen(
        [program, *files, *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def _wait_for_board(process: subprocess.Popen[str], port: Path) -> None:
    end = time.monotonic() + _START_S
    while not port.exists() or not port.with_suffix(".world").exists():
        if process.poll() is not None:
            raise InputError(f"a board of the rehearsal did not start: {_stream(process.stderr).read().strip()}")
        if time.monotonic() > end:
            raise InputError(f"a board of the rehearsal did not start in {_START_S:g} s")
        time.sleep(0.002)


def _stream(pipe: TextIO | Any) -> TextIO:
    assert pipe is not None
    stream: TextIO = pipe
    return stream


def _free_port() -> int:
    """A port of UDP that is free now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
