"""Load a testbed, change it, simulate it, read signals by name, and plot the run."""

import numpy as np

import granite

bed = granite.load("free-flyer", {"loop.duration_s": 5.0, "seed": 2})
log = granite.simulate(bed)

truth, reference = log["/truth"], log["/reference"]
ready = log["/state"].ready == 1.0  # before the first pose there is no estimate
error = (truth.base_x_m - reference.base_x_m)[ready]
print(f"{len(log.t)} ticks, largest error in x {1e3 * np.abs(error).max():.2f} mm, ended: {log.summary['ended']}")
print(f"drawn: {granite.plot(log, 'simulate.png', overwrite=True)}")
