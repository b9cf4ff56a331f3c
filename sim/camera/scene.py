"""What a simulated camera looks at: the targets of all bodies with a camera device, and reflections."""

from __future__ import annotations

import numpy as np

from granite.config.devices.camera import Camera, Tag
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.drivers.camera.patterns import Pattern
from granite.drivers.camera.pose import rotation
from granite.sim.camera.render import ImageSensor, LightSpot


def patterns_of(bed: Testbed) -> list[Pattern]:
    """The pattern of every body that a camera device tracks by targets, by the name of its module."""
    found = []
    for camera in bed.devices_of(Camera).values():
        if camera.targets:
            places = np.array([target.position_m for target in camera.targets])
            radii = np.array([target.radius_m for target in camera.targets])
            found.append(Pattern(camera.seen(bed).name, places, radii))
    return found


def tags_of(bed: Testbed) -> dict[str, Tag]:
    """The tag of every body that a camera device tracks by one, by the name of its module."""
    cameras = bed.devices_of(Camera).values()
    return {camera.seen(bed).name: camera.tag for camera in cameras if camera.tag is not None}


def spots_of(pattern: Pattern, pose: Array, rate: Array, peak: float) -> list[LightSpot]:
    """The targets of a body with this pose and velocity."""
    arms = pattern.places @ rotation(float(pose[2])).T
    return [
        LightSpot(x + pose[0], y + pose[1], radius, peak, (rate[0] - rate[2] * y, rate[1] + rate[2] * x))
        for (x, y), radius in zip(arms.tolist(), pattern.radii.tolist(), strict=True)
    ]


def reflections_of(camera: Camera) -> list[LightSpot]:
    """Spots that are no targets; they do not move."""
    return [LightSpot(*r.position_m, r.radius_m, r.peak_counts) for r in camera.simulated.reflections]


def sensor_of(camera: Camera) -> ImageSensor:
    """Light and noise of a simulated camera."""
    errors = camera.simulated
    return ImageSensor(
        camera.exposure_s,
        errors.background_counts,
        errors.background_slope_counts,
        errors.read_noise_counts,
        errors.electrons_per_count,
    )
