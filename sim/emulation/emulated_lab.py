"""The lab behind emulated boards, pose streams and cameras: what the boards apply moves the plant, which is measured.

It has a shorter period than the loop: sensors are measured anew at each of them, and a board samples the newest values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from granite.config.devices.camera import Camera
from granite.config.devices.thrusters import Thrusters
from granite.config.devices.vision import Vision
from granite.config.loader import plant_of
from granite.config.records import NOTHING, Array, Truth
from granite.config.testbed import Testbed
from granite.drivers.pose_stream.device import body_name
from granite.drivers.pose_stream.message import PoseMessage
from granite.drivers.pose_stream.sockets import Sender
from granite.mrds.tolerances import SAME_TIME_S
from granite.sim.benches.held_plant import HeldPlant
from granite.sim.emulation.board_line import BoardLine, OutputChange
from granite.sim.emulation.camera_line import CameraLine, EmulatedCamera
from granite.sim.emulation.wiring import WiredDevice
from granite.sim.lab import Lab, without_shortest_pulse

#: longest time between two measurements of the sensors [s]
_LONGEST_PERIOD_S = 0.001


def plant_period(bed: Testbed) -> float:
    """Time from one measurement of the sensors to the next [s]: whole steps of the physics, at least two in a tick."""
    step = bed.simulation.physics_step_s
    return max(1, int(min(_LONGEST_PERIOD_S, bed.loop.period_s / 2) / step + 1e-9)) * step


def emulated_bed(bed: Testbed) -> Testbed:
    """The testbed as the plant's process has it: its own period, and boards that keep the valves' shortest pulse."""
    plant = plant_of(bed)
    loop = plant.loop.model_copy(update={"period_s": plant_period(bed)})
    return without_shortest_pulse(plant, plant.devices).model_copy(update={"loop": loop})


class PoseSource(NamedTuple):
    """A simulated pose sensor, and where its poses go."""

    name: str
    body: str
    is_continuous: bool  #: it measures whenever it is read
    sender: Sender


class TwinInputs:
    """What a real actuator reported last, as set points of its twin; a silent one is stopped by its watchdog."""

    def __init__(self, is_valve: bool, watchdog_s: float) -> None:
        self._is_valve, self._watchdog_s = is_valve, watchdog_s
        self._values: Array | None = None
        self._until: Array = NOTHING
        self._heard = 0.0

    def take(self, values: Array, t: float, tick_s: float) -> None:
        """Values of a report at time t: of valves, the part of a tick that they were open."""
        self._values, self._heard = values, t
        # One that was open all the time stays open until the next report.
        self._until = np.where(values >= 1.0, np.inf, t + values * tick_s)

    def setpoint(self, before: Array, t: float, period_s: float) -> Array:
        """The set point at time t, for a period; that of before where nothing was reported."""
        if self._values is None:
            return before
        if t - self._heard > self._watchdog_s:
            return np.zeros(len(self._values))
        return np.clip((self._until - t) / period_s, 0.0, 1.0) if self._is_valve else self._values


class EmulatedLab:
    """Plant, simulated devices, and the lines to their boards.

    Attributes
    ----------
    period_s : float
        From one measurement of the sensors to the next.
    """

    def __init__(
        self,
        bed: Testbed,
        lines: Sequence[BoardLine],
        streams: Mapping[str, Sender],
        cameras: Mapping[str, CameraLine],
        real: Mapping[str, float] | None = None,
    ) -> None:
        self._lines, own = lines, emulated_bed(bed)
        simulated = [name for name in bed.devices if name not in (real or {}) or name in bed.actuators]
        self.period_s, self._tick_s = own.loop.period_s, bed.loop.period_s
        self._lab = Lab(own)
        measured = [name for name in bed.sensors if name in simulated and name not in cameras]
        held = {name: self._lab.held_sensor(name) for name in measured}
        self._running: dict[str, Any] = {name: self._lab.device(name) for name in simulated if name not in cameras}
        #: sensors of the held plant until it is released
        self._sensors: dict[str, Any] = held
        self._setpoints: dict[str, Array] = {
            name: np.array(device.initial(own), dtype=np.float64) for name, device in bed.actuators.items()
        }
        self._twins = {
            name: TwinInputs(isinstance(bed.devices[name], Thrusters), watchdog_s)
            for name, watchdog_s in (real or {}).items()
            if name in bed.actuators
        }
        self._holds = {name for name, device in bed.actuators.items() if device.holds_at_rest}
        self._switched = {name: self._setpoints[name] == 0.0 for name in self._holds}
        self._poses = [
            PoseSource(name, body_name(bed.sensors[name], bed), _is_continuous(bed, name), sender)
            for name, sender in streams.items()
        ]
        self._sent = {source.name: (0, -np.inf) for source in self._poses}
        self._numbers = dict.fromkeys(self._sent, 0)
        self._camera_lines = cameras
        #: those of the held plant until it is released
        self._cameras = {name: self._camera(own, name, HeldPlant(self._lab.plant)) for name in cameras}
        self._running_cameras = {name: self._camera(own, name, self._lab.plant) for name in cameras}

    def release(self) -> None:
        """Let go of the robot: from now on time is that of the run."""
        self._sensors, self._cameras = self._running, self._running_cameras
        self._sent = dict.fromkeys(self._sent, (0, -np.inf))

    def change(self, line: BoardLine, change: OutputChange, t: float) -> None:
        """Take over new outputs of a board at time t [s]."""
        at = 0
        for device in line.board.devices:
            if device.is_actuator:
                n = len(device.wires)
                self._set(device, device.values(change.counts[at : at + n]))
                at += n
        self.apply(t)

    def take(self, name: str, values: Sequence[float], t: float) -> None:
        """Take over what a real actuator reports at time t [s]."""
        self._twins[name].take(np.array(values, dtype=np.float64), t, self._tick_s)

    def apply(self, t: float) -> None:
        """Command the simulated actuators as their boards do, and as real ones report, at time t [s]."""
        for name, twin in self._twins.items():
            self._setpoints[name] = twin.setpoint(self._setpoints[name], t, self.period_s)
        for name, setpoint in self._setpoints.items():
            self._running[name].write(t, setpoint)

    def advance(self, t: float) -> None:
        """Move the plant to time t [s]."""
        self._lab.advance(t)

    def measure(self, t: float, now: float) -> None:
        """Measure all sensors at time t [s], and send what they measured; `now` is the sender's clock [s]."""
        for line in self._lines:
            line.send([
                device.counts(self._sensors[device.name].read(t).values)
                for device in line.board.devices
                if not device.is_actuator
            ])  # fmt: skip
        for source in self._poses:
            self._send_pose(source, t, now)
        for name, camera in self._cameras.items():
            for exposed in camera.take(t):
                self._camera_lines[name].send(exposed, now - t)

    def truth(self, t: float) -> Truth:
        """True state of the plant."""
        return self._lab.truth(t)

    def _camera(self, bed: Testbed, name: str, plant: Any) -> EmulatedCamera:
        table = bed.devices[name]
        assert isinstance(table, Camera)
        return EmulatedCamera(table, plant, self._lab.random_numbers(name, bed.seed))

    def _set(self, device: WiredDevice, values: Array) -> None:
        """A grip keeps its state of the start until its board has switched it once: boards start with open ones."""
        if device.name in self._holds:
            self._switched[device.name] |= values != 0.0
            values = np.where(self._switched[device.name], values, self._setpoints[device.name])
        self._setpoints[device.name] = values

    def _send_pose(self, source: PoseSource, t: float, now: float) -> None:
        """Send a new pose; a sensor that measures at any time is sent once per tick."""
        frame = self._sensors[source.name].read(t)
        number, before = self._sent[source.name]
        is_early = source.is_continuous and before <= frame.t < before + self._tick_s - SAME_TIME_S
        if frame.number in (0, number) or is_early:
            return
        self._sent[source.name] = frame.number, frame.t
        self._numbers[source.name] += 1
        x, y, heading = frame.values.tolist()
        exposed = now - (t - frame.t)
        message = PoseMessage.planar(source.body, self._numbers[source.name], exposed, now, (x, y, heading))
        source.sender.send(message.pack())


def _is_continuous(bed: Testbed, name: str) -> bool:
    device = bed.devices[name]
    return isinstance(device, Vision) and device.simulated.perfect
