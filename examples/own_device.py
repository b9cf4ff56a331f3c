"""A kind of device of your own: a rate gyro on the base, with its simulation. Its signals are in the log."""

import numpy as np

import granite


class Gyro(granite.Device):
    """A rate gyro about z; the keys of its table are its data sheet."""

    role = "sensor"
    noise_rad_s: float = 1e-3

    def signals(self, bed):
        return (granite.Coordinate("rate", "rad/s"),)

    def simulate(self, plant, rng):
        return SimulatedGyro(self, plant, rng)


class SimulatedGyro:
    """The true rate of the base and noise, a frame at every tick."""

    def __init__(self, gyro, plant, rng):
        self.gyro, self.plant, self.rng, self.number = gyro, plant, rng, 0
        self.heading = plant.bed.layout.joint_u("base_heading")

    def open(self):
        pass

    def close(self):
        pass

    def read(self, t):
        self.plant.advance(t)
        self.number += 1
        rate = self.plant.u[self.heading] + self.gyro.noise_rad_s * self.rng.standard_normal()
        return granite.Frame(t, self.number, granite.Status.OK, np.array([rate]))


if __name__ == "__main__":
    bed = granite.load("free-flyer", {"devices.gyro": {"kind": f"{__file__}:Gyro"}, "loop.duration_s": 5.0})
    log = granite.simulate(bed)
    off = log["/sample"].gyro_rate_rad_s - log["/truth"].base_heading_rad_s
    print(f"gyro against truth: {1e3 * off.std():.2f} mrad/s")
