"""Step by step: `reset` and `step` over the same tick, with set points of the caller, and a push during the run."""

import numpy as np

import granite

bed = granite.load("free-flyer", {"loop.duration_s": 4.0, "safety.monitor.judges_motion": False})
env = granite.Environment(bed, pushable=["base"])
tick = env.reset(seed=3)
while not env.done:
    open_valves = np.zeros(8)
    open_valves[[3, 4]] = float(tick.truth.t < 1.0)  # r4 and r5 push along x for a second
    tick = env.step({"thrusters": open_valves})
    if abs(tick.truth.t - 2.0) < 1e-9:
        env.push("base", (0.0, 2.0))
    if abs(tick.truth.t - 2.5) < 1e-9:
        env.push("base")

print(f"velocity after a second of thrust and a push: {np.round(tick.truth.u[:2], 3)} m/s, ended: {env.reason.name}")
