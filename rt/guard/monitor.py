"""The monitor: limits that need the ticks before, as symbols with an explicit memory.

It compares measurements with their prediction, motion with commands, and each tick with the last one:

- A sensor with noise never repeats a value for long: equal values in new frames are counted.
- Innovations are normal with zero mean. Frames beyond the gate are counted while they follow each other, and the mean
  of each signal, m <- m + a (innovation - m) with a = 1 - exp(-dt/window), is judged by its own deviation
  sqrt(v), v <- (1 - a)^2 v + a^2.
- What measurements add to the velocities is what the model did not explain. M(q) times that is an impulse; its mean
  over the window, r <- r exp(-dt/window) + M du/window, is a residual force, as a momentum observer has it. What the
  friction of a joint may explain is taken off it: the friction f of the file may be wrong by a part, and at rest it may
  be anything up to static friction. With the rate v of the reference and the rate v0 below which friction fades out,
  f (part + static (1 - |v| / sqrt(v^2 + v0^2))), as a mean over the same window. So is what a payload may do whose
  mass is estimated (`controller.payload`): the standard deviation of its force.
- Counters and time stamps go forward, and the reference moves as its own velocity says.
- A pose arrives latency_s after its exposure. The mean of latency_s + period/2 - age at arrival (a tick sees it half a
  period late) is the error of its time stamps. Innovations hardly show that error: the filter takes constant velocity
  times error for a pose, and what is left, acceleration times error, looks like a wrong mass or thrust.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.devices.device import Device
from granite.config.devices.joint_sensors import JointDevice, JointSensors
from granite.config.devices.vision import Vision
from granite.config.reasons import Reason
from granite.config.testbed import Testbed
from granite.config.verdict_subjects import motor_gains, residuals
from granite.controllers.estimation.disturbance import joint_frictions, motor_torques, weakest_thrust
from granite.controllers.estimation.thruster_faults import DEAD, STUCK_OPEN

#: chance that a healthy signal repeats its value as often as the limit of frozen sensors
_NEVER = 1e-12
#: greatest rate of a joint as a multiple of its limit; of a wrong actuator the true one is ahead of it
FASTEST = 1.4
#: for how many ticks a measured rate goes on as since the last frame: one passes until a command acts
_AHEAD_TICKS = 2
#: what noise adds to that rate, in its standard deviations
_AHEAD_SIGMA = 3.0
#: of an angle without noise [rad2]
_LEAST_VARIANCE = 1e-16
#: gates that innovations of joints leave in two frames after each other where a motor is wrong from the start
_FAR_GATES = 2
#: windows of the gain of a motor, in parts of window_s; lag with which the filter of a joint shows a torque [s]
_WINDOWS, _LAG_S = (0.25, 1.0, 2.0), 0.05
#: so long in motion, the friction of a joint must show an error [s]
_FRICTION_S = 0.1
#: greatest error of a gain: what a motor explains with a larger one is chance, or the fault of a sensor
_MOST_GAIN_ERROR = 4.0
#: of what the error of a frame's time adds to a mean innovation, in its standard deviations
_TIME_SIGMA = 3.0
#: of the force of a payload that is not known, in its standard deviations
_LOAD_SIGMA = 3.0


class Limit(NamedTuple):
    """A condition that must hold, and the reason if it does not."""

    holds: ca.SX
    reason: Reason
    subject: str  #: device, signal or coordinate
    value: ca.SX
    limit: float


class Statistic(NamedTuple):
    """A number of a tick whose limit is a key of safety.monitor."""

    key: str
    unit: str
    value: ca.SX
    limit: float


class MonitorInputs(NamedTuple):
    """What the monitor sees of a tick, as symbols."""

    t: ca.SX
    times: ca.SX  #: of each sensor's frame
    numbers: ca.SX
    measured: dict[str, ca.SX]
    innovation: dict[str, ca.SX]
    bias: dict[str, ca.SX]  #: of measured signals, as estimated; NaN where none is
    u: ca.SX  #: (n_u) estimated
    impulse: ca.SX  #: (n_u) M times the velocity correction
    disturbance: ca.SX  #: (n_u) without the thrust of valves that are known to be stuck open
    faults: ca.SX  #: of each thruster
    q_ref: ca.SX
    u_ref: ca.SX
    torques: dict[int, ca.SX]  #: applied by motors, by the index of the velocity
    load: ca.SX  #: (n_u) one standard deviation of the force of a payload


class MonitorMemory:
    """The numbers that one tick leaves to the next, by name; all are zero at the start."""

    def __init__(self) -> None:
        self._before: dict[str, ca.SX] = {}
        self._after: dict[str, ca.SX] = {}

    def recall(self, name: str, n: int = 1) -> ca.SX:
        """What the last tick kept under this name."""
        self._before[name] = ca.SX.sym(name, n)
        return self._before[name]

    def keep(self, name: str, value: ca.SX) -> ca.SX:
        """Leave the value to the next tick; returns it."""
        self._after[name] = value
        return value

    @property
    def before(self) -> ca.SX:
        """All numbers as the tick finds them."""
        return ca.vertcat(ca.SX(0, 1), *self._before.values())

    @property
    def after(self) -> ca.SX:
        """All numbers as it leaves them."""
        return ca.vertcat(ca.SX(0, 1), *(self._after[name] for name in self._before))


class Monitor:
    """The limits of the monitor, in the order of their check; empty without a controller."""

    def __init__(self, bed: Testbed, seen: MonitorInputs) -> None:
        self._bed, self._seen, self.memory = bed, seen, MonitorMemory()
        memory = self.memory
        self._started = memory.recall("started")
        memory.keep("started", ca.SX(1))
        self._dt = self._started * (seen.t - memory.recall("t"))
        memory.keep("t", seen.t)
        #: half a tick early, so that rounding does not matter
        settling = bed.safety.monitor.settling_s - bed.loop.period_s / 2
        self._since = memory.keep("since", memory.recall("since") + self._dt)
        self._settled = self._since >= settling
        self._fresh: dict[str, ca.SX] = {}
        self._intervals: dict[str, ca.SX] = {}
        self.limits: list[Limit] = []
        #: frames that were not used, and faults that were found; the run continues
        self.notices: list[Limit] = []
        #: numbers that have a limit by coordinate, as `granite calibrate residuals` measures them
        self.statistics: list[Statistic] = []
        self._frictions = joint_frictions(bed)
        self._found_a_fault = ca.SX(0)
        #: what a payload may explain of the mean force on a velocity over a window
        self._loads: dict[tuple[int, float], ca.SX] = {}
        if bed.controller is not None:
            faults = list(self._faults())
            self.limits += [*self._stamps(), *self._frozen(), *self._disagreeing(), *self._measured_rates()]
            if bed.explains_motion:
                self.limits += self._outliers()
                if bed.safety.monitor.judges_motion:
                    self.limits += [*self._gains(), *self._residual(), *self._biased()]
            self.limits += self._reference()
            self.notices = [*faults, *self.notices, *self._stamp_errors()]

    def _stamps(self) -> Iterator[Limit]:
        memory, most = self.memory, float(self._bed.safety.monitor.counter_step)
        for i, name in enumerate(self._bed.sensors):
            number, t = self._seen.numbers[i], self._seen.times[i]
            step, last = number - memory.recall(f"{name} number"), memory.recall(f"{name} t")
            new = self._fresh[name] = step > 0
            memory.keep(f"{name} number", number)
            memory.keep(f"{name} t", ca.if_else(new, t, last))
            interval = self._intervals[name] = ca.if_else(ca.logic_and(new, self._started), t - last, 0.0)
            yield Limit(step >= 0, Reason.SENSOR_COUNTER, f"{name} counter", step, 0.0)
            within = ca.logic_or(step <= most, _not(self._started))
            yield Limit(within, Reason.SENSOR_COUNTER, f"{name} counter", step, most)
            yield Limit(interval >= 0, Reason.SENSOR_TIME_BACK, f"{name} interval", interval, 0.0)

    def _frozen(self) -> Iterator[Limit]:
        memory = self.memory
        for name, device in self._bed.sensors.items():
            chances = device.repeats(self._bed)
            for i, (signal, chance) in enumerate(zip(device.signals(self._bed), chances, strict=True)):
                if chance >= 1:
                    continue
                most, subject = _frozen_after(chance), f"{name} {signal.name} repetition"
                value, n = self._seen.measured[name][i], memory.recall(subject)
                same = ca.logic_and(value == memory.recall(f"{name} {i}"), self._started)
                memory.keep(f"{name} {i}", value)
                count = memory.keep(subject, ca.if_else(self._fresh[name], same * (n + 1), n))
                yield Limit(count <= most, Reason.SENSOR_FROZEN, subject, count, most)

    def _outliers(self) -> Iterator[Limit]:
        """Joints are judged from the first frame on, although the estimator uses all frames until it has settled: a
        motor that is wrong from the start shows before it is fast.
        """
        monitor, memory, poses = self._bed.safety.monitor, self.memory, self._bed.devices_of(Vision)
        counts: dict[str, ca.SX] = {}
        all_outliers: dict[str, list[ca.SX]] = {}
        agreed: dict[str, ca.SX] = {}
        for name, device in self._bed.sensors.items():
            new, innovation, beyond = self._fresh[name], self._seen.innovation[name], ca.SX(0)
            judged = self._settled if name in poses else ca.SX(1)
            outliers = [ca.fabs(innovation[i]) > monitor.gate_sigma for i, _ in enumerate(device.signals(self._bed))]
            for outlier in outliers:  # false for NaN: no innovation is known
                beyond = ca.logic_or(beyond, ca.logic_and(judged, outlier))
            n = memory.recall(f"{name} refused")
            counts[name] = memory.keep(f"{name} refused", ca.if_else(new, beyond * (n + 1), n))
            all_outliers[name] = outliers
            if self._substitutes(name):
                used = ca.logic_and(ca.logic_and(new, self._settled), _not(beyond))
                agreed[name] = memory.keep(f"{name} agreed", ca.logic_or(memory.recall(f"{name} agreed"), used))
        for name, device in self._bed.sensors.items():
            if not device.has_outliers:
                continue
            innovation, new = self._seen.innovation[name], self._fresh[name]
            # A sensor that once agreed with others of the same quantities is left out while these are used.
            needed, substitutes = ca.SX(1), self._substitutes(name)
            if substitutes:
                known = agreed[name]
                for others in substitutes:
                    used = ca.SX(0)
                    for other in others:
                        used = ca.logic_or(used, counts[other] == 0)
                    known = ca.logic_and(known, used)
                needed = _not(known)
            for i, (signal, outlier) in enumerate(zip(device.signals(self._bed), all_outliers[name], strict=True)):
                about = f"{name} {signal.name} innovation", innovation[i], monitor.gate_sigma
                sustained = ca.logic_and(ca.logic_and(outlier, needed), counts[name] > monitor.refused_frames)
                yield Limit(_not(sustained), Reason.SENSOR_OUTLIERS, *about)
                if name not in poses:
                    yield Limit(_not(self._far(f"{name} {i} far", new, innovation[i])), Reason.SENSOR_OUTLIERS, *about)
                refused = ca.logic_and(self._settled, ca.logic_and(outlier, new))
                self.notices.append(Limit(_not(refused), Reason.MEASUREMENT_REFUSED, *about))

    def _far(self, name: str, new: ca.SX, innovation: ca.SX) -> ca.SX:
        """Whether two frames after each other are far on one side of their prediction before the estimate has settled.

        Too strong a motor swings its joint: innovations change their sign too often to be counted for long.
        """
        most, last = _FAR_GATES * self._bed.safety.monitor.gate_sigma, self.memory.recall(name)
        side = (innovation > most) - (innovation < -most)
        self.memory.keep(name, ca.if_else(new, side, last))
        return ca.logic_and(ca.logic_and(new, _not(self._settled)), side * last > 0)

    def _substitutes(self, name: str) -> list[list[str]]:
        """Of each quantity of a sensor, the others that measure it; none where one has no other.

        A pose has one quantity. A rate is known from any sensor of its joint, an angle from another one with angles.
        """
        device, poses = self._bed.sensors[name], self._bed.devices_of(Vision)
        if name in poses:
            seen = poses[name].seen(self._bed)
            others = [[other for other, pose in poses.items() if other != name and pose.seen(self._bed) == seen]]
        elif isinstance(device, JointDevice):
            devices = self._bed.devices_of(JointDevice).items()
            others = [
                [o for o, d in devices if o != name and joint in d.joints and (d.has_angles or not device.has_angles)]
                for joint in device.joints
            ]
        else:
            return []
        return others if all(others) else []

    def _biased(self) -> Iterator[Limit]:
        monitor, memory = self._bed.safety.monitor, self.memory
        poses = self._bed.devices_of(Vision)  # their mean innovation is an unknown force, which `_residual` judges
        for name, device in self._bed.sensors.items():
            if name in poses or not device.has_outliers:
                continue
            part = 1 - ca.exp(-ca.fmax(self._intervals[name], 0.0) / monitor.window_s)
            for i, signal in enumerate(device.signals(self._bed)):
                subject, innovation = f"{name} {signal.name} mean innovation", self._seen.innovation[name][i]
                # An outlier was not used, and must not count in the mean for a whole window.
                used = ca.logic_and(self._settled, ca.fabs(innovation) <= monitor.gate_sigma)
                a, m, v = ca.if_else(used, part, 0.0), memory.recall(subject), memory.recall(f"{subject} variance")
                mean = memory.keep(subject, m + a * (ca.if_else(used, innovation, 0.0) - m))
                variance = memory.keep(f"{subject} variance", (1 - a) ** 2 * v + a**2)
                excess = ca.sign(mean) * ca.fmax(ca.fabs(mean) - _TIME_SIGMA * ca.sqrt(self._by_time(device, i)), 0.0)
                ratio = ca.if_else(variance > 0, excess / ca.sqrt(variance), 0.0)
                most = monitor.mean_innovation_sigma
                self.statistics.append(Statistic("mean_innovation_sigma", "1", ratio, most))
                yield Limit(ca.fabs(ratio) <= most, Reason.SENSOR_BIASED, subject, ratio, most)

    def _by_time(self, device: Device, i: int) -> ca.SX | float:
        """Part of the variance of an innovation that is the error of the time of its frame: the map of a board's clock
        has the same error for long, so that no mean makes it less.
        """
        known = self._bed.known
        if not isinstance(device, JointSensors) or not device.time_deviation_s or i >= len(device.joints):
            return 0.0
        if device.joints[i] not in known.joints:
            return 0.0
        step = device.range_rad / 2**device.converter_bits
        late = (self._seen.u[known.joint_u(device.joints[i])] * device.time_deviation_s) ** 2
        part: ca.SX = late / (late + device.angle_noise_rad**2 + step**2 / 12 + _LEAST_VARIANCE)
        return part

    def _disagreeing(self) -> Iterator[Limit]:
        """The mean difference of a measured velocity, less its bias, from the estimate, since velocities are known."""
        names = [c.name for c in self._bed.known.velocities]
        part = 1 - ca.exp(-self._dt / self._bed.safety.monitor.window_s)
        for name, device in self._bed.sensors.items():
            signals = [c.name for c in device.signals(self._bed)]
            for signal, coordinate, most, most_bias in device.agreements(self._bed):
                if coordinate not in names:
                    continue
                i = signals.index(signal)
                bias = self._seen.bias[name][i]
                bias = ca.if_else(ca.fabs(bias) < math.inf, bias, 0.0)  # NaN where none is estimated
                bias = ca.fmax(-most_bias, ca.fmin(bias, most_bias))
                value = self._seen.measured[name][i] - bias - self._seen.u[names.index(coordinate)]
                subject = f"{name} {signal} disagreement"
                before, usable = self.memory.recall(subject), ca.logic_and(self._settled, ca.fabs(value) < math.inf)
                mean = self.memory.keep(subject, before + ca.if_else(usable, part * (value - before), 0.0))
                yield Limit(ca.fabs(mean) <= most, Reason.SENSORS_DISAGREE, subject, mean, most)

    def _measured_rates(self) -> Iterator[Limit]:
        """Rates of joints as measured, in two frames after each other: of a wrong motor the estimate lags behind.

        One that comes to `FASTEST` times its limit within two ticks, as it grew since the last frame, can't be braked;
        a rate filter is late by the sum of its time constants.
        """
        limits, period = {joint.joint: joint.rate_rad_s for joint in self._bed.safety.joints}, self._bed.loop.period_s
        for name, device in self._bed.devices_of(JointDevice).items():
            signals, new = [c.name for c in device.signals(self._bed)], self._fresh[name]
            was_known = self.memory.recall(f"{name} rates known")
            self.memory.keep(f"{name} rates known", ca.logic_or(was_known, new))
            # Frames may be further apart than ticks.
            lag = 1 / device.filter_a_rad_s + 1 / device.filter_b_rad_s if device.has_rate_filter else 0.0
            ahead_s = _AHEAD_TICKS * period + lag
            ahead_frames = ahead_s / ca.fmax(self._intervals[name], period)
            # Of frames in every tick; of others the rate ahead has less noise.
            noise = device.rate_noise_rad_s * math.hypot(1 + ahead_s / period, ahead_s / period)
            for joint in (joint for joint in device.joints if joint in limits):
                i, most, subject = signals.index(f"{joint}_rate"), limits[joint], f"{name} {joint}_rate"
                value, last = self._seen.measured[name][i], self.memory.recall(subject)
                self.memory.keep(subject, ca.if_else(new, value, last))
                ahead = ca.if_else(ca.logic_and(new, was_known), value + ahead_frames * (value - last), 0.0)
                fastest = FASTEST * most + _AHEAD_SIGMA * noise
                yield Limit(ca.fabs(ahead) <= fastest, Reason.BRAKE_FAILS, subject, ahead, fastest)
                is_fast = ca.logic_and(ca.fabs(value) > most, ca.fabs(last) > most)
                yield Limit(_not(is_fast), Reason.JOINT_TOO_FAST, subject, value, most)

    def _residual(self) -> Iterator[Limit]:
        """The residual of a joint is all that the model does not explain; that of a base only what the disturbance
        estimate does not explain either, because that takes a while to find a fault. The disturbance is judged more
        patiently. It, and the residual of a joint, may be the model's error: up to a multiple of their limits it is
        doubted, as long as no other limit is broken.
        """
        monitor, seen, names = self._bed.safety.monitor, self._seen, residuals(self._bed)
        on_bases, frictions, patient = weakest_thrust(self._bed), self._frictions, disturbance_limits(self._bed)
        for i, most in residual_limits(self._bed).items():
            name, force, d = names[i].name, seen.impulse[i] / self._bed.loop.period_s, seen.disturbance[i]
            unexplained = force if i in on_bases else force + d
            mean = self._mean(name, unexplained, monitor.window_s)
            if i in frictions:
                # A joint that should move and does not is none at rest.
                may_be = frictions[i][0] * (monitor.friction_error + monitor.static_friction * (1 - self._moves(i)))
                allowed = self._mean(f"{name} friction", may_be, monitor.window_s)
                mean = ca.sign(mean) * ca.fmax(ca.fabs(mean) - allowed, 0.0)
            mean = self._beside_load(i, mean, monitor.window_s)
            self._count("residual", i, mean, most)
            if i not in on_bases:
                yield from self._doubted(name, mean, most)
                continue
            yield Limit(ca.fabs(mean) <= most, Reason.MOTION_UNEXPLAINED, name, mean, most)
            disturbance = self._mean(f"{name} disturbance", d, monitor.patience_s)
            disturbance = self._beside_load(i, disturbance, monitor.patience_s)
            self._count("disturbance", i, disturbance, patient[i])
            yield from self._doubted(name, disturbance, patient[i])

    def _beside_load(self, i: int, mean: ca.SX, window: float) -> ca.SX:
        """What is left of a mean force where a payload may explain some of it."""
        if self._bed.control.payload is None:
            return mean
        return ca.sign(mean) * ca.fmax(ca.fabs(mean) - self._load(i, window), 0.0)

    def _load(self, i: int, window: float) -> ca.SX:
        """What the payload may explain of a mean force."""
        if self._bed.control.payload is None:
            return ca.SX(0)
        if (i, window) not in self._loads:
            name = f"{self._bed.known.velocities[i].name} payload {window}"
            self._loads[i, window] = self._mean(name, _LOAD_SIGMA * self._seen.load[i], window)
        return self._loads[i, window]

    def _doubted(self, name: str, mean: ca.SX, most: float) -> Iterator[Limit]:
        ends = self._bed.safety.monitor.stop_ratio * most
        yield Limit(ca.fabs(mean) <= ends, Reason.MOTION_UNEXPLAINED, name, mean, ends)
        yield Limit(ca.fabs(mean) <= most, Reason.MODEL_DOUBTED, name, mean, most)

    def _gains(self) -> Iterator[Limit]:
        """Regression of the unexplained torque y of a joint on the torque x of its motor, on its friction and on a
        constant, while the joint should move: at rest, static friction holds what a motor gives, and it seems dead. So
        does one that acts against cogging in slow motion: that is the constant. With the friction and the constant as
        the columns of Z, and sums S that forget, the error of the gain and the torque that it explains are

            e = D / E     c = D / sqrt(E)     D = Sxy - Sxz Szz^-1 Szy     E = Sxx - Sxz Szz^-1 Szx

        In a window of a quarter, chance explains twice as much.
        """
        monitor, seen, names = self._bed.safety.monitor, self._seen, motor_gains(self._bed)
        limits, joints = residual_limits(self._bed), self._bed.known.velocities
        # A window later than others, because the disturbance has to be known.
        is_judged = self._since >= monitor.settling_s + monitor.window_s
        missing = seen.impulse / self._bed.loop.period_s + seen.disturbance
        if self._bed.transmission is not None:  # what the motors did not give
            driven = [self._bed.known.joint_u(motor.joint) for motor in self._bed.motors]
            missing[driven] = ca.DM(np.linalg.inv(self._bed.transmission)) @ missing[driven]
        for i, torque in seen.torques.items():
            # Floating, the reference is the estimate: torque and residual then have the same noise.
            name, moves = names[i].name, self._moves(i) * (seen.u_ref[i] != seen.u[i])
            unexplained = missing[i]
            usable = ca.logic_and(is_judged, ca.fabs(unexplained) < math.inf)
            lag = 1 - ca.exp(-self._dt / _LAG_S)
            before = self.memory.recall(f"{name} torque")
            x = self.memory.keep(f"{name} torque", before + lag * (torque - before)) * moves
            y, z = ca.if_else(usable, unexplained, 0.0) * moves, moves * ca.sign(seen.u_ref[i])
            products = {"xx": x * x, "xy": x * y, "xz": x * z, "yz": y * z, "zz": z * z}
            products |= {"x1": x * moves, "y1": y * moves, "z1": z * moves}
            most = monitor.gain_evidence_n_m.get(joints[i].name, limits[i])
            for part in _WINDOWS:
                window = part * monitor.window_s
                xx, xy, xz, yz, zz, x1, y1, z1 = (
                    self._mean(f"{name} {what} {part}", ca.if_else(usable, product, 0.0), window)
                    for what, product in products.items()
                )
                # z and 1 have equal squares; of little motion, chance would explain all of it. Where motion does not
                # fill the window, such as after a rest, chance explains more.
                moved = zz
                zz += _FRICTION_S / window
                determinant = zz**2 - z1**2
                D = xy - (zz * (xz * yz + x1 * y1) - z1 * (xz * y1 + x1 * yz)) / determinant
                least = (most / _MOST_GAIN_ERROR) ** 2
                E = ca.fmax(xx - (zz * (xz**2 + x1**2) - 2 * z1 * xz * x1) / determinant, least)
                gain, explained = 1 + D / E, D * ca.sqrt(part * moved / E)
                self._count("gain", i, ca.fmin(explained, 0.0), most)
                possible = ca.logic_and(gain <= 1 - monitor.gain_error, gain >= 1 - _MOST_GAIN_ERROR)
                is_wrong = ca.logic_and(possible, explained <= -(most + self._load(i, window)))
                yield Limit(_not(is_wrong), Reason.MOTOR_GAIN, name, gain, 1 - monitor.gain_error)

    def _moves(self, i: int) -> ca.SX:
        """1 where the reference moves a joint, 0 where it rests, between them as its friction fades out."""
        if i not in self._frictions:
            return ca.SX(1)
        v, (_, v0) = self._seen.u_ref[i], self._frictions[i]
        return ca.fabs(v) / ca.sqrt(v**2 + v0**2)

    def _count(self, what: str, i: int, value: ca.SX, limit: float) -> None:
        """Note a number that has a limit by coordinate, for a calibration of that limit."""
        coordinate = self._bed.known.velocities[i]
        unit = residuals(self._bed)[i].unit
        key = "gain_evidence_n_m" if what == "gain" else f"{what}_{unit.lower().replace(' ', '_')}"
        self.statistics.append(Statistic(f"{key}.{coordinate.name}", unit, value, limit))

    def _mean(self, name: str, force: ca.SX, window: float) -> ca.SX:
        """The mean of a force over a window, since velocities are known or a fault was found; NaN counts as zero."""
        kept = ca.if_else(self._found_a_fault, 0.0, ca.exp(-self._dt / window))
        usable = ca.logic_and(self._settled, ca.fabs(force) < math.inf)
        added = ca.if_else(usable, force, 0.0) * self._bed.loop.period_s / window
        return self.memory.keep(name, kept * self.memory.recall(name) + added)

    def _stamp_errors(self) -> Iterator[Limit]:
        """Time stamps of poses that are wrong on average: reported once, when the mean has settled on the error."""
        memory, monitor, period = self.memory, self._bed.safety.monitor, self._bed.loop.period_s
        most, patience = monitor.time_stamp_error_s, 2 * monitor.window_s
        for name, device in self._bed.devices_of(Vision).items():
            if device.simulated.perfect:  # reports without its latency
                continue
            subject, i = f"{name} time stamp error", list(self._bed.sensors).index(name)
            error = device.latency_s + period / 2 - (self._seen.t - self._seen.times[i])
            part = 1 - ca.exp(-ca.fmax(self._intervals[name], 0.0) / monitor.window_s)
            m, was = memory.recall(subject), memory.recall(f"{subject} since")
            mean = memory.keep(subject, ca.if_else(self._fresh[name], m + part * (error - m), m))
            since = memory.keep(f"{subject} since", ca.if_else(ca.fabs(mean) > most, was + self._dt, 0.0))
            is_noticed = ca.logic_and(was < patience, since >= patience)
            yield Limit(_not(is_noticed), Reason.POSE_TIME_STAMPS, subject, mean, most)

    def _faults(self) -> Iterator[Limit]:
        """A thruster fault that was found in this tick; the run continues without that thruster."""
        for i, name in enumerate(self._bed.thruster_names):
            subject, now = f"{name} thrust", self._seen.faults[i]
            before = self.memory.recall(f"{name} fault")
            self.memory.keep(f"{name} fault", now)
            for code, reason in ((DEAD, Reason.THRUSTER_DEAD), (STUCK_OPEN, Reason.THRUSTER_STUCK_OPEN)):
                fresh = ca.logic_and(now == code, before != code)
                self._found_a_fault = ca.logic_or(self._found_a_fault, fresh)
                yield Limit(_not(fresh), reason, subject, ca.SX(math.nan), math.nan)

    def _reference(self) -> Iterator[Limit]:
        known, monitor, period = self._bed.known, self._bed.safety.monitor, self._bed.loop.period_s
        q, u = self._seen.q_ref, self._seen.u_ref
        q_before, u_before = self.memory.recall("q_ref", q.numel()), self.memory.recall("u_ref", u.numel())
        self.memory.keep("q_ref", q)
        self.memory.keep("u_ref", u)
        if q.numel() != u.numel():  # an orientation in space is no integral of its velocity
            return
        for i in self._bed.followed_positions:
            c = known.positions[i]
            if c.unit not in ("m", "rad"):
                continue
            most = monitor.reference_step_m if c.unit == "m" else monitor.reference_step_rad
            step = q[i] - q_before[i] - self._dt * (u[i] + u_before[i]) / 2
            longer = most * ca.fmax(self._dt / period, 1.0)
            holds = ca.logic_or(ca.fabs(step) <= longer, _not(self._started))
            yield Limit(holds, Reason.REFERENCE_JUMP, f"{c.name} reference step", step, most)


def residual_limits(bed: Testbed) -> dict[int, float]:
    """The limit of each velocity that an actuator acts on, by its index."""
    monitor = bed.safety.monitor
    limits = {i: monitor.residual_torque_ratio * torque for i, torque in motor_torques(bed).items()}
    limits |= {i: monitor.residual_thrust_ratio * thrust for i, thrust in weakest_thrust(bed).items()}
    for i, c in enumerate(bed.known.velocities):
        for given in (monitor.residual_n, monitor.residual_n_m):
            if c.name in given:
                limits[i] = given[c.name]
    return limits


def disturbance_limits(bed: Testbed) -> dict[int, float]:
    """The limit of the mean disturbance of each velocity of a root, by its index."""
    monitor, names = bed.safety.monitor, [c.name for c in bed.known.velocities]
    limits = {i: monitor.disturbance_thrust_ratio * thrust for i, thrust in weakest_thrust(bed).items()}
    as_numbers = {**monitor.disturbance_n, **monitor.disturbance_n_m}
    return {i: as_numbers.get(names[i], limit) for i, limit in limits.items()}


def _frozen_after(chance: float) -> float:
    """How often a value may repeat that repeats itself with this chance."""
    return float(math.ceil(math.log(_NEVER) / math.log(chance)))


def _not(condition: ca.SX) -> ca.SX:
    return ca.logic_not(condition)
