"""The vision sensor on a source of frames: what is seen in each, and its poses as the messages of a pose stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from granite.drivers.camera.sources import Image
from granite.drivers.camera.spots import FrameLike
from granite.drivers.camera.tracker import NO_MEMORY, Sightings, TrackMemory
from granite.drivers.pose_stream.message import PoseMessage
from granite.drivers.pose_stream.sockets import Sender


class Finder(Protocol):
    """A tracker of targets, or a finder of tags."""

    def see(self, memory: TrackMemory, frame: FrameLike, t: float) -> tuple[TrackMemory, Sightings]:
        """The poses in a frame."""


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
