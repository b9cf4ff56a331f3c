"""What the camera of a testbed sees, frame by frame: rendered ones of a simulated run, or those of a real source."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from granite.config.devices.camera import Camera
from granite.config.testbed import Testbed
from granite.drivers.camera.bodies import camera_of, finder_of
from granite.drivers.camera.centroid import Pixels
from granite.drivers.camera.picture import draw
from granite.drivers.camera.sources import open_source
from granite.drivers.camera.sources.folder import write_frame
from granite.drivers.camera.tracker import Sightings
from granite.drivers.camera.view import view_of
from granite.drivers.camera.watch import vision, watch
from granite.drivers.pose_stream.sockets import open_sender
from granite.mrds.tolerances import SAME_TIME_S
from granite.rt.environment import Environment
from granite.sim.camera.device import SimulatedCamera


class SeenFrame(NamedTuple):
    """A frame and what was seen in it."""

    pixels: Pixels
    seen: Sightings


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
    for image, seen in watch(images, finder_of(bed, camera)):
        first = image.t if first is None else first
        if image.t - first > duration_s:
            return
        if image.t - first >= due - SAME_TIME_S:
            due = image.t - first + every_s
            yield SeenFrame(image.pixels, seen)


class PublishedFrames(NamedTuple):
    """Frames whose poses were sent so far."""

    t: float  #: since the first frame [s]
    frames: int
    poses: dict[str, int]  #: of each body
    age_s: float  #: mean time from exposure to sending


def published(
    bed: Testbed, source: str, address: str, every_s: float, duration_s: float | None
) -> Iterator[PublishedFrames]:
    """Send the poses in the frames of a source to an address, and yield their number every so often and at the end."""
    camera, sender = camera_of(bed), open_sender(address)
    poses = {other.target(bed).name: 0 for other in bed.devices_of(Camera).values()}
    first, due, frames, age, t = None, every_s, 0, 0.0, 0.0
    try:
        for image, seen in vision(bed, camera, source, sender):
            first = image.t if first is None else first
            t, frames, age = image.t - first, frames + 1, age + time.monotonic() - image.t
            for sighting in seen.sightings:
                poses[sighting.body] += 1
            if duration_s is not None and t >= duration_s:
                break
            if t >= due:
                due = t + every_s
                yield PublishedFrames(t, frames, poses, age / frames)
    finally:
        sender.close()
    yield PublishedFrames(t, frames, poses, age / max(frames, 1))


def write_views(bed: Testbed, views: Iterator[SeenFrame], folder: Path, raw: bool) -> list[Sightings]:
    """Write the frames as pictures, with marks or as they are, and return what was seen in them."""
    view, sightings = view_of(camera_of(bed)), []
    for number, (pixels, seen) in enumerate(views, start=1):
        folder.mkdir(exist_ok=True)
        if raw:
            write_frame(folder, pixels, seen.t, number)
        else:
            draw(pixels, seen, view).save(folder / f"{number:06d}.png", compress_level=1)
        sightings.append(seen)
    return sightings
