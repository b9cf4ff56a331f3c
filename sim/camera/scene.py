"""What a simulated camera looks at: the targets of all bodies with a camera device, and reflections."""

from __future__ import annotations

from collections.abc import Sequence

from granite.config.devices.camera import Camera
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.drivers.camera.bodies import patterns_of, tags_of
from granite.drivers.camera.patterns import Pattern
from granite.drivers.camera.pose import rotation
from granite.drivers.camera.view import view_of
from granite.sim.camera.render import ImageSensor, LightSpot
from granite.sim.camera.tag_light import tag_light


class FilmedScene:
    """What the camera of a testbed looks at.

    Attributes
    ----------
    bodies : tuple
        Names of the bodies that carry targets or a tag.
    """

    def __init__(self, bed: Testbed, camera: Camera) -> None:
        self._patterns = patterns_of(bed)
        self._tags = tags_of(bed)
        self.bodies = (*self._tags, *(pattern.body for pattern in self._patterns))
        self._reflections = reflections_of(camera)
        self._peak = camera.simulated.peak_counts
        self._view = view_of(camera, camera.simulated.view)
        self._exposure = camera.exposure_s

    def light(self, motions: Sequence[tuple[Array, Array]]) -> tuple[list[LightSpot], Array | None]:
        """The spots of light of bodies with these poses and velocities, and the image of their tags, if there are any.

        Parameters
        ----------
        motions
            Pose and velocity of each of `bodies` in the middle of the exposure.
        """
        spots, tags = list(self._reflections), len(self._tags)
        for pattern, motion in zip(self._patterns, motions[tags:], strict=True):
            spots += spots_of(pattern, *motion, self._peak)
        if not tags:
            return spots, None
        shown = [(tag, *motion) for tag, motion in zip(self._tags.values(), motions[:tags], strict=True)]
        return spots, tag_light(self._view, shown, self._peak, self._exposure)


def spots_of(pattern: Pattern, pose: Array, rate: Array, peak: float) -> list[LightSpot]:
    """The targets of a body with this pose and velocity."""
    arms = pattern.positions @ rotation(float(pose[2])).T
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
