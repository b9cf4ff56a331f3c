"""A sweep: the same move with several gains and seeds, on all cores."""

from concurrent.futures import ProcessPoolExecutor
from itertools import product

import granite


def final_error(case: tuple[float, int]) -> float:
    stiffness, seed = case
    gains = {"stiffness_1_s2": stiffness, "damping_1_s": 2 * stiffness**0.5}
    bed = granite.load("free-flyer", {"controller.law.gains.base": gains, "seed": seed, "loop.duration_s": 10.0})
    return granite.metrics(granite.simulate(bed))["tracking_error"]["base_x"]["rms"]


if __name__ == "__main__":
    cases = list(product((0.25, 0.64, 1.44), (1, 2)))
    with ProcessPoolExecutor(max_workers=2) as pool:
        for (stiffness, seed), error in zip(cases, pool.map(final_error, cases), strict=True):
            print(f"stiffness {stiffness:.2f} 1/s2, seed {seed}: rms error in x {1e3 * error:.3f} mm")
