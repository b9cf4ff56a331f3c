"""Forces and moments at a hand that come by a topic of ROS 2 (`geometry_msgs/WrenchStamped`).

In a testbed's file:

    [devices.force_gauges]
    driver = { kind = "ros2_wrench", topic = "/wrist/wrench" }
"""

from __future__ import annotations

from typing import Any

from granite.config.devices.force_gauges import AXES, ForceGauges
from granite.config.errors import InputError
from granite.config.testbed import Testbed
from granite.drivers.ros2.stamped_sensor import StampedSensor


class Ros2Wrench(StampedSensor):
    """The components that the device has, in the axes of the message."""

    Message = "geometry_msgs/msg/WrenchStamped"

    def __init__(self, options: StampedSensor.Options, name: str, bed: Testbed) -> None:
        super().__init__(options, name, bed)
        device = bed.devices[name]
        if not isinstance(device, ForceGauges) or len(device.units) > 1:
            expected = "force_gauges with one unit: a message has one wrench"
            raise InputError("a wrench has no such signals", key="kind", value=options.kind, expected=expected)
        self._at = [AXES["spatial"].index(axis) for axis in device.measured_axes(bed, device.units[0])]

    def _values(self, content: Any) -> list[float] | None:
        force, moment = content.wrench.force, content.wrench.torque
        wrench = force.x, force.y, force.z, moment.x, moment.y, moment.z
        return [float(wrench[i]) for i in self._at]
