"""The pose that the autopilot PX4 estimates, as a pose sensor (`px4_msgs/VehicleOdometry`).

In a testbed's file:

    [devices.vision]
    driver = { kind = "px4_odometry" }
"""

from __future__ import annotations

from granite.config.testbed import Testbed
from granite.drivers.pose_stream.device import PoseOptions, PoseSensor
from granite.drivers.pose_stream.message import PoseMessage
from granite.drivers.ros2.px4_messages import ODOMETRY
from granite.drivers.ros2.topic import TopicName, TopicReceiver


class Px4Odometry(PoseSensor):
    """Axes of PX4 are forward, right, down; here x is forward, y left, z up. Times are those of its sample."""

    class Options(PoseOptions):
        """The topic, and where its frame is."""

        #: of px4_msgs/VehicleOdometry
        topic: TopicName = "/fmu/out/vehicle_odometry"

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        super().__init__(options, "px4", name, bed)
        self._px4, self._number = options, 0
        self._topic: TopicReceiver | None = None

    def open(self) -> None:
        """Find the publisher, and a first message."""
        self._receiver = self._topic = TopicReceiver(self._px4.topic, ODOMETRY)

    @property
    def identity(self) -> str:
        """The topic."""
        return f"poses of PX4, {self._px4.topic}"

    def _message(self, received: bytes) -> PoseMessage | None:
        assert self._topic is not None
        if (content := self._topic.content(received)) is None:
            return None
        self._number += 1  # messages have no number of the sender
        (x, y, z), (qw, qx, qy, qz) = content.position.tolist(), content.q.tolist()
        exposed, sent = 1e-6 * content.timestamp_sample, 1e-6 * content.timestamp
        # Without an estimate PX4 says NaN: nothing that can be used, and no fault.
        is_tracked = x == x and qw == qw
        return PoseMessage("px4", self._number, exposed, sent, (x, -y, -z), (qw, qx, -qy, -qz), is_tracked)
