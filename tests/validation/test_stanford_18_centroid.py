"""Stanford report, appendix A: the centroid of a grey-scale target on a grid of 8 x 8 pixels, and its density."""

import numpy as np

from granite.drivers.camera.centroid import Blob, measure, ratio_density
from granite.drivers.camera.view import Lens, PlaneView
from granite.sim.camera.render import LightSpot, stamps
from tests.validation.claims import Claims

#: a pixel is a metre
PLAIN = PlaneView(Lens(1.0, (0.0, 0.0)), np.eye(3), (8, 8))
TRIALS, SIDE, CENTRE, RADIUS, PEAK, NOISE = 1000, 8, 3.5, 3.0, 100.0, 1.0


def image(x: float, y: float) -> np.ndarray:
    """Light of a cone, integrated over each pixel of the grid, without noise."""
    ((top, left, light),) = stamps(PLAIN, [LightSpot(x, y, RADIUS, PEAK)], 0.0)
    wide = np.zeros((3 * SIDE, 3 * SIDE))
    wide[SIDE + top : SIDE + top + light.shape[0], SIDE + left : SIDE + left + light.shape[1]] = light
    return wide[SIDE : 2 * SIDE, SIDE : 2 * SIDE]


def test_stanford18_centroid_of_a_target(claims: Claims):
    rng = np.random.default_rng(18)
    weights = np.arange(SIDE) - CENTRE
    square, round_, stated = [], [], []
    for _ in range(TRIALS):
        x, y = CENTRE + rng.uniform(-0.5, 0.5, 2)
        pixels = image(x, y) + NOISE * rng.standard_normal((SIDE, SIDE))
        total = pixels.sum()  # (A.1) over the whole grid
        square.append(
            (weights @ pixels.sum(axis=0) / total - x + CENTRE, weights @ pixels.sum(axis=1) / total - y + CENTRE)
        )
        one = np.ones(1)
        blob = Blob(
            *measure(np.pad(pixels, 2)[np.newaxis], np.array([(x + 2, y + 2)]), RADIUS * one, 0 * one, NOISE * one)[0]
        )
        round_.append((blob.x - x - 2, blob.y - y - 2))
        stated.append(blob.deviation)
    plain, ours = np.array(square), np.array(round_)
    first_order = NOISE * SIDE * np.sqrt((SIDE**2 - 1) / 12) / image(CENTRE, CENTRE).sum()  # sigma_s / mu_t
    what = "centroid on 8x8, cone of 3 pixels, SNR 100, 1000 trials"
    claims.below("Stanford 18", f"{what}: largest error", 0.1, np.abs(plain).max(), "pixel")
    claims.below("Stanford 18", f"{what}: mean error", 0.05, np.hypot(*plain.T).mean(), "pixel")
    claims.near("Stanford 18", f"{what}: standard deviation", 0.0194, plain.std(), 0.1, "pixel")
    claims.near("Stanford 18", f"{what}: sigma_s / mu_t", 0.0194, first_order, 0.02, "pixel")
    claims.below(
        "Stanford 18", "the same in a round aperture of 4 pixels: largest error", 0.1, np.abs(ours).max(), "pixel"
    )
    claims.near(
        "Stanford 18",
        "the same in that aperture: standard deviation over the stated one",
        1.0,
        ours.std() / np.mean(stated),
        0.05,
    )


def test_stanford18_density_of_the_centroid(claims: Claims):
    rng = np.random.default_rng(14)
    # Total light three deviations above zero, where the density is far from normal.
    for mu_s, sigma_s, mu_t, sigma_t in ((400.0, 18.3, 950.0, 8.0), (10.0, 18.3, 24.0, 8.0)):
        z = np.sinh(np.linspace(-22, 22, 2_000_001))
        density = ratio_density(z, mu_s, sigma_s, mu_t, sigma_t)
        cumulated = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(z))))
        drawn = np.sort(
            (mu_s + sigma_s * rng.standard_normal(400_000)) / (mu_t + sigma_t * rng.standard_normal(400_000))
        )
        off = np.abs(np.interp(drawn, z, cumulated) - (np.arange(len(drawn)) + 0.5) / len(drawn)).max()
        what = f"density A.14 with mu_t = {mu_t / sigma_t:.3g} sigma_t"
        claims.equal("Stanford 18", f"{what}: its integral", 1.0, cumulated[-1], 1e-5)
        claims.below("Stanford 18", f"{what}: against 400 000 draws", 0.003, off)
