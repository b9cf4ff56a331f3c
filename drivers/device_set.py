"""All devices of a testbed behind two verbs: read gives a `Sample`, write takes a `Command`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite.config.records import Applied, Command, Sample, new
from granite.config.testbed import Testbed
from granite.drivers.contract import Actuator, Frame, Sensor

_FLOAT64 = np.dtype(np.float64)


@dataclass
class DeviceSet:
    """The devices a loop reads and writes; any of them may be simulated. A testbed without one has None there.

    What a device gives must be float64: behind this door arrays are joined as they lie in memory.
    """

    bed: Testbed
    joint_sensors: Sensor | None
    vision: Sensor | None
    motors: Actuator | None
    thrusters: Actuator | None
    grips: Actuator | None = None

    def __post_init__(self) -> None:
        devices = self.bed.devices
        self._n_sensed = len(devices.joint_sensors.joints) if devices.joint_sensors else 0
        n_thrusters = len(devices.thrusters.units) if devices.thrusters else 0
        self._no_joints = Frame(np.nan, 0, np.full(2 * self._n_sensed, np.nan))
        self._no_pose = Frame(np.nan, 0, np.full(3, np.nan))
        self._nothing = np.zeros(0)
        self._applied = Applied(
            0.0, np.zeros(len(devices.motors)), np.zeros(n_thrusters), np.zeros(len(self.bed.grips))
        )

    def open(self) -> None:
        """Take hold of every device; if one fails, let go of those already held."""
        held: list[Sensor | Actuator] = []
        try:
            for device in self._all():
                device.open()
                held.append(device)
        except BaseException:
            for device in reversed(held):
                device.close()
            raise

    def read(self, t: float) -> Sample:
        """What was measured by time t, and what the actuators did since the last tick."""
        joint_taken, joint_count, joints = self.joint_sensors.read(t) if self.joint_sensors else self._no_joints
        pose_taken, pose_count, pose = self.vision.read(t) if self.vision else self._no_pose
        if joints.dtype is not _FLOAT64 or pose.dtype is not _FLOAT64:
            raise TypeError(f"sensors gave {joints.dtype} and {pose.dtype}, expected float64")
        angle, rate = joints[: self._n_sensed], joints[self._n_sensed :]
        return new(
            Sample,
            (t, joint_taken, float(joint_count), angle, rate, pose_taken, float(pose_count), pose, self._applied),
        )

    def write(self, t: float, command: Command) -> Applied:
        """Send the command; what was applied comes back, and again with the next sample."""
        torque = self.motors.write(t, command.torque) if self.motors else self._nothing
        opening = self.thrusters.write(t, command.opening) if self.thrusters else self._nothing
        grip = self.grips.write(t, command.grip) if self.grips else self._nothing
        if torque.dtype is not _FLOAT64 or opening.dtype is not _FLOAT64 or grip.dtype is not _FLOAT64:
            raise TypeError(f"actuators applied {torque.dtype}, {opening.dtype} and {grip.dtype}, expected float64")
        self._applied = new(Applied, (t, torque, opening, grip))
        return self._applied

    def stop(self, t: float) -> None:
        """Valves closed, motors at zero, grips as they are: each actuator gets its stop, even if another one fails."""
        failure: BaseException | None = None
        for actuator in (self.thrusters, self.motors, self.grips):
            if actuator is not None:
                try:
                    actuator.stop(t)
                except BaseException as error:  # a broken actuator must not keep the next one running
                    failure = failure or error
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Let go of every device."""
        for device in self._all():
            device.close()

    def _all(self) -> list[Sensor | Actuator]:
        return [d for d in (self.joint_sensors, self.vision, self.motors, self.thrusters, self.grips) if d is not None]
