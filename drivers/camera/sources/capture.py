"""Frames of a camera or of a video file, through OpenCV."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from granite.config.errors import InputError
from granite.config.optional_packages import opencv
from granite.drivers.camera.sources import Image

#: a time of a camera's driver that is further from the arrival of its frame is of another clock [s]
_SAME_CLOCK_S = 1.0


def camera_frames(number: int, size: tuple[int, int], rate_hz: float, clock: Callable[[], float]) -> Iterator[Image]:
    """Frames of a camera, with the time of its driver, or that of their arrival where it has none."""
    cv2 = opencv()
    _be_quiet(cv2)
    capture = cv2.VideoCapture(number)
    if not capture.isOpened():
        raise InputError(f"no camera {number}", file=str(number), expected="the number of a connected camera")
    width, height = size
    for key, value in (
        (cv2.CAP_PROP_FRAME_WIDTH, width), (cv2.CAP_PROP_FRAME_HEIGHT, height), (cv2.CAP_PROP_FPS, rate_hz),
        (cv2.CAP_PROP_BUFFERSIZE, 1),
    ):  # fmt: skip
        capture.set(key, value)
    yield from _frames(cv2, capture, clock)


def video_frames(path: Path) -> Iterator[Image]:
    """Frames of a video file, with their times in it."""
    cv2 = opencv()
    _be_quiet(cv2)
    capture = cv2.VideoCapture(str(path))
    if not capture.isOpened():
        raise InputError("not a video", file=str(path), expected="a video file that OpenCV reads")
    yield from _frames(cv2, capture, None)


def _frames(cv2: Any, capture: Any, clock: Callable[[], float] | None) -> Iterator[Image]:
    number = 0
    try:
        while capture.grab():
            arrived = clock() if clock else 0.0
            stamp = capture.get(cv2.CAP_PROP_POS_MSEC) / 1e3
            ok, pixels = capture.retrieve()
            if not ok:
                return
            number += 1
            t = stamp if clock is None or abs(arrived - stamp) < _SAME_CLOCK_S else arrived
            yield Image(t, number, grey(pixels))
    finally:
        capture.release()


def grey(pixels: Any) -> Any:
    """Grey values of a picture: of a coloured one, the mean of its channels, which keeps the centroid."""
    pixels = np.asarray(pixels)
    return pixels if pixels.ndim == 2 else np.rint(pixels[..., :3].mean(axis=2)).astype(np.uint8)


def _be_quiet(cv2: Any) -> None:
    """OpenCV writes its own warnings about a missing camera, where one sentence of ours is enough."""
    os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
