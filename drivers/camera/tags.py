"""AprilTags in a frame, by OpenCV: pose of a body from the four corners of its printed tag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from granite.config.devices.camera import Tag
from granite.config.errors import InputError
from granite.config.optional_packages import opencv
from granite.config.records import Array
from granite.drivers.camera.pose import fit_pose
from granite.drivers.camera.spots import FrameLike
from granite.drivers.camera.tracker import Sighting, Sightings, TrackMemory
from granite.drivers.camera.view import PlaneView

#: one standard deviation of a refined corner [pixel]; assumed
CORNER_PX = 0.1


class TagFinder:
    """Finds tags in whole frames; needs no memory.

    Parameters
    ----------
    view
        Lens and plane.
    tags
        By body; all of one family, with different ids.

    Raises
    ------
    InputError
        Where OpenCV is not installed, or two bodies have the same tag.
    """

    def __init__(self, view: PlaneView, tags: Mapping[str, Tag]) -> None:
        self._view = view
        self._bodies: dict[int, tuple[str, Array]] = {}
        families = {tag.family for tag in tags.values()}
        if len(families) != 1:
            raise InputError(f"tags of the families {', '.join(sorted(families))}", key="tag", expected="one family")
        for body, tag in tags.items():
            if tag.id in self._bodies:
                other = self._bodies[tag.id][0]
                raise InputError(f"'{other}' has the same tag", key=f"{body}.tag.id", value=tag.id, expected="another")
            self._bodies[tag.id] = body, corners_of(tag)
        self._detector = detector(families.pop())

    def see(self, memory: TrackMemory, frame: FrameLike, t: float) -> tuple[TrackMemory, Sightings]:
        """The poses of the known tags in a frame."""
        detected, ids, _ = self._detector.detectMarkers(np.ascontiguousarray(np.asarray(frame)))
        sightings = []
        for seen, number in zip(detected, [] if ids is None else np.ravel(ids).tolist(), strict=True):
            if number in self._bodies:
                body, corners = self._bodies[number]
                pixels = np.asarray(seen, dtype=float).reshape(4, 2)
                points, scale = self._view.with_scale(pixels)
                fit = fit_pose(corners, points, np.hypot(CORNER_PX, self._view.residual) * scale)
                off = fit.residual / scale
                sightings.append(Sighting(body, t, fit.pose, fit.covariance, (0, 1, 2, 3), pixels, off))
        return memory, Sightings(t, tuple(sightings), windows=(), refused=(), searched=True)


def corners_of(tag: Tag) -> Array:
    """Corners of a tag in the axes of the body, in the order of OpenCV: clockwise from the upper left (4, 2) [m]."""
    return tag.size_m / 2 * np.array([(-1.0, 1.0), (1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)])


def dictionary(family: str) -> Any:
    """OpenCV's dictionary of a family of AprilTags."""
    aruco = opencv().aruco
    return aruco.getPredefinedDictionary(getattr(aruco, f"DICT_APRILTAG_{family}"))


def detector(family: str) -> Any:
    """OpenCV's detector, with corners refined to parts of a pixel."""
    aruco = opencv().aruco
    parameters = aruco.DetectorParameters()
    parameters.cornerRefinementMethod = aruco.CORNER_REFINE_SUBPIX
    return aruco.ArucoDetector(dictionary(family), parameters)
