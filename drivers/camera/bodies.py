"""The bodies that the cameras of a testbed look for: their targets or tags, and the finder of them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from granite.config.devices.camera import Camera, Tag
from granite.config.errors import InputError
from granite.config.testbed import Testbed
from granite.drivers.camera.patterns import Pattern
from granite.drivers.camera.spots import FrameLike
from granite.drivers.camera.tags import TagFinder
from granite.drivers.camera.tracker import Sightings, Tracker, TrackMemory
from granite.drivers.camera.view import view_of


class Finder(Protocol):
    """A tracker of targets, or a finder of tags."""

    def see(self, memory: TrackMemory, frame: FrameLike, t: float) -> tuple[TrackMemory, Sightings]:
        """The poses in a frame."""


def camera_of(bed: Testbed) -> Camera:
    """The first camera of a testbed.

    Raises
    ------
    InputError
        Where it has none.
    """
    for device in bed.devices_of(Camera).values():
        return device
    raise InputError(
        "no device of kind camera", key="devices", expected="a camera, as free-flyer/camera has one", file=bed.name
    )


def patterns_of(bed: Testbed) -> list[Pattern]:
    """The pattern of every body that a camera device tracks by targets, by its name."""
    patterns = []
    for camera in bed.devices_of(Camera).values():
        if camera.targets:
            positions = np.array([target.position_m for target in camera.targets])
            radii = np.array([target.radius_m for target in camera.targets])
            patterns.append(Pattern(camera.target(bed).name, positions, radii))
    return patterns


def tags_of(bed: Testbed) -> dict[str, Tag]:
    """The tag of every body that a camera device tracks by one, by its name."""
    cameras = bed.devices_of(Camera).values()
    return {camera.target(bed).name: camera.tag for camera in cameras if camera.tag is not None}


def finder_of(bed: Testbed, camera: Camera) -> Finder:
    """The finder of the bodies that a camera sees."""
    view, gain = view_of(camera), camera.electrons_per_count
    if camera.tag is not None:
        return TagFinder(view, tags_of(bed))
    return Tracker(view, patterns_of(bed), 1 / gain if gain else 0.0)
