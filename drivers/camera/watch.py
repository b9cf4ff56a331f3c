"""The vision sensor on a source of frames: what is seen in each, and its poses as the messages of a pose stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from granite.config.devices.camera import Camera
from granite.config.testbed import Testbed
from granite.drivers.camera.bodies import Finder, finder_of
from granite.drivers.camera.sources import Image, live, open_source
from granite.drivers.camera.tracker import NO_MEMORY, Sightings
from granite.drivers.pose_stream.device import body_name
from granite.drivers.pose_stream.message import PoseMessage
from granite.drivers.pose_stream.sockets import Sender


def watch(images: Iterable[Image], finder: Finder) -> Iterator[tuple[Image, Sightings]]:
    """Every frame of a source, with what is seen in it."""
    memory = NO_MEMORY
    for image in images:
        memory, seen = finder.see(memory, image.pixels, image.t)
        yield image, seen


def publish(
    sender: Sender,
    names: Mapping[str, str],
    image: Image,
    seen: Sightings,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Send the pose of each body in a frame; one that is not seen is sent as such.

    Parameters
    ----------
    sender
        Of the stream.
    names
        Of the bodies in the messages, by their names for the finder.
    image, seen
        Their times are of the clock.
    """
    sightings = {sighting.body: sighting for sighting in seen.sightings}
    for body, name in names.items():
        sighting = sightings.get(body)
        if sighting is None:
            pose, deviation = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        else:
            pose = _three(sighting.pose.tolist())
            deviation = _three(sighting.deviation.tolist())
        message = PoseMessage.planar(name, image.number, image.t, clock(), pose, deviation)
        sender.send(message._replace(is_tracked=sighting is not None).pack())


def _three(numbers: list[float]) -> tuple[float, float, float]:
    x, y, heading = numbers
    return x, y, heading


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
