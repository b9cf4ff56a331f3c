"""Angles and rates of joints that come by a topic of ROS 2 (`sensor_msgs/JointState`).

In a testbed's file:

    [devices.joint_sensors]
    driver = { kind = "ros2_joint_states", topic = "/arm/joint_states", names = { elbow = "arm_joint_2" } }
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from granite.config.devices.joint_sensors import JointDevice
from granite.config.errors import InputError, one_of
from granite.config.testbed import Testbed
from granite.drivers.ros2.stamped_sensor import StampedSensor


class Ros2JointStates(StampedSensor):
    """The joints of the device, which are found by their names in each message."""

    Message = "sensor_msgs/msg/JointState"

    class Options(StampedSensor.Options):
        """The topic, and names in its messages."""

        #: by joint: its name in the messages, where that is another one
        names: dict[str, str] = Field(default_factory=dict)

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        super().__init__(options, name, bed)
        device = bed.devices[name]
        if not isinstance(device, JointDevice):
            expected = "sensors of joints, such as joint_sensors"
            raise InputError("joint states have no such signals", key="kind", value=options.kind, expected=expected)
        for joint in options.names:
            if joint not in device.joints:
                expected = one_of(joint, device.joints)
                raise InputError("no such joint", key="names", value=joint, expected=expected)
        self._names = [options.names.get(joint, joint) for joint in device.joints]
        self._has_angles = device.has_angles

    def _values(self, content: Any) -> list[float] | None:
        names = list(content.name)
        columns = [content.position, content.velocity] if self._has_angles else [content.velocity]
        if any(len(column) != len(names) for column in columns):
            return None
        try:
            at = [names.index(name) for name in self._names]
        except ValueError:
            return None
        return [float(column[i]) for column in columns for i in at]
