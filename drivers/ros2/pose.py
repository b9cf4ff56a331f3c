"""A rigid body whose pose comes by a topic of ROS 2 (`geometry_msgs/PoseStamped`), as a pose sensor.

In a testbed's file:

    [devices.vision]
    driver = { kind = "ros2_pose", topic = "/vrpn_mocap/base/pose", processing_s = 0.008 }
"""

from __future__ import annotations

from granite.config.testbed import Testbed
from granite.drivers.pose_stream.device import MocapOptions, PoseSensor
from granite.drivers.pose_stream.message import PoseMessage
from granite.drivers.ros2.topic import TopicName, TopicReceiver, seconds

_KIND = "geometry_msgs/msg/PoseStamped"


class Ros2Pose(PoseSensor):
    """The pose of a body; the stamp of its header is the time of the exposure."""

    class Options(MocapOptions):
        """Topic and frame."""

        #: of geometry_msgs/PoseStamped
        topic: TopicName
        #: name of the frame in which the poses are; poses in others are not used
        frame: str = "world"

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        super().__init__(options, options.frame, name, bed)
        self._ros2, self._number = options, 0
        self._topic: TopicReceiver | None = None

    def open(self) -> None:
        """Find the publisher, and a first message."""
        self._receiver = self._topic = TopicReceiver(self._ros2.topic, _KIND)

    @property
    def identity(self) -> str:
        """The topic."""
        return f"poses of {self._ros2.topic} in '{self._ros2.frame}'"

    def _message(self, received: bytes) -> PoseMessage | None:
        assert self._topic is not None
        if (content := self._topic.content(received)) is None:
            return None
        self._number += 1  # messages have no number of the sender
        exposed, point, turn = seconds(content.header.stamp), content.pose.position, content.pose.orientation
        position, quaternion = (point.x, point.y, point.z), (turn.w, turn.x, turn.y, turn.z)
        sent = exposed + self._ros2.processing_s
        message = PoseMessage(content.header.frame_id, self._number, exposed, sent, position, quaternion)
        return message.turned_upright() if self._ros2.up == "y" else message
