"""Faults: a plant that differs from the model, a push, a failed thruster that no frame reports, a vision drop-out."""

import granite

bed = granite.load(
    "free-flyer",
    {
        "simulation.plant": {"modules": {"vehicle": {"bodies": {"base": {"mass_kg": 55.0}}}}},
        "simulation.events": [
            {"kind": "push", "at_s": 5.0, "duration_s": 0.5, "body": "base", "force_n": [2.0, 0.0]},
            {"kind": "fault", "at_s": 8.0, "device": "thrusters", "unit": "r1", "what": "dead"},
            {"kind": "drop_out", "at_s": 12.0, "device": "vision", "duration_s": 0.4},
        ],
        "safety.monitor.judges_motion": False,  # the guard would end the run at the push
        "loop.duration_s": 20.0,
    },
)
log = granite.simulate(bed)
error = log["/truth"].base_x_m - log["/reference"].base_x_m
for name, t in (("before the push", 5.0), ("after it", 7.0), ("after the fault", 12.0), ("at the end", 19.9)):
    print(f"{name:16} {1e3 * error[log.t.searchsorted(t)]:7.2f} mm")
