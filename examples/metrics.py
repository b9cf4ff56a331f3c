"""The metrics of a run: the same function for a run in memory and for a log on disk."""

import granite

bed = granite.load("free-flyer", {"loop.duration_s": 3.0})
in_memory = granite.metrics(granite.simulate(bed))
recorded = granite.metrics(granite.simulate(bed, "metrics.mcap", overwrite=True))

for name, error in in_memory["tracking_error"].items():
    print(f"{name:14} rms {error['rms']:.2e} {error['unit']}")
print(f"propellant {in_memory['propellant']['impulse_n_s']:.2f} N s in {in_memory['propellant']['pulses']} pulses")
print("the same from disk:", in_memory["tracking_error"] == recorded["tracking_error"])
