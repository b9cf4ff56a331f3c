"""The vision sensor of a testbed: frames of a source in, a stream of poses out."""

from __future__ import annotations

import time
from collections.abc import Iterator

from granite.config.devices.camera import Camera
from granite.config.testbed import Testbed
from granite.drivers.camera.bodies import finder_of
from granite.drivers.camera.sources import Image, live, open_source
from granite.drivers.camera.tracker import Sightings
from granite.drivers.camera.watch import publish, watch
from granite.drivers.pose_stream.device import body_name
from granite.drivers.pose_stream.sockets import Sender


def vision(bed: Testbed, camera: Camera, source: str, sender: Sender) -> Iterator[tuple[Image, Sightings]]:
    """Send the poses of all bodies in every frame, and yield what was seen, until the source ends.

    Raises
    ------
    InputError
        Where there is no such source, or its frames have another size.
    """
    names = {other.target(bed).name: body_name(other, bed) for other in bed.devices_of(Camera).values()}
    finder = finder_of(bed, camera)

    def exposed() -> float:
        """Time of exposure of a frame that arrives now, where its driver gives none."""
        return time.monotonic() - camera.latency_s

    images = live(open_source(source, camera.size_px, camera.rate_hz, exposed), source)
    for image, seen in watch(images, finder):
        publish(sender, names, image, seen)
        yield image, seen
