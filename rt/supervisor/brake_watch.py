"""The watch of a brake: a rate that grows while it should fall is that of an actuator which acts the wrong way.

Motors with a wrong sign, exchanged or wrongly scaled ones turn a brake into a drive. Above its limit a rate may not
reach `FASTEST` times that, nor stay above the lowest one of the brake for longer than `_GROWS_S`, nor come back above
its limit within `_SWINGS_S`. Below its limit it may not grow for `_LAGS_S` while it lags behind the brake: thrusters
that push the wrong way take seconds to reach a limit, and the table ends before. Noise of a rate counts where its limit
is hardly above that.

What grows faster than the actuators can make it grow is pushed, and the watch begins anew. A base whose actuators need
longer than `_SWINGS_S` to its limit can't be made to swing by them, and has the time in which they add a part of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from granite.config.devices.joint_sensors import JointDevice
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.tolerances import SAME_TIME_S
from granite.rt.guard.monitor import FASTEST

#: growth that counts, as a part of the limit, and how long it may last [s]: a tick or two pass until a brake acts
_GROWTH, _GROWS_S = 0.05, 0.02
#: so many ticks ahead a rate that grows is judged: the estimate lags behind a motor that is too strong
_AHEAD_TICKS = 4
#: noise that is no growth, in its standard deviations: of one rate, of a difference of two, of a rate ahead
_SIGMA = 3.0
_OF_DIFFERENCE, _OF_RATE_AHEAD = math.sqrt(2), math.hypot(1 + _AHEAD_TICKS, _AHEAD_TICKS)
#: too strong an actuator makes the rate swing through zero; a push in a hold comes later [s]
_SWINGS_S = 0.25
#: how far a speed may lag behind that of the brake, by its unit, while it grows by a part of that, and how long [s]
_LAG = {"m/s": 0.04, "rad/s": 0.2}
_GROWTH_OF_LAG, _LAGS_S = 0.25, 0.5
#: greatest acceleration by wrong actuators, by that of the data sheet; how late the estimate shows it [s]
_STRONGER, _ESTIMATED_S = 2.0, 0.25
#: part of its limit that a slow base may grow by
_SLOW_GROWTH = 0.2


class RateHistory(NamedTuple):
    """A rate that is above its limit."""

    #: when it was above its limit last, and what it was then [s; m/s or rad/s]
    t: float
    last: float
    #: size of the lowest one of the brake, when it was that, and when it was last not above that [m/s or rad/s; s]
    lowest: float
    lowest_at: float
    falling_at: float


class BrakeWatch:
    """The rates that are above their limits, by their subject in the verdict.

    Parameters
    ----------
    noises
        Standard deviation of the noise of rates by subject, where it is known [rad/s].
    accelerations
        What the actuators give at most by subject, of bases [m/s2 or rad/s2].
    """

    def __init__(self, noises: Mapping[int, float], accelerations: Mapping[int, float] | None = None) -> None:
        self._rates: dict[int, RateHistory] = {}
        self._noises, self._accelerations = noises, accelerations or {}

    def begin(self, t: float) -> None:
        """A brake begins: rates may be what they are now."""
        self._rates = {
            subject: RateHistory(rate.t, rate.last, abs(rate.last), t, t) for subject, rate in self._rates.items()
        }

    def grows(self, t: float, subject: int, value: float, limit: float) -> bool:
        """Whether a rate above its limit shows that the brake drives it; called once in a tick for each."""
        rate, most, noise = abs(value), abs(limit), _SIGMA * self._noises.get(subject, 0.0)
        before, swings = self._rates.get(subject), False
        possible = _STRONGER * self._accelerations.get(subject, math.inf)
        is_slow = possible * _SWINGS_S < most
        if before is None or t - before.t > _GROWS_S + SAME_TIME_S:  # it was below its limit in between
            swings = before is not None and t - before.t <= _SWINGS_S and rate > most + noise
            before = RateHistory(t, value, rate, t, t)
        elif rate - before.lowest > possible * (t - before.lowest_at + _ESTIMATED_S):
            before = RateHistory(t, value, rate, t, t)  # pushed
        swings = swings or before.last * value < 0
        lowest, lowest_at = min((before.lowest, before.lowest_at), (rate, t))
        falls = rate <= lowest + _GROWTH * most + _OF_DIFFERENCE * noise
        falling_at = t if falls else before.falling_at
        self._rates[subject] = RateHistory(t, value, lowest, lowest_at, falling_at)
        next_rate = rate + _AHEAD_TICKS * max(rate - abs(before.last), 0.0)
        if is_slow:
            return t - falling_at > max(_GROWS_S, min(_SLOW_GROWTH * most / possible, _LAGS_S)) - SAME_TIME_S
        is_too_fast = next_rate > FASTEST * most + _OF_RATE_AHEAD * noise
        return swings or is_too_fast or t - falling_at > _GROWS_S - SAME_TIME_S


def rate_noises(bed: Testbed) -> dict[str, float]:
    """Of the rates of joints, by the names of their subjects, measured and estimated: those have less [rad/s]."""
    return {
        subject: device.rate_noise_rad_s
        for name, device in bed.devices_of(JointDevice).items()
        for joint in device.joints
        for subject in (f"{name} {joint}_rate", f"{joint} rate")
    }


class BrakedSpeeds:
    """The speeds that a brake brings to rest, below their limits too.

    Parameters
    ----------
    groups
        Indices of the velocities that come to rest together.
    units
        Of the velocities.
    accelerations
        What the actuators give each of them at most [m/s2 or rad/s2].
    """

    def __init__(self, groups: Sequence[tuple[int, ...]], units: Sequence[str], accelerations: Array) -> None:
        self._groups = [(list(group), _LAG[units[group[0]]]) for group in groups if units[group[0]] in _LAG]
        self._possible = [_STRONGER * float(np.linalg.norm(accelerations[group])) for group, _ in self._groups]
        #: of each group: lowest speed since the brake began, when, and when it was last braked [m/s or rad/s; s]
        self._since: list[tuple[float, float, float]] = []

    def begin(self) -> None:
        """A brake begins with the next speeds."""
        self._since = []

    def driven(self, t: float, u: Array, u_ref: Array) -> int | None:
        """The first velocity of a group that the brake drives; None while it brakes all of them."""
        self._since = self._since or [(math.inf, t, t)] * len(self._groups)
        for i, (group, lag) in enumerate(self._groups):
            speed, expected = float(np.linalg.norm(u[group])), float(np.linalg.norm(u_ref[group]))
            lowest, lowest_at, braked_at = self._since[i]
            is_pushed = speed - lowest > self._possible[i] * (t - lowest_at + _ESTIMATED_S)
            lowest, lowest_at = (speed, t) if is_pushed else min((lowest, lowest_at), (speed, t))
            is_braked = speed <= expected + lag or speed <= lowest + _GROWTH_OF_LAG * lag
            self._since[i] = lowest, lowest_at, t if is_braked else braked_at
            if t - self._since[i][2] > _LAGS_S:
                return group[0]
        return None
