"""The vision sensor as a process: frames in, poses with their exposure times out, through one function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from granite.config.records import Array
from granite.drivers.camera.sources import Image
from granite.drivers.camera.spots import FrameLike
from granite.drivers.camera.tracker import NO_MEMORY, Seen, TrackMemory


class PoseReport(NamedTuple):
    """What a vision sensor publishes of a body in a frame."""

    body: str
    number: int  #: of the frame
    exposed: float  #: middle of the exposure [s]
    pose: Array  #: x [m], y [m], heading [rad]
    deviation: Array  #: one standard deviation of each


class Finder(Protocol):
    """A tracker of targets, or a finder of tags."""

    def see(self, memory: TrackMemory, frame: FrameLike, t: float) -> tuple[TrackMemory, Seen]:
        """The poses in a frame."""


Publish = Callable[[PoseReport], None]


def watch(images: Iterable[Image], finder: Finder, publish: Publish) -> Iterator[tuple[Image, Seen]]:
    """Publish every pose in the frames, and yield what was seen.

    Parameters
    ----------
    images
        Of a source.
    finder
        Of the bodies.
    publish
        Called once for each body in each frame.
    """
    memory = NO_MEMORY
    for image in images:
        memory, seen = finder.see(memory, image.pixels, image.t)
        for sighting in seen.sightings:
            publish(PoseReport(sighting.body, image.number, image.t, sighting.pose, sighting.deviation))
        yield image, seen
