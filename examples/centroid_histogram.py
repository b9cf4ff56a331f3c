"""Histogram of the centroid of a noisy target over its density (Stanford report of 1987, figure A.2), as a picture."""

import matplotlib.pyplot as plt
import numpy as np

from granite.drivers.camera.centroid import ratio_density

# A target of 3 pixels on a grid of 8 x 8, a peak of 10 deviations of the noise: mean grey values, without noise.
side, noise, trials = 8, 1.0, 20_000
j, i = np.mgrid[:side, :side] - (side - 1) / 2
grey = 10.0 * np.maximum(0.0, 1 - np.hypot(i - 0.3, j) / 3)
mu_t, sigma_t = grey.sum(), side * noise  # (A.2), (A.3)
mu_s, sigma_s = (i * grey).sum(), noise * np.sqrt((i**2).sum())  # (A.4), (A.5)

seen = grey + noise * np.random.default_rng(1).standard_normal((trials, side, side))
x = (i * seen).sum(axis=(1, 2)) / seen.sum(axis=(1, 2))  # (A.1)
z = np.linspace(x.min(), x.max(), 2001)
density = ratio_density(z, mu_s, sigma_s, mu_t, sigma_t)  # (A.14)
cumulated = np.cumsum(density) * (z[1] - z[0])
off = np.abs(np.interp(np.sort(x), z, cumulated) - (np.arange(trials) + 0.5) / trials).max()

plt.hist(x, bins=60, density=True, alpha=0.5, label=f"{trials} images")
plt.plot(z, density, label="density (A.14)")
plt.xlabel("centroid [pixel]")
plt.legend()
plt.savefig("centroid.png")
print(
    f"centroid {x.mean():.3f} +- {x.std():.3f} pixel, off the density by {off:.4f}: {'agrees' if off < 0.02 else 'no'}"
)
