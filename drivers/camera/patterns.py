"""Bodies as patterns of targets: which patterns can be told apart, and which spots are which targets.

Every pair of spots whose distance is that of a pair of targets gives a pose; the pose under which most targets have a
spot is the right one. Distances do not depend on the pose, so this works without any knowledge of the past.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite.config.errors import InputError
from granite.config.records import Array
from granite.drivers.camera.pose import placed

#: a measured radius may differ by this factor from that of its target
SIZE_FACTOR = 1.4
#: the targets of a pair must differ by this factor, so that its two ends are told apart by their size
_PAIR_FACTOR = 1.8
#: on one line: the second singular value of the places over the first
_LINE = 0.02


class Pattern(NamedTuple):
    """The targets of a body."""

    body: str
    positions: Array  #: in the axes of the body (n, 2) [m]
    radii: Array  #: (n) [m]

    @property
    def needed(self) -> int:
        """Targets that identify the body: half of them, and at least three, or both of a pair."""
        return min(len(self.positions), max(3, (len(self.positions) + 1) // 2))


def check_patterns(patterns: Iterable[Pattern], tolerance: float) -> None:
    """Refuse patterns that a camera could take for each other, or that do not determine a heading.

    Parameters
    ----------
    patterns
        Of all bodies that the camera may see.
    tolerance
        Error of a target's place [m]; distances that differ by less are the same.

    Raises
    ------
    InputError
        Its key is the body's name.
    """
    shapes = list(patterns)
    for pattern in shapes:
        _check_one(pattern, tolerance)
    for one, other in combinations(shapes, 2):
        shared = _overlap(one, other, tolerance)
        if shared >= min(one.needed, other.needed):
            raise InputError(
                f"{shared} of its targets lie as those of '{one.body}', within {tolerance * 1e3:.2g} mm",
                key=other.body, expected="another pattern",
            )  # fmt: skip


def _check_one(pattern: Pattern, tolerance: float) -> None:
    body, positions, radii = pattern
    if len(positions) < 2:
        raise InputError(f"{len(positions)} targets", key=body, expected="two or more, to determine its heading")
    distances = [float(np.hypot(*(positions[i] - positions[j]))) for i, j in combinations(range(len(positions)), 2)]
    if min(distances) < 4 * float(radii.max()):
        raise InputError(
            f"two targets are {min(distances):.4g} m apart", key=body, expected=f"{4 * radii.max():.4g} m or more"
        )
    if len(positions) == 2:
        if radii.max() < _PAIR_FACTOR * radii.min():
            raise InputError(
                "two targets of about the same size", key=body, expected=f"radii that differ by {_PAIR_FACTOR} times"
            )
        return
    size = np.linalg.svd(positions - positions.mean(axis=0), compute_uv=False)
    if size[1] < _LINE * size[0]:
        raise InputError("its targets are collinear", key=body, expected="a triangle, to refuse a mirrored image")
    shared = _overlap(pattern, pattern, tolerance)
    if shared >= pattern.needed:
        raise InputError(
            f"turned, {shared} of its targets lie as before, within {tolerance * 1e3:.2g} mm",
            key=body, expected="a pattern without symmetry",
        )  # fmt: skip


class Match(NamedTuple):
    """Spots that are targets of a body."""

    pose: Array
    targets: list[int]
    spots: list[int]
    error: float  #: sum of squared distances [m2]


def match(
    pattern: Pattern,
    points: Array,
    radii: Array,
    tolerance: float,
    near: tuple[Array, float] | None = None,
    needed: int | None = None,
    hidden: NDArray[np.bool_] | None = None,
) -> Match | None:
    """Which spots are the targets of a body; None where too few are.

    Parameters
    ----------
    points, radii
        Of the spots (n, 2), (n) [m].
    tolerance
        Of the place of a target [m].
    near
        Where the pattern is expected: a pose, and how far a target may be from its place under it [m].
    needed
        Least number of targets; None: so many as identify the body.
    hidden
        Targets that no spot can be (n); None: none.
    """
    least = pattern.needed if needed is None else needed
    best: Match | None = None
    if len(points) < least:
        return None
    fits = np.abs(np.log(radii[np.newaxis] / pattern.radii[:, np.newaxis])) < np.log(SIZE_FACTOR)
    if near is not None:
        fits &= _distance(placed(pattern.positions, near[0]), points) < near[1]
    if hidden is not None:
        fits[hidden] = False
    apart = _distance(points, points)
    for i, j in combinations(range(len(pattern.positions)), 2):
        length = float(np.hypot(*(pattern.positions[i] - pattern.positions[j])))
        alike = (np.abs(apart - length) < 2 * tolerance) & fits[i][:, np.newaxis] & fits[j]
        for a, b in zip(*np.nonzero(alike), strict=True):
            pose = _pose_of_pair(pattern.positions[[i, j]], points[[a, b]])
            candidate = _under(pattern, points, fits, tolerance, pose)
            if len(candidate.targets) >= least and (best is None or _better(candidate, best)):
                best = candidate
        if best is not None and len(best.targets) == len(pattern.positions):
            break
    return best


def match_all(
    patterns: Iterable[Pattern], points: Array, radii: Array, tolerance: float
) -> Mapping[str, tuple[Match, list[int]]]:
    """The match of every body that is seen; the body with most targets first, and no spot is used twice.

    Returns
    -------
    Mapping
        By body: its match, and the index of its spots among all points.
    """
    free = np.arange(len(points))
    left = list(patterns)
    matches = {}
    while left:
        candidates = [(m, p) for p in left if (m := match(p, points[free], radii[free], tolerance)) is not None]
        if not candidates:
            break
        best, pattern = max(candidates, key=lambda pair: (len(pair[0].targets), -pair[0].error))
        matches[pattern.body] = best, free[best.spots].tolist()
        free = np.delete(free, best.spots)
        left.remove(pattern)
    return matches


def _better(one: Match, other: Match) -> bool:
    return (len(one.targets), -one.error) > (len(other.targets), -other.error)


def _pose_of_pair(positions: Array, points: Array) -> Array:
    (dx, dy) = points[1] - points[0]
    (px, py) = positions[1] - positions[0]
    heading = float(np.arctan2(dy, dx) - np.arctan2(py, px))
    pose = np.array([0.0, 0.0, heading])
    pose[:2] = (points - placed(positions, pose)).mean(axis=0)
    return pose


def _under(pattern: Pattern, points: Array, fits: Array, tolerance: float, pose: Array) -> Match:
    """The targets that have a spot at their place under a pose of two of them."""
    # A pair near each other turns the far targets by more than the tolerance.
    distance = np.where(fits, _distance(placed(pattern.positions, pose), points), np.inf)
    nearest = distance.argmin(axis=1)
    targets = [i for i, k in enumerate(nearest) if distance[i, k] < 3 * tolerance]
    spots = [int(nearest[i]) for i in targets]
    error = float(sum(distance[i, k] ** 2 for i, k in zip(targets, spots, strict=True)))
    if len(set(spots)) < len(spots):
        return Match(pose, [], [], np.inf)
    return Match(pose, targets, spots, error)


def _overlap(one: Pattern, other: Pattern, tolerance: float) -> int:
    """The most targets of one that some motion brings to those of the other; of itself, other than where they are."""
    most, same = 0, one is other
    apart = _distance(other.positions, other.positions)
    alike = np.ones((len(one.positions), len(other.positions)), dtype=bool)
    for i, j in combinations(range(len(one.positions)), 2):
        length = np.hypot(*(one.positions[i] - one.positions[j]))
        for a, b in zip(*np.nonzero(np.abs(apart - length) < 4 * tolerance), strict=True):
            if a == b or (same and (a, b) == (i, j)):
                continue
            pose = _pose_of_pair(one.positions[[i, j]], other.positions[[a, b]])
            most = max(most, len(_under(one, other.positions, alike, 2 * tolerance, pose).targets))
    return most


def _distance(one: Array, other: Array) -> Array:
    """Of each point of one from each of the other (n, m)."""
    return np.asarray(np.hypot(*(one[:, np.newaxis] - other).transpose(2, 0, 1)))
