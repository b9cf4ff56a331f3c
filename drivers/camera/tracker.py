"""The tracker: windows where the targets are expected, spots in them, poses of bodies; a full search where one is lost.

Memory is explicit: `see(memory, frame, t)` returns the new one, so that the same frames give the same poses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite.config.errors import InputError
from granite.config.records import Array
from granite.drivers.camera.centroid import Blob
from granite.drivers.camera.patterns import SIZE_FACTOR, Match, Pattern, check_patterns, match, match_all
from granite.drivers.camera.pose import PoseFit, as_complex, as_placed, fit_pose, placed, rigid_residual
from granite.drivers.camera.spots import FrameLike, search, spots_at
from granite.drivers.camera.thresholds import MARGIN_PX
from granite.drivers.camera.view import PlaneView

#: a target may be so far from its place on the rigid body [pixel], beside noise and error of the calibration
_RIGID_PX = 0.35
_SIGMAS = 4.0
#: light of a target beside that of the others of its body: less is half hidden, more lies on another spot
_LIGHT_FACTOR = 1.5
#: pixels around the reach of a target that show the background
_RING_PX = 3
#: window beyond the predicted place [pixel], and times the last error of prediction
_LEAST_REACH_PX, _SURPRISES, _GREATEST_REACH_PX = 1.5, 2.5, 40.0
#: frames without a pose after which a body is searched in the whole frame
_PATIENCE = 4
#: searches in vain after which only every so many frames are searched
_EAGER, _EVERY = 5, 10


class Window(NamedTuple):
    """Where a target was looked for [pixel]: first column and row, and beyond the last ones."""

    left: int
    top: int
    right: int
    bottom: int


class Sighting(NamedTuple):
    """The pose of a body at the time of an exposure."""

    body: str
    t: float  #: middle of the exposure [s]
    pose: Array  #: x [m], y [m], heading [rad]
    covariance: Array  #: (3, 3)
    targets: tuple[int, ...]  #: that were seen
    pixels: Array  #: where (n, 2)
    residual: Array  #: distance of each from its place [pixel]

    @property
    def deviation(self) -> Array:
        """One standard deviation of x, y and heading."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance)))


class Sightings(NamedTuple):
    """What a frame shows."""

    t: float
    sightings: tuple[Sighting, ...]
    windows: tuple[Window, ...]
    refused: tuple[Blob, ...]  #: spots that are no target of a body
    searched: bool  #: the whole frame was searched


class Track(NamedTuple):
    """The last pose of a body, and how well the one before predicted it."""

    t: float
    pose: Array
    rate: Array | None  #: None after the first pose
    surprise: float  #: error of the prediction [pixel]
    missed: int  #: frames since then


class TrackMemory(NamedTuple):
    """What the tracker knows of the past."""

    tracks: Mapping[str, Track]
    vain: int = 0  #: searches without a new body


NO_MEMORY = TrackMemory({})


class Tracker:
    """Finds the poses of known bodies in the frames of a calibrated camera.

    Parameters
    ----------
    view
        Lens and plane.
    patterns
        Targets of each body.
    counts_per_electron
        Photon noise of the camera, for the uncertainty; 0: not known, noise of the background only.
    fastest
        Speed of a target before its first prediction [m/s].

    Raises
    ------
    InputError
        Where patterns can't be told apart, or a target is too small to be measured.
    """

    def __init__(
        self, view: PlaneView, patterns: Sequence[Pattern], counts_per_electron: float = 0.0, fastest: float = 1.0
    ) -> None:
        self._view = view
        self._patterns = tuple(patterns)
        self._gain = counts_per_electron
        self._fastest = fastest
        self._scale = view.metres_per_pixel
        self._tolerance = (_RIGID_PX + 2 * view.residual) * self._scale
        check_patterns(self._patterns, self._tolerance)
        for pattern in self._patterns:
            least = float(pattern.radii.min()) / self._scale
            if least < 1.5:
                expected = f"1.5 pixels or more, of {self._scale * 1e3:.3g} mm each"
                raise InputError(f"a target of {least:.2g} pixels radius", key=pattern.body, expected=expected)
        self._largest = max(float(pattern.radii.max()) for pattern in self._patterns) / self._scale

    def see(self, memory: TrackMemory, frame: FrameLike, t: float) -> tuple[TrackMemory, Sightings]:
        """The poses in a frame.

        Parameters
        ----------
        memory
            Of the frames before; `NO_MEMORY` for the first.
        frame
            8-bit grey values (rows, columns).
        t
            Middle of the exposure [s].

        Raises
        ------
        InputError
            Where the frame has another size than the calibrated one.
        """
        width, height = self._view.size
        if tuple(frame.shape) != (height, width):
            shape = "x".join(map(str, frame.shape[1::-1]))
            raise InputError(f"a frame of {shape} pixels", expected=f"{width}x{height}, as calibrated")
        predicted = {body: _predicted(track, t) for body, track in memory.tracks.items()}
        windows, blobs, covered = self._look(frame, memory, predicted, t)
        points, scale, radii = self._on_plane(blobs)
        matches: dict[str, Match] = {}
        for pattern in self._patterns:
            if pattern.body in predicted:
                reach = self._reach(memory.tracks[pattern.body], t) * self._scale
                near = (predicted[pattern.body], reach)
                matched = self._tracked(pattern, points, radii, near, covered[pattern.body])
                if matched is not None:
                    matches[pattern.body] = matched
        matches = _without_shared(matches)
        lost = [p for p in self._patterns if p.body not in matches and self._is_lost(memory, p.body)]
        searched = bool(lost) and (memory.vain < _EAGER or memory.vain % _EVERY == 0)
        if searched:
            used = [spot for matched in matches.values() for spot in matched.spots]
            kept = [blobs[k] for k in used]
            whole = search(np.asarray(frame), self._largest, self._gain)
            new = [b for b in whole if not any(abs(b.x - k.x) < 2 and abs(b.y - k.y) < 2 for k in kept)]
            position = {spot: k for k, spot in enumerate(used)}
            matches = {
                body: matched._replace(spots=[position[spot] for spot in matched.spots])
                for body, matched in matches.items()
            }
            blobs = kept + new
            points, scale, radii = self._on_plane(blobs)
            free = np.flatnonzero(~self._crowded(blobs))
            free = free[free >= len(kept)]
            for body, (matched, spots) in match_all(lost, points[free], radii[free], self._tolerance).items():
                matches[body] = matched._replace(spots=free[spots].tolist())
        sightings = []
        for pattern in self._patterns:
            if pattern.body in matches:
                sighting = self._sighting(pattern, matches[pattern.body], blobs, points, scale, t)
                if sighting is not None:
                    sightings.append(sighting)
        used_now = {spot for matched in matches.values() for spot in matched.spots}
        refused = tuple(blob for k, blob in enumerate(blobs) if k not in used_now)
        tracks = self._followed(memory, predicted, sightings, t)
        vain = memory.vain + 1 if len(tracks) < len(self._patterns) else 0
        if len(tracks) < len(memory.tracks):
            vain = 0  # a body was lost just now
        return TrackMemory(tracks, vain), Sightings(t, tuple(sightings), tuple(windows), refused, searched)

    def _look(
        self, frame: FrameLike, memory: TrackMemory, predicted: Mapping[str, Array], t: float
    ) -> tuple[list[Window], list[Blob], dict[str, NDArray[np.bool_]]]:
        """The spots in the windows of all targets of the bodies that are tracked, and which targets of each of these
        are too near to one of another body to be measured."""
        followed = [p for p in self._patterns if p.body in predicted]
        if not followed:
            return [], [], {}
        pixels = self._view.to_pixel(np.vstack([placed(p.positions, predicted[p.body]) for p in followed]))
        radii = np.concatenate([p.radii for p in followed]) / self._scale
        reach = max(
            float(p.radii.max()) / self._scale * SIZE_FACTOR + self._reach(memory.tracks[p.body], t) for p in followed
        )
        half = math.ceil(reach + MARGIN_PX + _RING_PX)
        height, width = frame.shape
        inside = ((pixels > 0) & (pixels < (width, height))).all(axis=1)
        blobs, corners = spots_at(frame, pixels[inside], half, radii[inside], self._gain)
        side = 2 * half + 1
        windows = [Window(left, top, left + side, top + side) for left, top in corners.tolist()]
        if len(followed) == 1:
            return windows, blobs, {followed[0].body: np.zeros(len(radii), dtype=bool)}
        sizes = [len(p.radii) for p in followed]
        owner = np.repeat(np.arange(len(followed)), sizes)
        touching = _touching(pixels, radii) & (owner[:, np.newaxis] != owner)
        covered = np.split(touching.any(axis=1), np.cumsum(sizes)[:-1])
        return windows, blobs, {p.body: part for p, part in zip(followed, covered, strict=True)}

    def _crowded(self, blobs: Sequence[Blob]) -> NDArray[np.bool_]:
        """Which spots have the light of another one in their aperture."""
        pixels = np.array([(blob.x, blob.y) for blob in blobs]).reshape(-1, 2)
        near = _touching(pixels, np.full(len(blobs), self._largest))
        np.fill_diagonal(near, False)
        return np.asarray(near.any(axis=1))

    def _on_plane(self, blobs: Sequence[Blob]) -> tuple[Array, Array, Array]:
        """Points [m], metres per pixel there, and radii [m] of spots."""
        if not blobs:
            return np.zeros((0, 2)), np.zeros(0), np.zeros(0)
        points, scale = self._view.with_scale(np.array([(blob.x, blob.y) for blob in blobs]))
        return points, scale, scale * np.array([blob.radius for blob in blobs])

    def _tracked(
        self,
        pattern: Pattern,
        points: Array,
        radii: Array,
        near: tuple[Array, float],
        covered: NDArray[np.bool_],
    ) -> Match | None:
        """The targets of a body near its predicted pose, without those that are covered."""
        pose, reach = near
        if len(points) < 2:
            return None
        expected = as_placed(pattern.positions, pose).tolist()
        seen = as_complex(points).tolist()
        sizes = radii.tolist()
        targets, spots = [], []
        for i, (predicted, radius, hidden) in enumerate(
            zip(expected, pattern.radii.tolist(), covered.tolist(), strict=True)
        ):
            near_ones = [
                (abs(predicted - point), k)
                for k, (point, size) in enumerate(zip(seen, sizes, strict=True))
                if size <= SIZE_FACTOR * radius and radius <= SIZE_FACTOR * size
            ]
            distance, nearest = min(near_ones, default=(math.inf, -1))
            if distance < reach and not hidden:
                targets.append(i)
                spots.append(nearest)
        if len(targets) >= 2 and len(set(spots)) == len(spots):
            positions = as_complex(pattern.positions).tolist()
            residual = rigid_residual([positions[i] for i in targets], [seen[k] for k in spots])
            if max(residual) < self._tolerance:
                return Match(pose, targets, spots, sum(error * error for error in residual))
        # A foreign spot is among them: the largest set that lies as the pattern does.
        return match(pattern, points, radii, self._tolerance, near, needed=2, hidden=covered)

    def _sighting(
        self, pattern: Pattern, matched: Match, blobs: Sequence[Blob], points: Array, scale: Array, t: float
    ) -> Sighting | None:
        """The pose of least squares; without targets that are covered by other light or off."""
        pairs = list(zip(matched.targets, matched.spots, strict=True))
        least = 2 if len(pairs) < pattern.needed else pattern.needed
        scales, sizes = scale.tolist(), pattern.radii.tolist()
        light = [blobs[k].total / (sizes[i] / scales[k]) ** 2 for i, k in pairs]
        middle = sorted(light)[(len(light) - 1) // 2]
        alike = [
            pair
            for pair, lit in zip(pairs, light, strict=True)
            if middle / _LIGHT_FACTOR < lit < _LIGHT_FACTOR * middle
        ]
        if least <= len(alike) < len(pairs):
            pairs = alike

        def fitted(kept: Sequence[tuple[int, int]]) -> tuple[float, PoseFit]:
            """The largest residual beyond the noise [m], and the fit."""
            targets, spots = [i for i, _ in kept], [k for _, k in kept]
            deviation = np.array([math.hypot(blobs[k].deviation, self._view.residual) * scales[k] for k in spots])
            fit = fit_pose(pattern.positions[targets], points[spots], deviation)
            return float((fit.residual - _SIGMAS * deviation).max()), fit

        off, fit = fitted(pairs)
        while off > self._tolerance and len(pairs) > least:
            # Not the largest residual: a bright false spot weighs more than the true ones and bends the fit.
            pairs = min(([*pairs[:i], *pairs[i + 1 :]] for i in range(len(pairs))), key=lambda some: fitted(some)[0])
            off, fit = fitted(pairs)
        if off > self._tolerance:
            return None
        pixels = np.array([(blobs[k].x, blobs[k].y) for _, k in pairs])
        residual = np.array([error / scales[k] for error, (_, k) in zip(fit.residual.tolist(), pairs, strict=True)])
        return Sighting(pattern.body, t, fit.pose, fit.covariance, tuple(i for i, _ in pairs), pixels, residual)

    def _reach(self, track: Track, t: float) -> float:
        """How far a target may be from its predicted place [pixel]."""
        if track.rate is None:
            reach = _LEAST_REACH_PX + self._fastest * (t - track.t) / self._scale
        else:
            reach = (_LEAST_REACH_PX + _SURPRISES * track.surprise) * (1 + track.missed)
        return min(reach, _GREATEST_REACH_PX)

    def _is_lost(self, memory: TrackMemory, body: str) -> bool:
        track = memory.tracks.get(body)
        return track is None or track.missed + 1 >= _PATIENCE

    def _followed(
        self, memory: TrackMemory, predicted: Mapping[str, Array], sightings: Sequence[Sighting], t: float
    ) -> dict[str, Track]:
        tracks = {
            body: track._replace(missed=track.missed + 1)
            for body, track in memory.tracks.items()
            if track.missed + 1 < _PATIENCE
        }
        for sighting in sightings:
            before = memory.tracks.get(sighting.body)
            body = sighting.body
            pose = sighting.pose
            if before is None or body not in tracks or t <= before.t:
                tracks[body] = Track(t, pose, None, 0.0, 0)
                continue
            change = pose - before.pose
            change[2] = math.remainder(change[2], math.tau)
            rate = change / (t - before.t)
            positions = next(p.positions for p in self._patterns if p.body == body)
            off = np.abs(as_placed(positions, pose) - as_placed(positions, predicted[body])).max() / self._scale
            if before.rate is None:
                tracks[body] = Track(t, pose, rate, min(float(off), 4.0), 0)
            else:
                tracks[body] = Track(t, pose, 0.5 * (rate + before.rate), max(float(off), 0.7 * before.surprise), 0)
        return tracks


def _predicted(track: Track, t: float) -> Array:
    """Pose at time t with constant velocity."""
    return track.pose if track.rate is None else track.pose + (t - track.t) * track.rate


def _touching(pixels: Array, radii: Array) -> NDArray[np.bool_]:
    """Which spots put light into the aperture of which others (n, n)."""
    centres = as_complex(pixels)
    return np.abs(centres[:, np.newaxis] - centres) < radii[:, np.newaxis] + radii + 2 * MARGIN_PX


def _without_shared(matches: dict[str, Match]) -> dict[str, Match]:
    """A spot that two bodies claim belongs to neither: their targets cover each other."""
    claimed = [spot for matched in matches.values() for spot in matched.spots]
    shared = {spot for spot in claimed if claimed.count(spot) > 1}
    if not shared:
        return matches
    left = {}
    for body, matched in matches.items():
        kept = [(i, k) for i, k in zip(matched.targets, matched.spots, strict=True) if k not in shared]
        if len(kept) >= 2:
            left[body] = matched._replace(targets=[i for i, _ in kept], spots=[k for _, k in kept])
    return left
