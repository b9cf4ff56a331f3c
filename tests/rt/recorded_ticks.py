"""Ticks of made-up numbers that fit a testbed, for tests of what is recorded."""

import numpy as np

from granite.config import coordinates
from granite.config.records import Applied, Array, Command, Demand, Reference, Sample, State, Verdict
from granite.config.testbed import Testbed
from granite.rt.channels import Tick, Timing, Truth

#: numbers that come back changed if anything but their bits is copied
AWKWARD = (np.nan, -0.0, np.inf, -np.inf, 5e-324, 1 / 3, np.nextafter(1.0, 2.0))


def make_tick(bed: Testbed, k: int, *, reason: int = 0, stop: bool = False, lost: int = 0, overruns: int = 0) -> Tick:
    """Tick number k, always the same numbers for the same k."""
    rng = np.random.default_rng(k)
    devices = bed.devices
    n_s = len(devices.joint_sensors.joints) if devices.joint_sensors else 0
    n_t = len(devices.thrusters.units) if devices.thrusters else 0
    n_m = len(devices.motors)
    n_q, n_u = len(coordinates.positions(bed.robot)), len(coordinates.velocities(bed.robot))
    t = k * bed.loop.period_s

    def some(n: int) -> Array:
        values = rng.standard_normal(n)
        awkward = rng.random(n) < 0.3
        values[awkward] = rng.choice(AWKWARD, awkward.sum())
        return values

    def applied() -> Applied:
        return Applied(t, some(n_m), some(n_t))

    def command() -> Command:
        return Command(t, some(n_m), some(n_t), some(n_t))

    return Tick(
        Sample(t, t - 1e-3, 7.0, some(n_s), some(n_s), t - 0.04, 3.0, some(3), applied()),
        State(t, k % 2 == 0, some(n_q), some(n_u), some(n_u), 0.04, -0.0),
        Reference(t, some(n_q), some(n_u), some(n_u), k % 3 == 0),
        Demand(t, some(n_u), some(n_u), some(3)),
        command(),
        Verdict(t, command(), reason, stop),
        applied(),
        Truth(t, some(n_q), some(n_u), some(n_t), float("nan")),
        Timing(k, t, 1e-5, some(8), lost, overruns),
    )


def bits(values: Array) -> Array:
    """The bit patterns, so that NaN equals NaN and 0.0 differs from -0.0."""
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
