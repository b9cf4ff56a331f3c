"""What the camera of a testbed sees, frame by frame: rendered ones of a simulated run, or those of a real source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from granite.config.devices.camera import Camera
from granite.config.errors import InputError
from granite.config.testbed import Testbed
from granite.drivers.camera.centroid import Pixels
from granite.drivers.camera.picture import draw
from granite.drivers.camera.sources import open_source
from granite.drivers.camera.sources.folder import write_frame
from granite.drivers.camera.tags import TagFinder
from granite.drivers.camera.tracker import Seen, Tracker
from granite.drivers.camera.view import view_of
from granite.drivers.camera.watch import Finder, PoseReport, watch
from granite.mrds.tolerances import SAME_TIME_S
from granite.rt.environment import Environment
from granite.sim.camera.device import SimulatedCamera
from granite.sim.camera.scene import patterns_of, tags_of


class SeenFrame(NamedTuple):
    """A frame and what was seen in it."""

    pixels: Pixels
    seen: Seen


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


def simulated_views(bed: Testbed, every_s: float) -> Iterator[SeenFrame]:
    """Frames of a simulated run, one in `every_s` of its time."""
    camera_of(bed)
    env, due, last = Environment(bed), 0.0, -1.0
    assert env.run.lab is not None
    camera = next(observer for observer in env.run.lab.plant.observers if isinstance(observer, SimulatedCamera))
    while True:
        if camera.newest is not None:
            frame, seen = camera.newest
            if seen.t > last and seen.t >= due - SAME_TIME_S:
                last, due = seen.t, seen.t + every_s
                yield SeenFrame(np.asarray(frame), seen)
        if env.done:
            return
        env.step()


def real_views(bed: Testbed, source: str, every_s: float, duration_s: float) -> Iterator[SeenFrame]:
    """Frames of a camera, a video, a folder or shared memory, one in `every_s`, for `duration_s`."""
    camera, due, first = camera_of(bed), 0.0, None
    images = open_source(source, camera.size_px, camera.rate_hz)

    def publish(report: PoseReport) -> None:
        """Nobody listens."""

    for image, seen in watch(images, finder_of(bed), publish):
        first = image.t if first is None else first
        if image.t - first > duration_s:
            return
        if image.t - first >= due - SAME_TIME_S:
            due = image.t - first + every_s
            yield SeenFrame(image.pixels, seen)


def finder_of(bed: Testbed) -> Finder:
    """The finder of the bodies that a testbed's camera sees."""
    camera = camera_of(bed)
    view = view_of(camera)
    return Tracker(view, patterns_of(bed)) if camera.tag is None else TagFinder(view, tags_of(bed))


def write_views(bed: Testbed, views: Iterator[SeenFrame], folder: Path, raw: bool) -> list[Seen]:
    """Write the frames as pictures, with marks or as they are, and return what was seen in them."""
    view, found = view_of(camera_of(bed)), []
    for number, (pixels, seen) in enumerate(views, start=1):
        folder.mkdir(exist_ok=True)
        if raw:
            write_frame(folder, pixels, seen.t, number)
        else:
            draw(pixels, seen, view).save(folder / f"{number:06d}.png", compress_level=1)
        found.append(seen)
    return found
