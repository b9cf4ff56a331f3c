"""Model predictive control beside computed torque: a post stands nearer to the way of the base than it may."""

import granite

LAWS = {"computed torque": {}, "predictive": {"controller.law": {"kind": "predictive"}}}
POST = {"name": "post", "disc": {"position_m": [2.346, 2.157], "radius_m": 0.1}}

if __name__ == "__main__":
    for name, law in LAWS.items():
        # Without `check_moves = false` the path would be refused before the run.
        bed = granite.load("atmos", {**law, "safety.keep_out": [POST], "behaviour.check_moves": False})
        metrics = granite.metrics(granite.simulate(bed))
        least = min(one["least_m"] for one in metrics["clearance"].values())
        impulse = metrics["propellant"]["impulse_n_s"]
        print(f"{name}: {metrics['ended']}, {1e3 * least:.0f} mm from the post, {impulse:.1f} N s")
