"""The vision sensor on frames of 1280 x 1024: time for a frame and error, beside OpenCV's blob detector and AprilTags.

The same rendered frames for all: bodies of four targets that move, one and two of them. The blob detector finds the
targets in the whole image, bright ones of their size only; it has no tracking.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence

import cv2
import numpy as np

from benchmarks.result import Result
from granite.config.devices.camera import Tag
from granite.config.loader import load
from granite.drivers.camera.patterns import Pattern
from granite.drivers.camera.pose import placed
from granite.drivers.camera.spots import search
from granite.drivers.camera.tags import TagFinder
from granite.drivers.camera.tracker import NO_MEMORY, Tracker
from granite.rt.api import simulate
from granite.sim.camera.render import NoiseBank, RenderedFrame
from granite.sim.camera.tag_light import tag_light
from tests.support.moving_bodies import (
    EIGHT,
    FIELD_M,
    FOUR,
    NOISY,
    OTHER,
    VIEW,
    crossings,
    frames,
    hidden_for_a_while,
    reflections,
    straight,
    track,
)

FRAMES, RADIUS_PX, CROSSINGS = 40, 4.2, 20
MOTIONS = straight((0.9, 1.0, 0.2), (0.3, 0.1, 0.4)), straight((2.3, 1.4, -1.0), (-0.2, 0.15, -0.3))


def measure() -> Iterator[Result]:
    for bodies in ((FOUR,), (FOUR, OTHER)):
        yield from _beside_opencv(bodies)
    yield from _accuracy()
    yield from _tags()
    yield from _in_the_loop()


def _beside_opencv(patterns: Sequence[Pattern]) -> Iterator[Result]:
    n = 4 * len(patterns)
    moving = list(zip(patterns, MOTIONS, strict=False))
    recorded = [(t, np.asarray(frame)) for t, frame in frames(moving, FRAMES)]
    true = [
        VIEW.to_pixel(np.vstack([placed(shape.positions, motion(t)[0]) for shape, motion in moving]))
        for t, _ in recorded
    ]
    tracker = Tracker(VIEW, patterns, 1 / 40)
    memory, tracked, took = NO_MEMORY, [], []
    for t, pixels in recorded:
        began = time.process_time()
        memory, seen = tracker.see(memory, pixels, t)
        took.append(time.process_time() - began)
        tracked.append(np.vstack([sighting.pixels for sighting in seen.sightings]))
    mine, error = min(took[1:]), _error(tracked, true)
    searched, found = _timed(lambda pixels: [(b.x, b.y) for b in search(pixels, RADIUS_PX, 1 / 40)], recorded)
    search_error = _error(found, true)
    yield Result(f"tracking, {n} targets", "ms", 1e3 * mine, 5.0, "200 Hz", "at most 5 ms", mine <= 5e-3)
    for peer, step in (("OpenCV blob detector", 10.0), ("the same in steps of 5 counts", 5.0)):
        detector = _blob_detector(step)
        theirs, blobs = _timed(lambda pixels, detector=detector: [p.pt for p in detector.detect(pixels)], recorded)
        others, fifth = _error(blobs, true), mine <= theirs / 5
        yield Result(f"tracking, {n} targets", "ms", 1e3 * mine, 1e3 * theirs, peer, "at most a fifth", fifth)
        yield Result(f"full search, {n} targets", "ms", 1e3 * searched, 1e3 * theirs, peer, "", None)
        yield Result(f"largest error, tracking, {n}", "pixel", error, others, peer, "no larger", error <= others)
        yield Result(
            f"largest error, search, {n}", "pixel", search_error, others, peer, "no larger", search_error <= others
        )


def _accuracy() -> Iterator[Result]:
    """Largest error of a position through a lens of 1 % distortion, against a thousandth of the field."""
    lens = dataclasses.replace(VIEW, lens=VIEW.lens._replace(distortion=(-0.05, 0.01, 5e-4, -5e-4, 0.0)))
    still, moving = straight((1.2, 1.6, 0.3)), straight((1.2, 1.6, 0.3), (0.4, -0.2, 0.8))
    across = straight((1.0, 1.0, 0.0), (0.3, 0.0, 0.0))
    cases = {
        "4 targets, static": lambda: track([(FOUR, still)], 60, view=lens),
        "4 targets, moving": lambda: track([(FOUR, moving)], 60, view=lens),
        "8 targets, static": lambda: track([(EIGHT, still)], 60, view=lens),
        "8 targets, moving": lambda: track([(EIGHT, moving)], 60, view=lens),
        "two of 4 hidden, then all": lambda: track([(FOUR, across)], 90, view=lens, hidden=hidden_for_a_while),
        "reflections": lambda: track([(FOUR, across)], 90, view=lens, extra=reflections),
    }
    limit = 1e3 * FIELD_M / 1000
    for name, case in cases.items():
        off = 1e3 * max(float(np.abs(errors[:, :2]).max()) for errors in case()[1].values())
        yield Result(f"largest error, {name}", "mm", off, limit, "1/1000 of the field", "below it", off < limit)
    off = 1e3 * crossings(CROSSINGS, seed=3)
    name = f"largest error, {CROSSINGS} crossings of two bodies"
    yield Result(name, "mm", off, limit, "1/1000 of the field", "below it", off < limit)


def _timed(find: Callable, recorded: Sequence) -> tuple[float, list[np.ndarray]]:
    """Least processor time of a frame [s], and what was found in each."""
    found, took = [], []
    for _, pixels in recorded:
        began = time.process_time()
        points = find(pixels)
        took.append(time.process_time() - began)
        found.append(np.array(points).reshape(-1, 2))
    return min(took), found


def _error(found: Sequence[np.ndarray], true: Sequence[np.ndarray]) -> float:
    """The largest distance of a target from the nearest found point [pixel]."""
    return max(
        float(np.hypot(*(places[:, np.newaxis] - points).transpose(2, 0, 1)).min(axis=1).max())
        for points, places in zip(found, true, strict=True)
    )


def _blob_detector(step: float) -> cv2.SimpleBlobDetector:
    """OpenCV's thresholds, or finer ones, which are slower and more accurate."""
    cv2.setNumThreads(1)
    settings = cv2.SimpleBlobDetector_Params()
    settings.filterByColor, settings.blobColor, settings.thresholdStep = True, 255, step
    settings.filterByArea, settings.minArea, settings.maxArea = True, 5.0, 120.0
    settings.filterByCircularity = settings.filterByConvexity = settings.filterByInertia = False
    return cv2.SimpleBlobDetector_create(settings)


def _tags() -> Iterator[Result]:
    """Two bodies with a tag each: OpenCV does the work, so there is no peer."""
    tags, bank = (
        {"one": Tag(id=1, size_m=0.16), "two": Tag(id=2, size_m=0.16)},
        NoiseBank(VIEW.size, np.random.default_rng(0)),
    )
    finder, took, off = TagFinder(VIEW, tags), [], []
    for k in range(8):
        poses = [motion(0.1 * k)[0] for motion in MOTIONS]
        shown = [(tag, pose, np.zeros(3)) for tag, pose in zip(tags.values(), poses, strict=True)]
        pixels = np.asarray(RenderedFrame(VIEW, [], NOISY, bank, tag_light(VIEW, shown, 190.0, 0.002)))
        began = time.process_time()
        _, seen = finder.see(NO_MEMORY, pixels, 0.0)
        took.append(time.process_time() - began)
        for sighting in seen.sightings:
            true = poses[list(tags).index(sighting.body)]
            off.append(np.hypot(*(sighting.pose - true)[:2]) / VIEW.metres_per_pixel)
    yield Result("two AprilTags by OpenCV", "ms", 1e3 * min(took), None, "no peer", "", None)
    yield Result("largest error, two AprilTags", "pixel", max(off), None, "no peer", "", None)


def _in_the_loop() -> Iterator[Result]:
    """The free-flyer's move of 30 s from pixels, beside the ideal pose source with the noise of its data sheet."""
    error, latency = [], []
    for bed in ("free-flyer/camera", "free-flyer"):
        log = simulate(load(bed))
        seen, truth = log["/sample"], log["/truth"]
        new = np.diff(seen.vision_number, prepend=0) > 0
        exposed, arrived = seen.vision_t_s[new], truth.t_s[new]
        off = seen.vision_base_x_m[new] - np.interp(exposed, truth.t_s, truth.base_x_m)
        error.append(1e3 * float(np.sqrt((off**2).mean())))
        latency.append(1e3 * float((arrived - exposed).mean()))
    peer = "ideal pose source"
    yield Result("pose in the loop: rms error of x", "mm", *error, peer, "", None)
    yield Result("pose in the loop: mean age at its arrival", "ms", *latency, peer, "", None)
