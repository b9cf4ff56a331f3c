"""Sensors of your own that the estimator uses: a gyro with a bias, and a range finder to the edge of the table."""

import casadi as ca
import numpy as np

import granite


class Gyro(granite.Device):
    """The rate of the base about z, with an unknown bias."""

    role = "sensor"
    noise_rad_s: float = 5e-4
    bias_rad_s: float = 0.02

    def signals(self, bed):
        return (granite.Coordinate("rate", "rad/s"),)

    def measurement(self, motion):
        heading = motion.layout.joint_u("base_heading")
        return granite.Measurement(motion.u[heading], (self.noise_rad_s,), biases=(granite.Bias(0, self.bias_rad_s),))


class RangeFinder(granite.Device):
    """The distance along a beam, fixed in the base at its origin, to the wall at x = wall_m: headings up to 1.2 rad."""

    role = "sensor"
    wall_m: float = 4.0
    noise_m: float = 2e-4

    def signals(self, bed):
        return (granite.Coordinate("range", "m"),)

    def measurement(self, motion):
        x, heading = motion.q[motion.layout.joint_q("base_x")], motion.q[motion.layout.joint_q("base_heading")]
        return granite.Measurement((self.wall_m - x) / ca.cos(heading), (self.noise_m,))


if __name__ == "__main__":
    sensors = {name: {"kind": f"{__file__}:{kind}"} for name, kind in (("gyro", "Gyro"), ("laser", "RangeFinder"))}
    for label, more in (("without", {}), ("with", {f"devices.{name}": table for name, table in sensors.items()})):
        log = granite.simulate(granite.load("free-flyer", {"loop.duration_s": 15.0, **more}))
        truth, state, late = log["/truth"], log["/state"], log.t > 10.0
        x = np.std((state.base_x_m - truth.base_x_m)[late])
        heading = np.std((state.base_heading_rad - truth.base_heading_rad)[late])
        print(f"{label:7} gyro and range finder: {1e3 * x:.3f} mm, {1e3 * heading:.3f} mrad")
