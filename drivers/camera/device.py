"""A camera at this computer: its frames are searched for targets in a process of its own, which sends the poses.

In a testbed's file, for a device of kind camera:

    driver = { kind = "camera", source = "0" }
"""

from __future__ import annotations

from granite.config.devices.camera import Camera
from granite.config.errors import InputError
from granite.config.loader import to_json
from granite.config.records import Frame, Status
from granite.config.testbed import Testbed
from granite.drivers.ordered_process import OrderedProcess
from granite.drivers.pose_stream.device import PoseOptions, PoseSensor
from granite.drivers.pose_stream.sockets import open_pair

#: from the start of the process to its first frame [s]
_START_S = 60.0
_END_S = 2.0
_BROKEN = int(Status.BROKEN)


class CameraDevice(PoseSensor):
    """Poses from the pixels of a camera; broken when the process of the vision sensor has ended."""

    class Options(PoseOptions):
        """Where the frames come from."""

        #: number of the camera, a video, a folder of pictures, or shared:NAME
        source: str = "0"

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        if not isinstance(bed.devices[name], Camera):
            expected = "a device of kind camera, with its targets, as free-flyer/camera has one"
            raise InputError("it finds targets in frames", key="kind", value=options.kind, expected=expected)
        super().__init__(options, None, name, bed)
        self._source = options.source
        self._name = name
        self._bed = bed
        #: of the vision sensor
        self.process: OrderedProcess | None = None

    def open(self) -> None:
        """Start the process, and wait for its first frame."""
        self._receiver, theirs = open_pair()
        with theirs:
            order = {"bed": to_json(self._bed), "device": self._name, "source": self._source, "socket": theirs.fileno()}
            self.process = OrderedProcess("granite.drivers.camera.vision_process", order, (theirs.fileno(),))
            failure = self.process.answer(_START_S).get("failure")
        if failure:
            self.close()
            raise InputError(failure, key="source", value=self._source, expected="a source of frames")

    def read(self, t: float) -> Frame:
        """The newest pose that has arrived; broken where none can come any more."""
        frame = super().read(t)
        if self.process is not None and self.process.poll() is not None:
            return frame._replace(status=_BROKEN)
        return frame

    def close(self) -> None:
        """End the process."""
        super().close()
        process = self.process
        self.process = None
        if process is not None:
            process.end(_END_S)

    @property
    def identity(self) -> str:
        """What it looks for, and where."""
        return f"body '{self._body}' in the frames of '{self._source}'"
