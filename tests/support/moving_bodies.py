"""Bodies with targets that move under a rendered camera, for tests of the tracker."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from granite.config.devices.camera import Camera
from granite.drivers.camera.patterns import Pattern
from granite.drivers.camera.tracker import NO_MEMORY, Sightings, Tracker
from granite.drivers.camera.view import PlaneView, view_of
from granite.sim.camera.render import ImageSensor, LightSpot, NoiseBank, RenderedFrame
from granite.sim.camera.scene import spots_of

RADIUS = 0.012
RATE_HZ = 60.0
#: 1280 x 1024 over a plate of 9 ft x 12 ft
CAMERA = Camera(kind="camera", field_m=(0.0, 0.0, 3.66, 2.74))
VIEW = view_of(CAMERA)
NOISY = ImageSensor(0.002, 20.0, 10.0, 1.2, 40.0)

#: the smaller side of the field
FIELD_M = 2.74


def pattern(body: str, places: Sequence[tuple[float, float]], radii=None) -> Pattern:
    return Pattern(body, np.array(places), np.full(len(places), RADIUS) if radii is None else np.array(radii))


FOUR = pattern("four", [(0.15, 0.15), (-0.16, 0.12), (-0.13, -0.17), (0.08, -0.11)])
OTHER = pattern("other", [(0.17, 0.10), (-0.10, 0.16), (-0.18, -0.09), (0.13, -0.17)])
PAIR = pattern("pair", [(0.2, 0.0), (-0.14, 0.0)], [0.012, 0.024])
EIGHT = pattern(
    "eight",
    [
        (0.22, 0.03),
        (0.15, 0.18),
        (-0.02, 0.21),
        (-0.17, 0.14),
        (-0.21, -0.02),
        (-0.12, -0.19),
        (0.06, -0.16),
        (0.19, -0.1),
    ],
)

Motion = Callable[[float], tuple[np.ndarray, np.ndarray]]


def straight(pose: Sequence[float], rate: Sequence[float] = (0.0, 0.0, 0.0)) -> Motion:
    """Constant velocity."""
    return lambda t: (np.array(pose) + t * np.array(rate), np.array(rate))


def frames(
    bodies: Sequence[tuple[Pattern, Motion]],
    n: int,
    sensor: ImageSensor = NOISY,
    view: PlaneView = VIEW,
    extra: Callable[[float], Sequence[LightSpot]] = lambda t: (),
    hidden: Callable[[float, str, int], bool] = lambda t, body, target: False,
    seed: int = 0,
    bank: NoiseBank | None = None,
) -> Iterator[tuple[float, RenderedFrame]]:
    """(middle of the exposure, frame) of bodies in motion."""
    bank = bank or NoiseBank(view.size, np.random.default_rng(seed))
    for k in range(n):
        t = k / RATE_HZ
        spots = list(extra(t))
        for shape, motion in bodies:
            seen = spots_of(shape, *motion(t), 190.0)
            spots += [spot for i, spot in enumerate(seen) if not hidden(t, shape.body, i)]
        yield t, RenderedFrame(view, spots, sensor, bank)


def track(
    bodies: Sequence[tuple[Pattern, Motion]], n: int, view: PlaneView = VIEW, believed: PlaneView | None = None, **how
):
    """(what was seen in each frame, errors of the poses by body, errors over their deviations)."""
    tracker = Tracker(believed or view, [shape for shape, _ in bodies], 1 / 40)
    motions = {shape.body: motion for shape, motion in bodies}
    memory, seen = NO_MEMORY, []
    for t, frame in frames(bodies, n, view=view, **how):
        memory, step = tracker.see(memory, frame, t)
        seen.append(step)
    errors: dict[str, list[np.ndarray]] = {body: [] for body in motions}
    sigmas: dict[str, list[np.ndarray]] = {body: [] for body in motions}
    for step in seen:
        for sighting in step.sightings:
            off = sighting.pose - motions[sighting.body](step.t)[0]
            off[2] = np.remainder(off[2] + np.pi, 2 * np.pi) - np.pi
            errors[sighting.body].append(off)
            sigmas[sighting.body].append(off / sighting.deviation)
    return seen, {b: np.array(e) for b, e in errors.items()}, {b: np.array(e) for b, e in sigmas.items()}


def seen_of(seen: Sequence[Sightings], body: str) -> int:
    """In how many frames a body was seen."""
    return sum(sighting.body == body for steps in seen for sighting in steps.sightings)


def hidden_for_a_while(t: float, body: str, target: int) -> bool:
    """Two targets, then all of them."""
    return (0.2 <= t < 0.5 and target in (0, 2)) or 0.6 <= t < 0.9


def reflections(t: float) -> list[LightSpot]:
    """One lies still where a target passes, one sits beside a target and moves with it, one is large."""
    return [
        LightSpot(1.35, 1.15, 0.012, 235.0),
        LightSpot(1.0 + 0.3 * t + 0.21, 1.0, 0.012, 190.0, (0.3, 0.0)),
        LightSpot(1.5, 1.4, 0.06, 235.0),
    ]


def crossings(n: int, seed: int) -> float:
    """Crossings in which one body passes over the other; the largest error, and none of a swap."""
    rng, worst = np.random.default_rng(seed), 0.0
    bank = NoiseBank(VIEW.size, rng)
    for _ in range(n):
        angle, meeting = rng.uniform(-np.pi, np.pi), np.array([1.8, 1.4])
        relative = rng.uniform(0.3, 0.8) * np.array([np.cos(angle), np.sin(angle)])
        drift = rng.uniform(-0.2, 0.2, 2)
        aside = rng.uniform(-0.15, 0.15, 2)
        turns = rng.uniform(-1, 1, 2)
        headings = rng.uniform(-3, 3, 2)
        bodies = []
        for shape, sign, turn, heading in zip((FOUR, OTHER), (-1, 1), turns, headings, strict=True):
            rate = (*(drift + sign * relative / 2), turn)
            start = meeting + sign * aside / 2 - np.array(rate[:2]) * 0.5
            bodies.append((shape, straight((*start, heading), rate)))
        seen, errors, _ = track(bodies, 60, bank=bank)
        assert min(len(e) for e in errors.values()) > 40
        assert {sighting.body for step in seen[-5:] for sighting in step.sightings} == {"four", "other"}
        worst = max(worst, *(np.abs(e[:, :2]).max() for e in errors.values()))
        assert worst < 0.02  # a swap would be off by decimetres
    return worst
