"""Ticks of made-up numbers that fit a testbed, for tests of what is recorded."""

import numpy as np

from granite.config.devices.thrusters import Thrusters
from granite.config.records import (
    Array,
    Command,
    Demand,
    Frame,
    Operation,
    Reference,
    Sample,
    State,
    Status,
    Tick,
    Timing,
    Truth,
    Verdict,
)
from granite.config.testbed import Testbed
from granite.logs.channels import Channels

#: numbers that come back changed if anything but their bits is copied
AWKWARD = (np.nan, -0.0, np.inf, -np.inf, 5e-324, 1 / 3, np.nextafter(1.0, 2.0))


def make_tick(
    bed: Testbed,
    k: int,
    *,
    reason: int = 0,
    subject: int = 0,
    value: float = float("nan"),
    limit: float = -0.0,
    stop: bool = False,
    lost: int = 0,
    overruns: int = 0,
) -> Tick:
    """Tick number k, always the same numbers for the same k."""
    rng = np.random.default_rng(k)
    sensors, actuators = ([len(d.signals(bed)) for d in group.values()] for group in (bed.sensors, bed.actuators))
    direct = [len(d.signals(bed)) for d in bed.direct_actuators.values()]
    n_q, n_u, n_t = len(bed.known.positions), len(bed.known.velocities), len(bed.thrusters)
    t = k * bed.loop.period_s

    def some(n: int) -> Array:
        values = rng.standard_normal(n)
        awkward = rng.random(n) < 0.3
        values[awkward] = rng.choice(AWKWARD, awkward.sum())
        return values

    def frames(sizes: list[int]) -> tuple[Frame, ...]:
        return tuple(Frame(t - 0.01 * i, k + i, int(rng.integers(len(Status))), some(n)) for i, n in enumerate(sizes))

    def command() -> Command:
        return Command(t, tuple(some(n) for n in actuators), some(n_t))

    contacts = Channels.of(bed).topic("/truth").entries
    truth = [some(len(contacts[entry])) for entry in ("closed", "wrench", "squeeze", "caught", "lost", "audit")]
    operation = Channels.of(bed).topic("/operation").entries
    return Tick(
        Sample(t, frames(sensors), frames(actuators)),
        State(
            t,
            k % 2 == 0,
            some(n_q),
            some(n_u),
            some(n_u),
            some(len(sensors)),
            some(sum(sensors)),
            some(n_u),
            some(n_u),
            some(n_t),
            some(0),
            some(len(bed.grips) if bed.controller else 0),
            some(n_u),
            some(sum(sensors)),
        ),
        Reference(t, some(n_q), some(n_u), some(n_u), k % 3 == 0, tuple(some(n) for n in direct)),
        Demand(t, some(n_u), some(n_u), some(len(Channels.of(bed).topic("/demand").entries["wrench"]))),
        command(),
        Verdict(t, command(), reason, subject, value, limit, stop),
        frames(actuators),
        Truth(
            t,
            some(len(bed.positions)),
            some(len(bed.velocities)),
            some(n_t),
            some(len(bed.devices_of(Thrusters))),
            *truth,
        ),
        Timing(k, t, 1e-5, some(8), lost, overruns),
        Operation(t, 0, k, 2 * k, 0.5, 0, 0, 0, 0, *(some(len(operation.get(name, ()))) for name in ("goal", "gains"))),
    )


def many_rows(bed: Testbed, channels: Channels, n: int) -> Array:
    """The rows of n ticks: made quickly, because the numbers of 40 ticks come again and again."""
    some = [np.frombuffer(channels.pack(*make_tick(bed, k))) for k in range(40)]
    rows = np.tile(some, (-(-n // 40), 1))[:n]
    rows[:, channels.column("/timing", "tick")] = np.arange(n)
    for topic, key in (("/timing", "scheduled_s"), ("/sample", "t_s")):
        rows[:, channels.column(topic, key)] = np.arange(n) * bed.loop.period_s
    return rows


def bits(values: Array) -> Array:
    """The bit patterns, so that NaN equals NaN and 0.0 differs from -0.0."""
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
