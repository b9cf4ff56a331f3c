"""Bodies with targets that move under a rendered camera, for tests of the tracker."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from granite.config.devices.camera import Camera
from granite.drivers.camera.patterns import Pattern
from granite.drivers.camera.tracker import NO_MEMORY, Seen, Tracker
from granite.drivers.camera.view import PlaneView, view_of
from granite.sim.camera.render import ImageSensor, LightSpot, NoiseBank, RenderedFrame
from granite.sim.camera.scene import spots_of

RADIUS = 0.012
RATE_HZ = 60.0
#: 1280 x 1024 over a plate of 9 ft x 12 ft
CAMERA = Camera(kind="camera", field_m=(0.0, 0.0, 3.66, 2.74))
VIEW = view_of(CAMERA)
NOISY = ImageSensor(0.002, 20.0, 10.0, 1.2, 40.0)


def pattern(body: str, places: Sequence[tuple[float, float]], radii=None) -> Pattern:
    return Pattern(body, np.array(places), np.full(len(places), RADIUS) if radii is None else np.array(radii))


FOUR = pattern("four", [(0.15, 0.15), (-0.16, 0.12), (-0.13, -0.17), (0.08, -0.11)])
OTHER = pattern("other", [(0.17, 0.10), (-0.10, 0.16), (-0.18, -0.09), (0.13, -0.17)])
PAIR = pattern("pair", [(0.2, 0.0), (-0.14, 0.0)], [0.012, 0.024])

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
        memory, found = tracker.see(memory, frame, t)
        seen.append(found)
    errors: dict[str, list[np.ndarray]] = {body: [] for body in motions}
    sigmas: dict[str, list[np.ndarray]] = {body: [] for body in motions}
    for found in seen:
        for sighting in found.sightings:
            off = sighting.pose - motions[sighting.body](found.t)[0]
            off[2] = np.remainder(off[2] + np.pi, 2 * np.pi) - np.pi
            errors[sighting.body].append(off)
            sigmas[sighting.body].append(off / sighting.deviation)
    return seen, {b: np.array(e) for b, e in errors.items()}, {b: np.array(e) for b, e in sigmas.items()}


def seen_of(seen: Sequence[Seen], body: str) -> int:
    """In how many frames a body was seen."""
    return sum(sighting.body == body for found in seen for sighting in found.sightings)
