"""The response to a small pulse of one actuator: expected by the model, and compared with what sensors measured.

Expected is the motion of the whole robot from rest, with all other actuators at zero: u' = a(q, u, torque, thrust) of
the control model. Measured signals are fitted by least squares, each in units of its noise:

    y(t) = c + d t + g p(t)

with a drift of its own for every signal, and one gain g for the expected motion p of all of them. g = 1 is the model's
actuator, -1 one with the wrong sign; where the motion p of another actuator leaves less of y, they are exchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.model import ControlModel

#: a gain is accepted from 1 / FACTOR to FACTOR
FACTOR = 2.5
#: a motion shows where it is this many standard deviations of its measurement, by a matched filter
SHOWS_SIGMA = 6.0
#: the expected motion must be this many
WANTED_SIGMA = 15.0
#: part of the measured motion that the model may leave unexplained, and that which another actuator may explain better
_UNEXPLAINED, _EXPLAINED = 0.5, 0.02
#: of that, what the other one leaves
_BETTER = 0.25
#: steps of the expected motion in a period
_STEPS = 2


class Pulse(NamedTuple):
    """A command to one actuator: its value in each part, each of the same duration, then zero."""

    unit: int  #: among the motors, or among the thrusters
    is_thruster: bool
    parts: tuple[float, ...]  #: [N m], or [N] of thrust
    part_s: float
    delay_s: float = 0.0
    #: of each motor, the torque per unit of this one's by which friction holds its joint; none: joints turn freely
    held: Array | None = None
    #: part of the known friction that resists: the true one may be less
    friction: float = 1.0

    @property
    def duration_s(self) -> float:
        """Of all parts [s]."""
        return self.part_s * len(self.parts)

    def at(self, t: float) -> float:
        """The command at a time since it began [s]."""
        k = int(np.floor((t + 1e-9) / self.part_s))
        return self.parts[k] if 0 <= k < len(self.parts) else 0.0


class MeasuredSignal(NamedTuple):
    """What a sensor measured of one coordinate around a pulse."""

    coordinate: int  #: its index in q
    t: Array  #: of the frames, since the pulse began [s]
    values: Array
    sigma: float  #: of its noise


class Judgement(NamedTuple):
    """What the response says about an actuator."""

    gain: float
    fault: str  #: in words; empty where it is as the model expects
    #: a stronger pulse may tell more: it did not move, or too little
    may_be_friction: bool = False


class ExpectedResponse:
    """Motions that the model expects, at the contacts that are closed at the start."""

    def __init__(self, bed: Testbed) -> None:
        model = ControlModel(bed)
        self._period, self._n = bed.loop.period_s, model.n
        self._torques, self._thrusts, self._driven = len(model.driven), len(bed.thrusters), model.driven
        self._run = model.compile_motion()
        #: known friction of the joint of each motor [N m or N]
        self.friction: Array = model.friction[model.driven]

    def acceleration(self, q: Array) -> Array:
        """Of the robot at rest, without any command."""
        return self._run(q, np.zeros(self._n), np.zeros(self._torques), np.zeros(self._thrusts))[0]

    def displacement(self, q: Array, pulse: Pulse, ends_s: float) -> tuple[Array, Array]:
        """Times from the beginning of the pulse on, and a row of displacements of q for each."""
        h = self._period / _STEPS
        times = np.arange(0.0, ends_s + h, h)
        return times, self._moved(q, pulse, times)

    def holding(self, q: Array, index: int) -> Array:
        """Of each motor, the torque by which its joint does not turn, per unit torque of one of them."""
        still, base = np.zeros(self._n), self.acceleration(q)
        columns = [self._run(q, still, unit, np.zeros(self._thrusts))[0] - base for unit in np.eye(self._torques)]
        mobility = np.array(columns).T[self._driven]
        others = [i for i in range(self._torques) if i != index]
        held = np.zeros(self._torques)
        if others:
            held[others] = -np.linalg.lstsq(mobility[np.ix_(others, others)], mobility[others, index], rcond=None)[0]
        return held

    def _moved(self, q: Array, pulse: Pulse, times: Array) -> Array:
        h = times.item(1)
        positions, u = [q.copy()], np.zeros(self._n)
        torque, thrust = np.zeros(self._torques), np.zeros(self._thrusts)
        acting = thrust if pulse.is_thruster else torque
        for t in times[:-1].tolist():
            acting[:] = 0.0
            acting[pulse.unit] = value = pulse.at(t + h / 2 - pulse.delay_s)
            if pulse.held is not None:
                torque += value * pulse.held
            acceleration, rates = self._run(positions[-1], u, torque, thrust, pulse.friction)
            u = u + h * acceleration
            positions.append(positions[-1] + h * rates)
        return np.array(positions) - q


def without_drift(t: Array, values: Array) -> Array:
    """What a constant and a drift leave of values over time."""
    design = np.stack([np.ones(len(t)), t], axis=1)
    rest: Array = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return rest


def _joined(signals: Sequence[MeasuredSignal], times: Array, moved: Array) -> Array:
    """The expected motion as the signals have it, in units of their noise."""
    parts = [without_drift(s.t, np.interp(s.t, times, moved[:, s.coordinate], left=0.0)) / s.sigma for s in signals]
    return np.concatenate(parts) if parts else np.zeros(0)


def expected_size(signals: Sequence[MeasuredSignal], times: Array, moved: Array) -> float:
    """Norm of the expected motion in standard deviations of its measurement."""
    return float(np.linalg.norm(_joined(signals, times, moved)))


def judge(
    signals: Sequence[MeasuredSignal],
    times: Array,
    expected: Mapping[str, Sequence[Array]],
    name: str,
    *,
    pushes_only: bool = False,
    was_cut: bool = False,
    factor: float = FACTOR,
) -> Judgement:
    """Compare the measured motion with the expected ones of this actuator and of the others, by their names.

    Of each there may be several expected motions, as of joints that friction holds or does not: the nearest counts.
    `pushes_only`: no gain is negative. `was_cut`: the pulse was ended because the robot moved too far. `factor` is the
    greatest gain.
    """
    measured = np.concatenate([without_drift(s.t, np.unwrap(s.values)) / s.sigma for s in signals])
    # Frames of noise alone leave their number; only what is above it moved.
    noise = float(len(measured))
    gains: dict[str, float] = {}
    left: dict[str, float] = {}
    own: list[tuple[float, float]] = []
    strength = 0.0
    for other, displacements in expected.items():
        for p in (_joined(signals, times, moved) for moved in displacements):
            along = float(p @ measured) / max(float(p @ p), 1e-12)
            along = max(along, 0.0) if pushes_only else along
            rest = max(float(np.sum((measured - along * p) ** 2)) - noise, 0.0)
            strength = max(strength, abs(along) * float(np.linalg.norm(p)))
            if other not in left or rest < left[other]:
                gains[other], left[other] = along, rest
            if other == name:
                own.append((along, rest))
    gain = gains[name]
    moved = max(float(measured @ measured) - noise, strength**2)
    if strength < SHOWS_SIGMA:
        return Judgement(gain, "does not move the robot", True)
    other = min(left, key=lambda candidate: left[candidate])
    # Joints that friction holds move a little, in other ways: only as much motion as expected can name a fault.
    may_be_friction = not was_cut and max(abs(gains[other]), abs(gain)) < 1 / FACTOR
    if left[name] > _EXPLAINED * moved and left[other] < _BETTER * left[name]:
        sign = " with the wrong sign" if gains[other] < 0 else ""
        return Judgement(gain, f"acts as {other}{sign}: they are exchanged", may_be_friction)
    size = f"{gain:.2g} times the expected response"
    if left[name] > _UNEXPLAINED * moved:
        return Judgement(gain, "moves the robot otherwise than the model", not was_cut)
    if gain < 0:
        return Judgement(gain, f"has the wrong sign, or another one's wires: {size}", may_be_friction)
    # Friction within its bounds explains what lies between the motions with and without it.
    possible = [along for along, rest in own if rest < _UNEXPLAINED * moved and 1 / FACTOR <= along <= factor]
    if possible and not was_cut:
        return Judgement(min(possible, key=lambda along: abs(along - 1)), "")
    if gain > factor:
        return Judgement(gain, f"is too strong: {size}")
    if gain < 1 / FACTOR:
        return Judgement(gain, f"is too weak: {size}", not was_cut)
    return Judgement(gain, f"moves the robot too far: {size}" if was_cut else "")
