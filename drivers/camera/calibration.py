"""Lens and plane of a camera from views of a plate of known points that lies in the plane of the targets.

All views are parallel to the table, which is the only plane that the poses need: the plate may cover the field at once
or be slid over it. The model goes from the plate by its pose to the plane, by a homography to directions, by the lens
to pixels, and is fitted by least squares in pixels. The focal length is fixed, because the homography contains it, and
so is the principal point: to first order another one is another homography with other p1 and p2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from granite.config.errors import InputError
from granite.config.records import Array
from granite.drivers.camera.pose import fit_pose, placed, rotation
from granite.drivers.camera.view import Lens, PlaneView, inverse, mapped

#: fewest points of all views: the model has 12 numbers, and 3 for each view after the first
FEWEST = 20
#: on one line: second singular value over the first
_LINE = 0.02
#: numbers of the lens, before those of the homography: k1, k2, p1, p2
OF_LENS = 4
#: where the uncertainty of poses is taken: so many pixels each way, without the edge; side of a square body with four
#: targets there, as a part of the width
_GRID, _EDGE, _BODY = 5, 0.1, 0.1
#: standard deviations of weak priors, which matter only where the points do not determine a number
_PRIOR = np.array([0.5, 0.5, 0.05, 0.05])
#: of a number, for derivatives
_STEP = 1e-6


class PlateView(NamedTuple):
    """One picture of the plate: its points (n, 2) [m], and where they were seen (n, 2) [pixel]."""

    points: Array
    pixels: Array


class Calibration(NamedTuple):
    """A calibrated view, and what is left at each point."""

    view: PlaneView
    #: k1, k2, p1, p2, and the homography row by row but for its last number, which is 1 (12)
    numbers: Array
    covariance: Array  #: (12, 12)
    freedom: int  #: coordinates of points less numbers
    pixels: Array  #: of all points (n, 2)
    residual: Array  #: seen minus fitted (n, 2) [pixel]

    def deviation(self, pixel: Array) -> Array:
        """One standard deviation of the plane points at these pixels (n) [m], along one axis."""

        def points(numbers: Array) -> Array:
            return view_from(numbers, self.view.lens, self.view.size).to_plane(pixel).ravel()

        J = _derivatives(points, self.numbers)
        variance = np.einsum("ij,jk,ik->i", J, self.covariance, J).reshape(-1, 2)
        return np.asarray(np.sqrt(variance.mean(axis=1)))

    def offsets(self) -> tuple[float, float]:
        """What is left unknown of a pose (one sigma), over the image: x or y [m], and heading [rad]."""
        width, height = self.view.size
        edges = (np.linspace(_EDGE * size, (1 - _EDGE) * size, _GRID) for size in (width, height))
        middles = np.array([axis.ravel() for axis in np.meshgrid(*edges)]).T
        corners = _BODY * width / 2 * np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)])
        pixels = (middles[:, np.newaxis] + corners).reshape(-1, 2)

        def points(numbers: Array) -> Array:
            placed = view_from(numbers, self.view.lens, self.view.size).to_plane(pixels)
            return np.asarray(placed @ np.array([1.0, 1.0j])).reshape(len(middles), len(corners))

        body = points(self.numbers)
        arm = body - body.mean(axis=1, keepdims=True)

        def moved(numbers: Array) -> Array:
            shift = points(numbers) - body
            turn = (shift * arm.conj()).imag.sum(axis=1) / (abs(arm) ** 2).sum(axis=1)
            return np.concatenate([shift.mean(axis=1).real, shift.mean(axis=1).imag, turn])

        J = _derivatives(moved, self.numbers)
        x, y, heading = np.einsum("ij,jk,ik->i", J, self.covariance, J).reshape(3, -1).mean(axis=1)
        return float(np.sqrt((x + y) / 2)), float(np.sqrt(heading))


def calibrate(
    views: Sequence[PlateView],
    size: tuple[int, int],
    pose: Sequence[float] = (0.0, 0.0, 0.0),
    lens: Lens | None = None,
    placed_by: Sequence[float] = (0.0, 0.0, 0.0),
) -> Calibration:
    """Fit lens and plane.

    Parameters
    ----------
    views
        Pictures of the plate, all of it in the plane of the targets.
    size
        Width and height of the image [pixel].
    pose
        Of the plate in the first view: x [m], y [m], heading [rad] on the table.
    lens
        Its focal length and principal point are kept; none: the width of the image, and its middle.
    placed_by
        One standard deviation of each number of `pose`. No view shows such an error: it moves the plane as a whole.

    Raises
    ------
    InputError
        Where the points are too few or on one line.
    """
    n = sum(len(view.points) for view in views)
    if n < FEWEST:
        raise InputError(f"{n} dots in {len(views)} views", key="plate", expected=f"{FEWEST} or more")
    for k, view in enumerate(views):
        spread = np.linalg.svd(view.points - view.points.mean(axis=0), compute_uv=False)
        if spread[1] < _LINE * spread[0]:
            raise InputError("its dots are collinear", key=f"plate.view {k + 1}", expected="dots all over the image")
    width, height = size
    lens = lens or Lens(float(width), ((width - 1) / 2, (height - 1) / 2))
    first = np.array(pose, dtype=float)
    model = _Model(views, lens, first)
    solution = least_squares(model.residuals, model.guess(), x_scale="jac", method="trf")
    residual = -solution.fun[: 2 * n].reshape(n, 2)
    freedom = max(1, 2 * n - len(solution.x))
    rms = float(np.sqrt((residual**2).sum() / freedom))
    numbers = model.numbers(solution.x)
    J = _derivatives(model.numbers, solution.x)
    by_pose = _derivatives(lambda moved: _moved(numbers, first, moved), np.zeros(3))
    covariance = J @ (rms**2 * np.linalg.inv(solution.jac.T @ solution.jac)) @ J.T
    covariance += by_pose @ np.diag(np.array(placed_by, dtype=float) ** 2) @ by_pose.T
    calibrated = view_from(numbers, lens, size, rms)
    return Calibration(calibrated, numbers, covariance, freedom, np.vstack([v.pixels for v in views]), residual)


def view_from(numbers: Array, lens: Lens, size: tuple[int, int], residual: float = 0.0) -> PlaneView:
    """The view of the numbers of a calibration, with focal length and principal point of a lens."""
    k1, k2, p1, p2 = numbers[:OF_LENS].tolist()
    H = np.append(numbers[OF_LENS:], 1.0).reshape(3, 3)
    return PlaneView(lens._replace(distortion=(k1, k2, p1, p2, 0.0)), H, size, residual)


class _Model:
    """Numbers: k1, k2, p1, p2, homography from plane to direction (8), pose of each later view."""

    def __init__(self, views: Sequence[PlateView], lens: Lens, pose: Array) -> None:
        self._views = views
        self._lens_of = lens
        self._pose = pose
        # About its middle on the table, so that the last number of the homography is never zero.
        self._origin = placed(views[0].points, pose).mean(axis=0)

    def guess(self) -> Array:
        """Without distortion: homography of the first view, then the pose of each later view."""
        first, lens = self._views[0], self._lens_of
        direction = (first.pixels - lens.centre) / lens.focal
        G = homography(placed(first.points, self._pose) - self._origin, direction)
        back = inverse(G)
        poses = []
        for view in self._views[1:]:
            points = mapped(back, (view.pixels - lens.centre) / lens.focal) + self._origin
            poses.append(_rigid(view.points, points))
        return np.concatenate([np.zeros(OF_LENS), (G / G[2, 2]).ravel()[:8], *poses])

    def residuals(self, x: Array) -> Array:
        """Fitted minus seen of every point [pixel], and the priors."""
        k1, k2, p1, p2 = x[:OF_LENS].tolist()
        lens = self._lens_of._replace(distortion=(k1, k2, p1, p2, 0.0))
        G = self._homography(x)
        poses = [self._pose, *x[OF_LENS + 8 :].reshape(-1, 3)]
        off = [
            lens.to_pixel(mapped(G, placed(view.points, pose) - self._origin)) - view.pixels
            for view, pose in zip(self._views, poses, strict=True)
        ]
        return np.concatenate([np.vstack(off).ravel(), 1e-2 * x[:OF_LENS] / _PRIOR])

    def numbers(self, x: Array) -> Array:
        """Numbers of the calibrated view."""
        shift = np.array([[1.0, 0.0, self._origin[0]], [0.0, 1.0, self._origin[1]], [0.0, 0.0, 1.0]])
        H = shift @ inverse(self._homography(x))
        return np.concatenate((x[:OF_LENS], (H / H[2, 2]).ravel()[:8]))

    def _homography(self, x: Array) -> Array:
        return np.append(x[OF_LENS : OF_LENS + 8], 1.0).reshape(3, 3)


def _moved(numbers: Array, pose: Array, by: Array) -> Array:
    """The numbers if the first pose was another one by so much."""
    (x, y, _), (dx, dy, turn) = pose.tolist(), by.tolist()
    R = rotation(turn)
    shift = np.array([x + dx, y + dy]) - R @ (x, y)
    moved = np.block([[R, shift[:, np.newaxis]], [np.zeros((1, 2)), np.ones((1, 1))]])
    H = moved @ np.append(numbers[OF_LENS:], 1.0).reshape(3, 3)
    return np.concatenate((numbers[:OF_LENS], (H / H[2, 2]).ravel()[:8]))


def _derivatives(function: Callable[[Array], Array], x: Array) -> Array:
    """By central differences."""
    steps = _STEP * np.maximum(1e-2, np.abs(x))
    sides = [(function(x + d), function(x - d)) for d in np.diag(steps)]
    return np.column_stack([(after - before) / (2 * h) for h, (after, before) in zip(steps, sides, strict=True)])


def homography(source: Array, target: Array) -> Array:
    """The homography from points (n, 2) to others: direct linear transform, on normalised coordinates."""
    S, a = _normalised(source)
    T, b = _normalised(target)
    rows = []
    for (x, y), (u, v) in zip(a, b, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y, -u])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y, -v])
    h = np.linalg.svd(np.array(rows))[2][-1].reshape(3, 3)
    return np.asarray(np.linalg.inv(T) @ h @ S)


def _normalised(points: Array) -> tuple[Array, Array]:
    """Points about zero with unit spread, and the map to them."""
    middle = points.mean(axis=0)
    scale = 1.0 / max(float(np.sqrt(((points - middle) ** 2).sum(axis=1).mean())), 1e-12)
    T = np.array([[scale, 0.0, -scale * middle[0]], [0.0, scale, -scale * middle[1]], [0.0, 0.0, 1.0]])
    return T, scale * (points - middle)


def _rigid(positions: Array, points: Array) -> Array:
    return fit_pose(positions, points, np.ones(len(positions))).pose
