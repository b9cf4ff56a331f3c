"""A sweep: the same move with several gains and seeds, on all processors."""

import granite

STIFFNESS, DAMPING = (f"controller.law.gains.base.{key}" for key in ("stiffness_1_s2", "damping_1_s"))

if __name__ == "__main__":
    gains = [{STIFFNESS: k, DAMPING: 2 * k**0.5} for k in (0.25, 0.64, 1.44)]
    bed = granite.load("free-flyer", {"loop.duration_s": 10.0})
    runs = granite.simulate_many(bed, gains, seeds=[1, 2])
    for run in runs:
        error = run.metrics["tracking_error"]["base_x"]["rms"]
        print(f"stiffness {run.changes[STIFFNESS]:.2f} 1/s2, seed {run.seed}: rms error in x {1e3 * error:.3f} mm")
    worst = max(runs, key=lambda run: run.metrics["tracking_error"]["base_x"]["rms"])
    print(f"the worst again, as a full log: {worst.log('worst.mcap', overwrite=True).ticks} ticks")
