"""A camera above the table that tracks targets on a body: its image, its calibrated view and the targets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from granite.config.base import NotNegative, Positive, Table
from granite.config.coordinates import Coordinate
from granite.config.devices.vision import Vision, VisionErrors
from granite.config.errors import InputError

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

_Pixels = Annotated[int, Field(ge=16, le=16384)]
Point = tuple[float, float]


class ViewTable(Table):
    """Lens and plane, as the calibration writes them."""

    focal_px: Positive  #: focal length
    centre_px: Point  #: principal point in the image
    #: k1, k2, p1, p2, k3 as OpenCV orders them
    distortion: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)
    #: row by row, from directions (x/z, y/z) to the plane of the targets [m]
    homography: tuple[float, float, float, float, float, float, float, float, float]
    #: root mean square of the calibration
    residual_px: NotNegative = 0.0
    #: what it leaves unknown of a pose (one sigma, over the image): position, and heading
    position_offset_m: NotNegative = 0.0
    heading_offset_rad: NotNegative = 0.0  #: the same of the heading


class PlateTable(Table):
    """The plate that the camera is calibrated with."""

    #: round dots, brighter than the plate, or a checkerboard, whose inner corners count
    pattern: Literal["dots", "checkerboard"] = "dots"
    columns: Annotated[int, Field(ge=2, le=200)] = 12  #: dots or inner corners in a row
    rows: Annotated[int, Field(ge=2, le=200)] = 9  #: number of rows
    pitch_m: Positive = 0.1  #: distance of neighbours


class Target(Table):
    """A round target on a body: white at its centre, fading to black at its edge."""

    position_m: Point  #: of its centre
    radius_m: Positive = 0.012  #: from its centre to its edge


class Tag(Table):
    """A printed AprilTag at the origin of the body, its upper edge along +y."""

    id: Annotated[int, Field(ge=0, le=10_000)] = 0  #: number of the tag within its family
    family: Literal["16h5", "25h9", "36h10", "36h11"] = "36h11"  #: family of AprilTags
    #: side of the black square
    size_m: Positive


class Reflection(Table):
    """A spot that is no target, such as the reflection of a lamp."""

    position_m: Point  #: on the plane of the targets
    radius_m: Positive = 0.012  #: radius of the spot
    peak_counts: Positive = 255.0  #: grey level of its centre above the background


class CameraErrors(VisionErrors):
    """The simulated camera: optics, light and noise of its frames."""

    #: true lens and plane; none: as calibrated
    view: ViewTable | None = None
    #: of a target's centre above the background
    peak_counts: Positive = 190.0
    background_counts: NotNegative = 20.0  #: grey level of the background
    #: change of the background over the width of the image
    background_slope_counts: float = 10.0
    read_noise_counts: NotNegative = 1.2  #: noise of every pixel, one sigma
    #: true photon noise: electrons per count of 8 bit; none: no photon noise
    electrons_per_count: Positive | None = 40.0
    reflections: tuple[Reflection, ...] = ()  #: bright spots that are no targets


class Camera(Vision):
    """A camera whose frames are tracked: the pose of a body, and one standard deviation of each value."""

    #: width and height of the image
    size_px: tuple[_Pixels, _Pixels] = (1280, 1024)
    #: how long a frame is exposed
    exposure_s: NotNegative = 0.002
    #: photon noise, for the uncertainty of poses; none: not known, and only the noise of the background counts
    electrons_per_count: Positive | None = None
    #: the part of the plane that the image shows: least x and y, greatest x and y; used where `view` is not given
    field_m: tuple[float, float, float, float] | None = None
    #: as calibrated; none: a lens without distortion that looks straight down at `field_m`
    view: ViewTable | None = None
    #: for `granite calibrate BED camera`
    plate: PlateTable = PlateTable()
    #: on the body, in its axes from its origin or `point`; none where it has a tag
    targets: tuple[Target, ...] = ()
    tag: Tag | None = None  #: a printed tag in place of targets
    simulated: CameraErrors = CameraErrors()

    @property
    def calibrated(self) -> ViewTable:
        """The view as calibrated, or the nominal one of `field_m`."""
        if self.view is not None:
            return self.view
        assert self.field_m is not None  # checked with the testbed
        width, height = self.size_px
        x0, y0, x1, y1 = self.field_m
        scale = max((x1 - x0) / width, (y1 - y0) / height)
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        # Rows of an image run downwards, y of the table upwards.
        turned = (width * scale, 0.0, x, 0.0, -width * scale, y, 0.0, 0.0, 1.0)
        return ViewTable(focal_px=width, centre_px=((width - 1) / 2, (height - 1) / 2), homography=turned)

    @property
    def offsets(self) -> tuple[float, float, float]:
        """Of its own table, and of the calibrated view."""
        position = math.hypot(self.position_offset_m, self.calibrated.position_offset_m)
        return position, position, math.hypot(self.heading_offset_rad, self.calibrated.heading_offset_rad)

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """x, y and heading, and one standard deviation of each."""
        pose = super().signals(bed)
        return (*pose, *(Coordinate(f"{name}_deviation", unit) for name, unit in pose))

    def repeats(self, bed: Testbed) -> tuple[float, ...]:
        """The deviations of a body at rest may repeat."""
        return (*super().repeats(bed)[:3], 1.0, 1.0, 1.0)

    def check(self, bed: Testbed) -> None:
        """It needs a view, and targets or a tag."""
        super().check(bed)
        if self.view is None and self.field_m is None:
            raise InputError.missing("field_m", "the part of the plane that the image shows, or a calibrated `view`")
        if self.field_m is not None and not (self.field_m[0] < self.field_m[2] and self.field_m[1] < self.field_m[3]):
            raise InputError(key="field_m", value=self.field_m, expected="least x, least y, greatest x, greatest y")
        if bool(self.targets) == (self.tag is not None):
            expected = "the targets of the body, or a `tag`" if self.tag is None else "none, because it has a `tag`"
            raise InputError(key="targets", value=len(self.targets), expected=expected)
        for key in ("perfect", "swaps", "tail_freedom"):
            if getattr(self.simulated, key):
                expected = "none, because a camera renders its frames"
                raise InputError(key=f"simulated.{key}", value=getattr(self.simulated, key), expected=expected)

    def describe(self, bed: Testbed) -> list[str]:
        """Body, rate, latency; image and marks."""
        marks = f"{len(self.targets)} targets" if self.tag is None else f"AprilTag {self.tag.family} {self.tag.id}"
        width, height = self.size_px
        seen = f"{width} x {height} pixels, exposure {self.exposure_s * 1e3:g} ms, {marks}"
        return [*super().describe(bed), seen]
