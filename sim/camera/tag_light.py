"""The light of printed AprilTags in a frame, for a rendered camera."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite.config.devices.camera import Tag
from granite.config.optional_packages import opencv
from granite.config.records import Array
from granite.drivers.camera.pose import placed, rotation
from granite.drivers.camera.tags import dictionary
from granite.drivers.camera.view import PlaneView

#: samples per pixel along each axis
_SAMPLES = 3
#: white paper around the tag, as a part of its side
_PAPER = 0.25


def tag_light(view: PlaneView, tags: Sequence[tuple[Tag, Array, Array]], peak: float, exposure: float) -> Array:
    """Counts above the background (rows, columns) of tags with their poses and velocities; drawn with motion blur."""
    width, height = view.size
    light = np.zeros((height, width))
    for tag, pose, rate in tags:
        for part in (-1 / 3, 0.0, 1 / 3):
            _add(light, view, tag, pose + part * exposure * rate, peak / 3)
    return light


def _add(light: Array, view: PlaneView, tag: Tag, pose: Array, peak: float) -> None:
    height, width = light.shape
    bits = dictionary(tag.family).markerSize + 2
    black_and_white = opencv().aruco.generateImageMarker(dictionary(tag.family), tag.id, bits) / 255.0
    half = tag.size_m * (0.5 + _PAPER)
    outline = view.to_pixel(placed(half * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=float), pose))
    left, top = np.maximum(np.floor(outline.min(axis=0)).astype(int) - 1, 0).tolist()
    right, bottom = np.minimum(np.ceil(outline.max(axis=0)).astype(int) + 2, (width, height)).tolist()
    if right <= left or bottom <= top:
        return
    fine = (np.arange(_SAMPLES) + 0.5) / _SAMPLES - 0.5
    x = (np.arange(left, right)[:, np.newaxis] + fine).ravel()
    y = (np.arange(top, bottom)[:, np.newaxis] + fine).ravel()
    points = view.to_plane(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))
    on_body = (points - pose[:2]) @ rotation(float(pose[2]))
    column = np.floor((on_body[:, 0] / tag.size_m + 0.5) * bits).astype(int)
    row = np.floor((0.5 - on_body[:, 1] / tag.size_m) * bits).astype(int)
    inside = (column >= 0) & (column < bits) & (row >= 0) & (row < bits)
    paper = np.abs(on_body).max(axis=1) <= half
    value = np.where(inside, black_and_white[np.clip(row, 0, bits - 1), np.clip(column, 0, bits - 1)], paper)
    fine_image = value.reshape(bottom - top, _SAMPLES, right - left, _SAMPLES).mean(axis=(1, 3))
    light[top:bottom, left:right] += peak * fine_image
