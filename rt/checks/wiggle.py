"""The wiggle before a run: a short, small pulse of each actuator in turn, whose measured response must be the model's.

A motor that is wired with the wrong sign, exchanged, wrongly scaled or dead is refused by name before the first real
motion. A motor gets torques + - - +, after which a free joint is back at rest where it was, at first so small that it
moves by a few milliradians and twice as large while friction holds it; a thruster one pulse. Outputs are at zero
between pulses and on every way out. The guard checks every command with its own limits; what exceeds three times the
expected motion ends the pulse at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from granite.config.devices.motors import Motor, Motors
from granite.config.devices.thrusters import Thrusters
from granite.config.reasons import Reason
from granite.config.records import Array, Command, Sample, State
from granite.config.testbed import Testbed
from granite.config.verdict_subjects import sentence, subjects
from granite.controllers.distribution.yaw_wheel import no_unloading
from granite.controllers.stack import build_stack
from granite.drivers.device_set import DeviceSet
from granite.rt.checks.preflight_checks import CheckResult
from granite.rt.checks.wiggle_response import (
    FACTOR,
    WANTED_SIGMA,
    ExpectedResponse,
    Judgement,
    MeasuredSignal,
    Pulse,
    expected_size,
    judge,
    without_drift,
)
from granite.rt.guard.guard import Guard
from granite.rt.loop.clock import Clock, TooLateError, refuse_late
from granite.rt.process.posix_signals import StopSignals
from granite.rt.supervisor.mode_stacks import ModeParts

#: how long the robot is observed before the first pulse, before each one, and after one of a motor or thruster [s]
_OBSERVED_S, _BEFORE_S, _AFTER_S = 1.0, {False: 0.15, True: 0.4}, {False: 0.15, True: 0.6}
#: torques of a motor: parts of its limit; each of four parts lasts this long [s]
_LEVELS = tuple(0.32 * 0.5**k for k in range(12, -1, -1))
_PART_S = 0.08
#: part of the known friction that may be missing
_UNCERTAIN = 0.5
#: least and greatest expected motion of a joint by a motor [rad or m]
_LEAST, _MOST = 0.004, 0.15
#: opening times of a thruster [s]
_OPENINGS_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
#: a pulse ends where something moves further than this many times the expected motion, or than these [rad or m]; a
#: joint at any rate beyond the last of them
_FURTHER, _JOINT, _ROOT, _FURTHEST = 3.0, 0.012, {"m": 0.03, "rad": 0.1}, 0.2
#: without a command a joint or base accelerates at most by this [m/s^2 or rad/s^2]: else it does not rest
_RESTS = 0.05
#: after a pulse frames are on their way for at least this long [s]
_LEAST_WAIT_S = 0.02
#: whose mean is where a pulse begins
_FRAMES = 3
#: noise below which no signal is taken to be [m or rad]
_LEAST_SIGMA = 1e-5
#: what the wiggle judges itself
_JUDGED_HERE = (
    Reason.MOTION_UNEXPLAINED,
    Reason.MODEL_DOUBTED,
    Reason.MOTOR_GAIN,
    Reason.SENSOR_OUTLIERS,
    Reason.SENSOR_STALE,  # of frames that the estimate does not use; see `_refuse_old_frames`
    Reason.SENSOR_BIASED,
    Reason.SENSORS_DISAGREE,
    Reason.TORQUE_STEP,
    Reason.REFERENCE_JUMP,
    Reason.TRACKING_ERROR,
)


_T = TypeVar("_T")


def wiggle(bed: Testbed, devices: DeviceSet, clock: Clock, skipped: Collection[str] = ()) -> list[CheckResult]:
    """Wiggle every motor and thruster of a testbed; the outputs are at zero afterwards.

    Parameters
    ----------
    bed
        The testbed, with a controller.
    devices
        Of no run: they are opened and closed here.
    clock
        Real, or virtual for simulated devices.
    skipped
        Actuators that are not tried: simulated ones move no real robot.

    Returns
    -------
    list
        A finding for every motor and thruster; the run must not start unless all of them passed.

    Raises
    ------
    SignalInterrupt
        After a signal.
    """
    if bed.controller is None:
        return []
    with StopSignals(clock.is_real, pass_on=False) as signals:
        devices.open()
        findings: list[CheckResult] = []
        wiggled = _Wiggle(bed, devices, clock, signals)
        try:
            for finding in wiggled.findings(skipped):
                findings.append(finding)
                if wiggled.was_cut:  # the robot is not at rest any more
                    break
        except (_EndedError, TooLateError) as ended:
            findings.append(CheckResult(wiggled.device, "wiggle", False, f"{wiggled.unit}: {ended}"))
        finally:
            signals.patience = math.inf
            unconfirmed = devices.stop(wiggled.t, clock.is_real)
            unconfirmed |= devices.close(clock.is_real)
    return [*findings, *(CheckResult(name, "stops", False, why) for name, why in unconfirmed.items())]


class _EndedError(Exception):
    """The guard refused a command."""


@dataclass
class _RateRecord:
    """Frames of one measured coordinate."""

    device: int
    signal: int
    coordinate: int
    #: of a base or an object, not of a joint; joints swing by friction when thrusters push
    is_root: bool
    #: by how much it may always move [m or rad]
    least: float
    number: int = 0
    t: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    sigma: float = _LEAST_SIGMA

    def forget(self, t: float) -> None:
        """Frames before time t."""
        first = next((i for i, at in enumerate(self.t) if at >= t), len(self.t))
        del self.t[:first], self.values[:first]

    def since(self, t: float) -> MeasuredSignal:
        """The frames, on the time of a pulse that began at t."""
        return MeasuredSignal(self.coordinate, np.array(self.t) - t, np.array(self.values), self.sigma)


class _Wiggle:
    """Ticks with pulses, and what was measured."""

    def __init__(self, bed: Testbed, devices: DeviceSet, clock: Clock, signals: StopSignals) -> None:
        self._bed, self._devices, self._clock, self._signals = bed, devices, clock, signals
        stack = build_stack(bed)
        parts = ModeParts(bed, stack)
        self._estimator, self._following, self._no_force = stack.estimator, parts.following, parts.no_force
        parts.following.begin(tuple(np.array(d.initial(bed), dtype=float) for d in bed.direct_actuators.values()))
        self._guard = Guard(bed)
        self._guard.passes = lambda reason, t, subject, value, limit: reason in _JUDGED_HERE
        self._at_rest = tuple(np.array(device.initial(bed), dtype=np.float64) for device in bed.actuators.values())
        self._expected = ExpectedResponse(bed)
        self._recorded = list(_measured_coordinates(bed))
        self._k = 0
        self._state: State | None = None
        #: a pulse was ended because the robot moved too far
        self.was_cut = False
        #: what is tried now
        self.device, self.unit = "robot", "at rest"
        clock.start()

    @property
    def t(self) -> float:
        """Time of the next tick [s]."""
        return self._k * self._bed.loop.period_s

    def findings(self, skipped: Collection[str]) -> Iterator[CheckResult]:
        """Observe the robot, then try one actuator after the other."""
        q = self._observe()
        if np.abs(self._expected.acceleration(q)).max(initial=0.0) > _RESTS:
            yield CheckResult("robot", "wiggle", True, "not tried: it does not rest without a command")
            return
        for finding in self._try_motors(skipped):
            yield finding
            if not finding.passed:  # the next one could be that which this one's wires drive, with more torque
                return
        first = 0
        for name, thrusters in self._bed.devices_of(Thrusters).items():
            if name not in skipped:
                yield from self._try_thrusters(name, thrusters, first)
            first += len(thrusters.units)

    def _observe(self) -> Array:
        """Noise of every signal; the pose."""
        until = self._bed.safety.start_up_s + _OBSERVED_S
        ready_at = math.inf
        while self.t < min(until, ready_at + _OBSERVED_S):
            state = self._tick()
            if state.ready:
                ready_at = min(ready_at, self.t)
        if self._state is None or not self._state.ready:
            raise _EndedError("the state was never complete")
        for recorded in self._recorded:
            if len(recorded.t) > 3:
                rest = without_drift(np.array(recorded.t), np.unwrap(recorded.values))
                recorded.sigma = max(float(np.std(rest, ddof=2)), _LEAST_SIGMA)
        return self._state.q.copy()

    def _try_motors(self, skipped: Collection[str]) -> Iterator[CheckResult]:
        """One motor after the other, from the weakest torque on."""
        motors = [
            (name, unit, motor) for name, device in self._bed.devices_of(Motors).items()
            for unit, motor in enumerate(device.units)
        ]  # fmt: skip
        names = [motor.joint for *_, motor in motors]
        tried = {index: motor for index, (name, _, motor) in enumerate(motors) if name not in skipped}
        pulses = self._meanwhile(lambda: {i: self._motor_pulses(i, motor) for i, motor in tried.items()})
        for index in sorted(pulses, key=lambda index: max(pulses[index][0].parts)):
            self.device, unit, motor = motors[index]
            self.unit = motor.joint
            for pulse in pulses[index]:
                judgement = self._judged(self.device, unit, pulse, names)
                if not judgement.may_be_friction:
                    break
            yield self._finding(judgement, f"{max(pulse.parts):.2g} N m")

    def _motor_pulses(self, index: int, motor: Motor) -> list[Pulse]:
        """The pulses that move its joint a little: friction may hold it against the first ones."""
        pulses, at = [], self._bed.known.joint_q(motor.joint)
        for level in _LEVELS:
            torque = level * motor.torque_limit_n_m
            pulse = Pulse(index, False, (torque, -torque, -torque, torque), _PART_S)
            peak = float(np.abs(self._displacement(pulse)[1][:, at]).max())
            if peak > _LEAST and torque >= self._expected.friction[index]:
                pulses.append(pulse)
            if peak > _MOST:
                break
        return pulses or [pulse]

    def _try_thrusters(self, name: str, thrusters: Thrusters, first: int) -> Iterator[CheckResult]:
        """Each once; next is the one that leaves the robot slowest."""
        self.device = name
        delay = thrusters.valve.delay_s + thrusters.valve.rise_s / 2
        names, drift = [unit.name for unit in thrusters.units], np.zeros(len(self._bed.known.positions))
        left = [i for i, unit in enumerate(thrusters.units) if not unit.failed]
        pulses = self._meanwhile(
            lambda: {i: self._thruster_pulse(first + i, thrusters.units[i].thrust_n, delay) for i in left}
        )
        changes = self._meanwhile(lambda: {i: self._change(pulse) for i, pulse in pulses.items()})
        while left:
            i = min(left, key=lambda k: float(np.linalg.norm(drift + changes[k])))
            left.remove(i)
            drift, self.unit = drift + changes[i], names[i]
            faults = 0
            for opening in _OPENINGS_S[_OPENINGS_S.index(pulses[i].part_s) :]:
                pulse = pulses[i]._replace(part_s=opening)
                judgement = self._judged(name, i, pulse, names, first)
                faults += bool(judgement.fault)
                # A slope of the floor can look like another thruster: a longer pulse has to say the same.
                is_confirmed = faults > 1 and not judgement.may_be_friction
                if not judgement.fault or is_confirmed or self.was_cut:
                    break
            yield self._finding(judgement, f"{pulse.part_s:g} s")

    def _thruster_pulse(self, index: int, thrust: float, delay: float) -> Pulse:
        """The shortest pulse that shows."""
        pulse = Pulse(index, True, (thrust,), _OPENINGS_S[-1], delay)
        for opening in _OPENINGS_S:
            pulse = pulse._replace(part_s=opening)
            times, moved = self._displacement(pulse)
            t = np.arange(-_BEFORE_S[True], times[-1], 1 / 50)
            roots = [r for r in self._recorded if r.is_root]
            signals = [MeasuredSignal(r.coordinate, t, np.zeros(len(t)), r.sigma) for r in roots]
            if expected_size(signals, times, moved) > WANTED_SIGMA:
                break
        return pulse

    def _displacement(self, pulse: Pulse) -> tuple[Array, Array]:
        assert self._state is not None
        return self._expected.displacement(self._state.q, pulse, pulse.duration_s + _AFTER_S[pulse.is_thruster])

    def _motions(self, pulse: Pulse) -> list[Array]:
        """Expected displacements: as the model has them, with joints that friction holds, and without friction."""
        assert self._state is not None
        pulses = [pulse]
        if not pulse.is_thruster:
            held = self._expected.holding(self._state.q, pulse.unit)
            pulses += [pulse._replace(held=held), pulse._replace(friction=0.0)]
        return [self._displacement(expected)[1] for expected in pulses]

    def _change(self, pulse: Pulse) -> Array:
        """Velocity after a pulse, of each position."""
        times, moved = self._displacement(pulse)
        change: Array = (moved[-1] - moved[-2]) / (times[-1] - times[-2])
        return change

    def _meanwhile(self, compute: Callable[[], _T]) -> _T:
        """What takes longer than a tick: in real time the commands at rest go on."""
        if not self._clock.is_real:
            return compute()
        with ThreadPoolExecutor(1) as thread:
            result = thread.submit(compute)
            while not result.done():
                self._tick()
        return result.result()

    def _judged(self, name: str, unit: int, pulse: Pulse, names: list[str], first: int = 0) -> Judgement:
        """Do the pulse, and compare it with that of every unit of its kind."""
        times = self._meanwhile(lambda: self._displacement(pulse))[0]
        others = self._meanwhile(
            lambda: {other: self._motions(pulse._replace(unit=first + k)) for k, other in enumerate(names)}
        )
        for recorded in self._recorded:
            recorded.forget(self.t)
        self._ticks(_BEFORE_S[pulse.is_thruster])
        began = self.t
        acting = [r for r in self._recorded if r.values and (r.is_root or not pulse.is_thruster)]
        moving = [r for r in acting if any(p[:, r.coordinate].any() for motions in others.values() for p in motions)]
        own = others[names[pulse.unit - first]]
        expected = [max(float(np.abs(p[:, r.coordinate]).max()) for p in own) for r in moving]
        sizes = zip(moving, expected, strict=True)
        limits = [max(min(_FURTHER * size, _FURTHEST), r.least, 10 * r.sigma) for r, size in sizes]
        drift = [(self._rate(r), float(np.mean(r.values[-_FRAMES:])), r.t[-1] - began) for r in moving]
        while self.t < began + pulse.duration_s + _AFTER_S[pulse.is_thruster] and not self.was_cut:
            self._tick(name, unit, pulse.at(self.t - began))
            self.was_cut = any(
                abs(r.values[-1] - at - rate * (r.t[-1] - began - t)) > limit
                for r, (rate, at, t), limit in zip(moving, drift, limits, strict=True)
            )
        ended = self.t - began
        self._ticks(max(_LEAST_WAIT_S, self._latency()))
        signals = []
        for recorded in acting:
            signal = recorded.since(began)
            used = signal.t <= ended
            largest = max(np.abs(p[:, signal.coordinate]).max() for motions in others.values() for p in motions)
            if largest > 3 * signal.sigma and used.sum() > 3:
                signals.append(signal._replace(t=signal.t[used], values=signal.values[used]))
        if not signals:
            return Judgement(0.0, "can't be judged: no sensor measures its motion")
        subject = names[pulse.unit - first]
        slack = 1.0 if pulse.is_thruster else self._slack(pulse)
        return judge(
            signals, times, others, subject, pushes_only=pulse.is_thruster, was_cut=self.was_cut, factor=FACTOR * slack
        )

    def _slack(self, pulse: Pulse) -> float:
        """How much more than expected a joint may move, because its friction is not known well."""
        torque, friction = max(pulse.parts), float(self._expected.friction[pulse.unit])
        return (torque - (1 - _UNCERTAIN) * friction) / max(torque - friction, 0.1 * torque)

    def _rate(self, recorded: _RateRecord) -> float:
        """Rate of a measured coordinate before a pulse [m/s or rad/s].

        Of a joint by its frames: friction misleads the estimate. Poses have more noise, and the estimate more of them.
        """
        assert self._state is not None
        if not recorded.is_root:
            return float(np.polyfit(recorded.t, recorded.values, 1)[0]) if len(recorded.t) > _FRAMES else 0.0
        name = self._bed.known.positions[recorded.coordinate].name
        return float(self._state.u[[c.name for c in self._bed.known.velocities].index(name)])

    def _latency(self) -> float:
        return max((getattr(device, "latency_s", 0.0) for device in self._bed.sensors.values()), default=0.0)

    def _finding(self, judgement: Judgement, size: str) -> CheckResult:
        text = judgement.fault or f"{judgement.gain:.2f} times the expected response"
        return CheckResult(self.device, "wiggle", not judgement.fault, f"{self.unit} {text} ({size})")

    def _refuse_old_frames(self, sample: Sample) -> None:
        for (name, _), frame in zip(self._bed.sensors.items(), sample.frames, strict=True):
            if frame.number and sample.t - frame.t > self._bed.age_limit(name):
                raise _EndedError(f"the newest frame of {name} is {sample.t - frame.t:.3g} s old")

    def _ticks(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / self._bed.loop.period_s))):
            self._tick()

    def _tick(self, name: str | None = None, unit: int = 0, value: float = 0.0) -> State:
        """One tick with a set point of one unit, all others at rest."""
        self._signals.refuse_after_one()
        t, bed = self.t, self._bed
        self._clock.wait_until(t)
        sample = self._devices.read(t)
        for recorded in self._recorded:
            frame = sample.frames[recorded.device]
            if frame.number != recorded.number and np.isfinite(frame.values[recorded.signal]):
                recorded.number = frame.number
                recorded.t.append(frame.t)
                recorded.values.append(frame.values.item(recorded.signal))
        self._refuse_old_frames(sample)
        state = self._estimator.estimate(sample)
        reference = self._following.decide(state)
        demand = self._no_force.control(state, reference)
        setpoints = list(self._at_rest)
        if name is not None and value:
            i = list(bed.actuators).index(name)
            setpoints[i] = setpoints[i].copy()
            is_valve = isinstance(bed.actuators[name], Thrusters)
            setpoints[i][unit] = 1.0 if is_valve else value
        command = Command(t, tuple(setpoints), np.zeros(len(bed.thrusters)), no_unloading(bed))
        verdict = self._guard.check(sample, state, reference, demand, command)
        now = self._clock.now()
        refuse_late(now - t, bed.loop.lateness_limit_s)
        if verdict.stop:
            raise _EndedError(sentence(subjects(bed), verdict))
        self._devices.write(t, verdict.command)
        self._state = state
        self._k = max(self._k + 1, int(self._clock.now() / bed.loop.period_s) + 1)
        return state


def _measured_coordinates(bed: Testbed) -> Iterator[_RateRecord]:
    """Signals of sensors that are coordinates: angles of joints, and poses."""
    indices = {coordinate.name: i for i, coordinate in enumerate(bed.known.positions)}
    for device, sensor in enumerate(bed.sensors.values()):
        for signal, c in enumerate(sensor.signals(bed)):
            if c.unit in ("m", "rad") and (name := c.name.removesuffix("_angle")) in indices:
                is_root = name not in bed.known.joints
                yield _RateRecord(device, signal, indices[name], is_root, _ROOT[c.unit] if is_root else _JOINT)
