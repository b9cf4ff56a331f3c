"""Camera: lens and plane from pictures of a plate that is slid over the table.

The place of the plate is known in the first picture alone, where it fixes the axes of the table. Its error moves the
whole plane, no picture shows it, and it is added to the uncertainty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from granite.calibration.bench import Bench
from granite.calibration.fit import CalibrationFit, FittedKey, ResidualMap
from granite.calibration.procedure import BenchMeasurement, DeviceProcedure, KnownValue, OperatorStep, on_bench
from granite.config.devices.camera import Camera, PlateTable
from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.drivers.camera.calibration import OF_LENS, PlateView, calibrate
from granite.drivers.camera.centroid import Pixels
from granite.drivers.camera.device import CameraDevice
from granite.drivers.camera.plate import Plate, find_corners, find_dots
from granite.drivers.camera.sources import SHARED, open_source
from granite.drivers.camera.view import PlaneView, view_of
from granite.sim.benches.plate_plant import PlatePlant

#: how exactly somebody can place the plate [m, m, rad]
_PLACED = (2e-4, 2e-4, 2e-4)
#: and how far off a plate is laid that may lie anywhere
_LAID = (0.02, 0.02, 0.03)
#: of the image that no dot must come near to, as a part of it
_EDGE = 0.07
#: frames of a live camera that may have waited since before the plate was laid
_WAITING = 5
#: greatest differences of a simulated camera: distortion, turn [rad], position and scale as parts of
#: the field, slant
_LENS, _TURN, _SHIFT, _SLANT = np.array([0.06, 0.03, 1e-3, 1e-3]), 0.02, 0.01, 0.02


class CameraProcedure(DeviceProcedure):
    """A plate in several places under the camera."""

    kind = Camera

    def __init__(self, bed: Testbed, name: str | None = None) -> None:
        super().__init__(bed, name)
        #: everything else of the camera may change
        self.fitted_on = (f"{self.of}.size_px",)
        self.devices = ()  # its driver gives poses, and not pictures
        driver = self.table.driver
        #: where the pictures of a real camera come from
        self.source: str | None = driver.source if isinstance(driver, CameraDevice.Options) else None
        plate: PlateTable = self.table.plate
        self._plate = Plate(plate.columns, plate.rows, plate.pitch_m)
        self._points = f"{plate.columns} x {plate.rows} {'dots' if plate.pattern == 'dots' else 'inner corners'}"
        self._view = view_of(self.table)
        first, *others = self._positions()
        words = f"the plate of {self._points} in the plane of the targets, its x axis along that of the table"
        known_values = (
            KnownValue("x of its first point", "m", first[0]),
            KnownValue("y of it", "m", first[1]),
            KnownValue("heading of the plate", "rad", first[2]),
        )
        self.steps = (
            OperatorStep(
                f"lay {words}, with its first point at {first[0]:g} m, {first[1]:g} m, and measure where it is",
                known_values,
            ),
            *(
                OperatorStep(
                    f"slide the plate so that its first point is at about {x:g} m, {y:g} m", (), f"{x!r} {y!r}"
                )
                for x, y, _ in others
            ),
        )

    def bench_bed(self) -> Testbed:
        """The camera with its view as a table, whose numbers a plant may have others of."""
        return on_bench(self.bed, (self.name,), {f"{self.of}.view": self.table.calibrated.model_dump()})

    def pictures(self) -> Iterator[Pixels]:
        """Pictures of the real camera, each taken when it is asked for; of recorded ones the next.

        Raises
        ------
        InputError
            Where there is no such source, its pictures have another size, or no more come.
        """
        if self.source is None:
            expected = 'the source of its frames, by --from, or driver = { kind = "camera", source = "0" }'
            raise InputError.missing(f"{self.of}.driver", expected)
        is_live = self.source.isdecimal() or self.source.startswith(SHARED)
        images = open_source(self.source, self.table.size_px, self.table.rate_hz)
        taken = 0
        while True:
            image = None
            for _ in range(1 + _WAITING * is_live):
                image = next(images, None)
            if image is None:
                expected = f"one for each of {len(self.steps)} steps"
                raise InputError(f"{taken} pictures, and no more", file=self.source, expected=expected)
            taken += 1
            yield image.pixels

    def measure(self, bench: Bench, step: OperatorStep, known_values: Array) -> BenchMeasurement:
        """Points of the plate, and the pixels where they are seen."""
        find = find_dots if self.table.plate.pattern == "dots" else find_corners
        picture = bench.picture()
        try:
            points = find(picture, self._plate)
        except InputError as refusal:
            raise refusal.within(self.of) from None
        low, high = points.pixels.min(axis=0), points.pixels.max(axis=0)
        columns = f"column {low[0]:.0f} to {high[0]:.0f}"
        rows = f"row {low[1]:.0f} to {high[1]:.0f}"
        text = f"{len(points.pixels)} points, {columns}, {rows}"
        return BenchMeasurement(step, known_values, np.hstack((points.points, points.pixels)), text)

    def fit(self, measured: Sequence[BenchMeasurement]) -> CalibrationFit:
        """Distortion and homography, with the focal length and the principal point of the testbed."""
        views = [PlateView(measurement.values[:, :2], measurement.values[:, 2:]) for measurement in measured]
        try:
            calibration = calibrate(views, self._view.size, measured[0].known_values.tolist(), self._view.lens, _PLACED)
        except InputError as refusal:
            raise refusal.within(self.of) from None
        width, height = calibration.view.size
        middle, corner = calibration.deviation(np.array([(width / 2, height / 2), (0.0, 0.0)])) * 1e3
        largest = float(np.hypot(*calibration.residual.T).max())
        notes = (
            f"residuals {calibration.view.residual:.3g} pixel rms, {largest:.3g} pixel at most",
            f"a point of the plane is known to {middle:.2g} mm in the middle of the image, "
            f"{corner:.2g} mm in its corner (one standard deviation)",
        )
        arrows = ResidualMap("pixel", calibration.pixels, calibration.residual, calibration.view.size)
        points = sum(len(view.points) for view in views)
        return CalibrationFit(
            self._numbers(), calibration.numbers, calibration.covariance, calibration.freedom, points, (arrows,), notes,
            self._kept(calibration.view, *calibration.offsets()),
        )  # fmt: skip

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """A lens that bends, and a camera that is a little off its place and looks down at a slant."""
        view, span = self._view, self._span()
        turn = rng.uniform(-_TURN, _TURN)
        scale = 1 + rng.uniform(-_SHIFT, _SHIFT)
        shift = rng.uniform(-_SHIFT, _SHIFT, 2) * span
        c, s = scale * np.cos(turn), scale * np.sin(turn)
        middle = view.to_plane(np.array([view.lens.centre]))[0]
        moved = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        moved[:2, 2] = middle + shift - moved[:2, :2] @ middle
        slant = np.eye(3)
        slant[2, :2] = rng.uniform(-_SLANT, _SLANT, 2)
        H = moved @ view.homography @ slant
        numbers = np.concatenate((rng.uniform(-_LENS, _LENS), (H / H[2, 2]).ravel()[:8]))
        return {number.key: float(value) for number, value in zip(self._numbers(), numbers, strict=True)}

    def simulated_plant(self, bed: Testbed) -> PlatePlant:
        """The plate under the camera."""
        return PlatePlant(bed, self.name)

    def act(self, plant: PlatePlant, step: OperatorStep, rng: np.random.Generator) -> None:
        """Lay the plate."""
        if step.known_values:
            plant.lay(
                np.array([value.planned for value in step.known_values]) + np.array(_PLACED) * rng.standard_normal(3)
            )
        else:
            plant.lay(np.array([*map(float, step.subject.split()), 0.0]) + np.array(_LAID) * rng.uniform(-1, 1, 3))

    def _numbers(self) -> tuple[FittedKey, ...]:
        distortion = (FittedKey(f"{self.of}.view.distortion.{i}", "1") for i in range(OF_LENS))
        units = ("m", "m", "m", "m", "m", "m", "1", "1")
        plane = (FittedKey(f"{self.of}.view.homography.{i}", unit) for i, unit in enumerate(units))
        return (*distortion, *plane)

    def _kept(self, view: PlaneView, position: float, heading: float) -> tuple[tuple[FittedKey, float], ...]:
        """Numbers of the view that were not fitted, and the unknown offset of a pose."""
        x, y = view.lens.centre
        of = f"{self.of}.view"
        return (
            (FittedKey(f"{of}.focal_px", "pixel"), view.lens.focal),
            (FittedKey(f"{of}.centre_px.0", "pixel"), x),
            (FittedKey(f"{of}.centre_px.1", "pixel"), y),
            (FittedKey(f"{of}.distortion.4", "1"), 0.0),
            (FittedKey(f"{of}.homography.8", "1"), 1.0),
            (FittedKey(f"{of}.residual_px", "pixel"), view.residual),
            (FittedKey(f"{of}.position_offset_m", "m"), position),
            (FittedKey(f"{of}.heading_offset_rad", "rad"), heading),
        )

    def _span(self) -> Array:
        """Width and height of the plane that the image shows [m]."""
        return self._corners(0.0)[1] - self._corners(0.0)[0]

    def _corners(self, edge: float) -> tuple[Array, Array]:
        """Least and greatest x and y that the image shows for certain, without its edge [m]."""
        width, height = self._view.size
        x, y = edge * width, edge * height
        pixels = np.array([(x, y), (width - x, y), (width - x, height - y), (x, height - y)])
        seen = np.sort(self._view.to_plane(pixels), axis=0)
        return seen[1], seen[2]  # a camera that is turned shows a slanted field

    def _positions(self) -> list[tuple[float, float, float]]:
        """Positions of the first point that cover the image, from its middle outwards."""
        low, high = self._corners(_EDGE)
        size = self._plate.points.max(axis=0)
        if (size > high - low).any():
            field = " x ".join(f"{side:.3g}" for side in high - low)
            problem = f"a plate of {size[0]:.3g} x {size[1]:.3g} m"
            raise InputError(problem, key=f"{self.of}.plate", expected=f"one that fits into {field} m of the image")
        n = np.maximum(1, np.round((high - low) / (size + self._plate.pitch)).astype(int))
        along = _spaced(low[0], high[0] - size[0], n[0])
        across = _spaced(low[1], high[1] - size[1], n[1])
        positions = [(round(float(x), 3), round(float(y), 3), 0.0) for y in across for x in along]
        middle = np.array([along.mean(), across.mean()])
        return sorted(positions, key=lambda position: float(np.hypot(*(np.array(position[:2]) - middle))))


def _spaced(low: float, high: float, n: int) -> Array:
    """Evenly spaced numbers; a single one stands in the middle."""
    return np.linspace(low, high, n) if n > 1 else np.array([(low + high) / 2])
