"""Lens and plane of a camera from views of a plate of known points that lies in the plane of the targets.

All views are parallel to the table, which is the only plane that the poses need: the plate may cover the field at once
or be slid over it. The model goes from the plate by its pose to the plane, by a homography to directions, by the lens
to pixels, and is fitted by least squares in pixels. The focal length is fixed, because the homography contains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from granite.config.devices.camera import ViewTable
from granite.config.errors import InputError
from granite.config.records import Array
from granite.drivers.camera.lens import Lens
from granite.drivers.camera.pose import fit_pose, placed
from granite.drivers.camera.view import PlaneView, inverse, mapped

#: fewest points of all views: the model has 14 numbers, and 3 for each view after the first
FEWEST = 20
#: on one line: second singular value over the first
_LINE = 0.02
#: numbers of the lens, beyond the homography: principal point, k1, k2, p1, p2
_OF_LENS = 6
#: standard deviations of weak priors, which matter only where the points do not determine a number
_PRIOR_CENTRE, _PRIOR_LENS = 0.05, np.array([0.5, 0.5, 0.05, 0.05])


class PlateView(NamedTuple):
    """One picture of the plate: its points (n, 2) [m], and where they were seen (n, 2) [pixel]."""

    points: Array
    pixels: Array


class Calibration(NamedTuple):
    """A calibrated view, and what is left at each point."""

    view: PlaneView
    pixels: Array  #: of all points (n, 2)
    residual: Array  #: seen minus fitted (n, 2) [pixel]
    deviation: float  #: of a plane point at the centre of the image, by the fit [m]

    def table(self, date: str) -> ViewTable:
        """As a testbed has it."""
        lens = self.view.lens
        k1, k2, p1, p2, k3 = lens.distortion
        homography = (self.view.homography / self.view.homography[2, 2]).ravel().tolist()
        return ViewTable.model_validate(
            {
                "focal_px": lens.focal,
                "centre_px": lens.centre,
                "distortion": (k1, k2, p1, p2, k3),
                "homography": tuple(homography),
                "residual_px": self.view.residual,
                "date": date,
            }
        )


def calibrate(
    views: Sequence[PlateView], size: tuple[int, int], pose: Sequence[float] = (0.0, 0.0, 0.0)
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
    model = _Model(views, size, np.array(pose, dtype=float))
    found = least_squares(model.residuals, model.guess(), x_scale="jac", method="trf")
    residual = found.fun[: 2 * n].reshape(n, 2)
    freedom = max(1, 2 * n - len(found.x))
    rms = float(np.sqrt((residual**2).sum() / freedom))
    covariance = rms**2 * np.linalg.inv(found.jac.T @ found.jac)
    pixels = np.vstack([view.pixels for view in views])
    return Calibration(model.view(found.x, rms), pixels, residual, model.deviation(found.x, covariance))


class _Model:
    """Numbers: principal point (2), k1, k2, p1, p2, homography from plane to direction (8), pose of each later view."""

    def __init__(self, views: Sequence[PlateView], size: tuple[int, int], pose: Array) -> None:
        self._views, self._size, self._pose = views, size, pose
        self._focal = float(size[0])
        self._middle = (np.array(size) - 1) / 2
        # About its middle on the table, so that the last number of the homography is never zero.
        self._origin = placed(views[0].points, pose).mean(axis=0)

    def guess(self) -> Array:
        """Without distortion: homography of the first view, then the pose of each later view."""
        first = self._views[0]
        direction = (first.pixels - self._middle) / self._focal
        G = homography(placed(first.points, self._pose) - self._origin, direction)
        back = inverse(G)
        poses = []
        for view in self._views[1:]:
            points = mapped(back, (view.pixels - self._middle) / self._focal) + self._origin
            poses.append(_rigid(view.points, points))
        return np.concatenate([self._middle, np.zeros(4), (G / G[2, 2]).ravel()[:8], *poses])

    def residuals(self, x: Array) -> Array:
        """Fitted minus seen of every point [pixel], and the priors."""
        lens, G = self._lens(x), self._homography(x)
        poses = [self._pose, *x[_OF_LENS + 8 :].reshape(-1, 3)]
        off = [
            view.pixels - lens.to_pixel(mapped(G, placed(view.points, pose) - self._origin))
            for view, pose in zip(self._views, poses, strict=True)
        ]
        prior = np.concatenate(((x[:2] - self._middle) / (_PRIOR_CENTRE * self._focal), x[2:_OF_LENS] / _PRIOR_LENS))
        return np.concatenate([np.vstack(off).ravel(), 1e-2 * prior])

    def view(self, x: Array, residual: float) -> PlaneView:
        """The calibrated view."""
        shift = np.array([[1.0, 0.0, self._origin[0]], [0.0, 1.0, self._origin[1]], [0.0, 0.0, 1.0]])
        H = shift @ np.linalg.inv(self._homography(x))
        return PlaneView(self._lens(x), H / H[2, 2], self._size, residual)

    def deviation(self, x: Array, covariance: Array) -> float:
        """One standard deviation of the plane point at the middle of the image [m], by linear propagation."""
        middle = self._middle[np.newaxis]

        def point(numbers: Array) -> Array:
            return self.view(numbers, 0.0).to_plane(middle).ravel()

        step = 1e-6 * np.maximum(1e-3, np.abs(x))
        steps = np.diag(step)
        J = np.column_stack([(point(x + d) - point(x - d)) / (2 * h) for h, d in zip(step, steps, strict=True)])
        return float(np.sqrt(np.trace(J @ covariance @ J.T) / 2))

    def _lens(self, x: Array) -> Lens:
        cx, cy, k1, k2, p1, p2 = x[:_OF_LENS].tolist()
        return Lens(self._focal, (cx, cy), (k1, k2, p1, p2, 0.0))

    def _homography(self, x: Array) -> Array:
        return np.append(x[_OF_LENS : _OF_LENS + 8], 1.0).reshape(3, 3)


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


def _rigid(places: Array, points: Array) -> Array:
    return fit_pose(places, points, np.ones(len(places))).pose
