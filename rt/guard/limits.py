"""The limits of a testbed as compiled functions: a tick in, the first broken limit out."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.devices.emergency_stop import EmergencyStop
from granite.config.devices.motors import Motors
from granite.config.devices.thrusters import Thrusters
from granite.config.footprints import guarded_pairs, obstacles
from granite.config.reasons import Reason
from granite.config.records import Array, Status
from granite.config.testbed import Testbed
from granite.config.verdict_subjects import accelerations, forces, subjects, thrusts, wrenches
from granite.controllers.estimation.thruster_faults import STUCK_OPEN
from granite.controllers.loaded_model import loaded
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import base_deceleration, stopping_poses
from granite.kernels.compilation import compile_once, mode
from granite.kernels.kernel import Buffer
from granite.mrds.clearance import Clearances, TimedPose
from granite.rt.guard.monitor import Limit, Monitor, MonitorInputs

#: a button is released below this
_PRESSED = 0.5
#: by this part of its range an actuator may report more than its bounds
_REPORTED = 0.01


class Limits:
    """The limits of a testbed, in the order of their check.

    `check` is (sample; ages, q, u, innovation, bias, correction, disturbance, faults, payload; q, u and a of the
    reference; acceleration, force, wrench and recorded numbers of the demand; set points, thrust, memory, whether a
    sensor may not have reported yet) -> 1 if all frames can be used and all limits hold, else 0; and the memory after
    the tick. The sample is the time of the tick, then time, number, status and values of each frame. `broken` takes the
    same.
    """

    def __init__(self, bed: Testbed) -> None:
        n_q, n_u, n_sensors = len(bed.known.positions), len(bed.known.velocities), len(bed.sensors)
        setpoints, innovation, bias = (
            {name: ca.SX.sym(f"{what}_{name}", len(device.signals(bed))) for name, device in devices.items()}
            for what, devices in (("setpoint", bed.actuators), ("innovation", bed.sensors), ("bias", bed.sensors))
        )
        t, frames, reports = ca.SX.sym("t"), _frames(bed, bed.sensors), _frames(bed, bed.actuators)
        measured, applied = ({name: frame.values for name, frame in part.items()} for part in (frames, reports))
        times, ages = _joined({name: frame.t for name, frame in frames.items()}), ca.SX.sym("ages", n_sensors)
        numbers, waits = _joined({name: frame.number for name, frame in frames.items()}), ca.SX.sym("waits")
        q, q_ref = (ca.SX.sym(name, n_q) for name in ("q", "q_ref"))
        u, correction, impulse, u_ref, a_ref, a, force = (
            ca.SX.sym(name, n_u) for name in ("u", "correction", "impulse", "u_ref", "a_ref", "a", "force")
        )
        d, unexplained = ca.SX.sym("disturbance", n_u), ca.SX.sym("unexplained", n_u)
        faults = ca.SX.sym("faults", len(bed.thrusters))
        held = bed.controller.payload if bed.controller else None
        payload = ca.SX.sym("payload", len(held.recorded(bed)) if held else 0)
        wrench, thrust = ca.SX.sym("wrench", len(wrenches(bed))), ca.SX.sym("thrust", len(bed.thrusters))
        seen = MonitorInputs(
            t, times, numbers, measured, innovation, bias, u, impulse, unexplained, faults, q_ref,
            u_ref, dict(_torques(bed, applied)), payload[payload.numel() - n_u :] if held else ca.SX.zeros(n_u),
        )  # fmt: skip
        monitor = Monitor(bed, seen)
        recorded = ca.SX.sym("recorded", len(bed.controller.law.recorded(bed)) if bed.controller else 0)
        by_law = list(_by_law(bed, recorded))
        rates = [Coordinate(f"{c.name} rate", c.unit) for c in bed.known.velocities]
        apart = KeptApart(bed, q, u)
        self._limits = [
            *_measured(bed, measured, times - t, ages),
            *_judged(bed, measured),
            *_reported(bed, applied),
            *_finite(Reason.STATE_NOT_FINITE, bed.known.positions, q),
            *_finite(Reason.STATE_NOT_FINITE, rates, u),
            *_finite(Reason.REFERENCE_NOT_FINITE, bed.known.positions, q_ref),
            *_finite(Reason.REFERENCE_NOT_FINITE, rates, u_ref),
            *_finite(Reason.REFERENCE_NOT_FINITE, accelerations(bed), a_ref),
            *(limit for limit in by_law if limit.reason.stops),
            *_finite(Reason.DEMAND_NOT_FINITE, accelerations(bed), a),
            *_finite(Reason.DEMAND_NOT_FINITE, forces(bed), force),
            *_finite(Reason.DEMAND_NOT_FINITE, wrenches(bed), wrench),
            *monitor.limits,
            *_moving(bed, q, u, q_ref, apart),
            *_finite(Reason.COMMAND_NOT_FINITE, thrusts(bed), thrust),
            *_commanded(bed, setpoints, applied),
            *monitor.notices,
            *(limit for limit in by_law if not limit.reason.stops),
        ]
        names = [subject.name for subject in subjects(bed)]
        self._subjects = [names.index(limit.subject) for limit in self._limits]
        #: what `check` gets at the first tick
        self.memory: Array = np.zeros(monitor.memory.before.numel())

        sample = ca.vertcat(t, *(ca.vertcat(*frame) for frame in (*frames.values(), *reports.values())))
        given = [sample, ages, q, u, _joined(innovation), _joined(bias), correction, d, faults, payload]
        given += [q_ref, u_ref, a_ref, a, force, wrench, recorded, _joined(setpoints), thrust]

        def computed(*results: ca.SX) -> list[ca.SX]:
            forces_of_model = [_momentum(bed, q, correction, payload), d - _stuck(bed, q, faults)]
            substituted: list[ca.SX] = ca.substitute([*results], [impulse, unexplained], forces_of_model)
            return substituted

        def write() -> list[ca.Function]:
            all_hold = _usable(frames, reports, waits)
            for limit in reversed(self._limits):
                if limit.reason not in (Reason.KEEP_OUT, Reason.KEEP_OUT_AHEAD):
                    all_hold = ca.logic_and(limit.holds, all_hold)
            each = [*(limit.holds for limit in self._limits), *(limit.value for limit in self._limits)]
            checked, broken = computed(ca.vertcat(all_hold, monitor.memory.after), ca.vertcat(ca.SX(0, 1), *each))
            inputs = [*given, monitor.memory.before, waits]
            # Which limit does not hold takes as long again: it is asked for only where one does not.
            check = ca.Function("checked", inputs, [checked])
            check = apart.added_to(check) if apart.is_needed else check
            return [check, ca.Function("broken", inputs, [broken])]

        def statistics() -> ca.Function:
            values = ca.vertcat(ca.SX(0, 1), *(statistic.value for statistic in monitor.statistics))
            return ca.Function(
                "statistics", [monitor.memory.before, *given], computed(monitor.memory.after, ca.fabs(values))
            )

        #: the monitor's numbers that have a limit of their own: keys, units, limits, and a function of the memory and
        #: of what `check` takes that gives the next memory and them
        self.statistics = [(statistic.key, statistic.unit, statistic.limit) for statistic in monitor.statistics]
        self.statistics_function = statistics

        kernels = compile_once("guard", bed.fingerprint, write, seldom="broken")
        #: `check` as a kernel
        self.checked = kernels["checked"]
        self.check, self._broken = self.checked.run, kernels["broken"].run

    def broken(self, arguments: Iterable[Buffer]) -> list[tuple[Reason, int, float, float]]:
        """Of each limit that does not hold, in order: reason, number of the subject, value and limit."""
        n, numbers = len(self._limits), self._broken(arguments).tolist()
        return [
            (limit.reason, self._subjects[i], numbers[n + i], limit.limit)
            for i, limit in enumerate(self._limits)
            if not numbers[i]
        ]


def limits_of(bed: Testbed) -> Limits:
    """The limits of a testbed; kept for those that differ in nothing but gains, seed or the like, as trials do.

    To write them in symbols is half of the time in which a run is prepared.
    """
    if bed.fingerprint is None:
        return Limits(bed)
    key = (bed.fingerprint, mode())
    if key not in _kept:
        if len(_kept) == _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = Limits(bed)
    return _kept[key]


_kept: dict[tuple[str, str], Limits] = {}
#: about the plants of a tuning session
_MOST_KEPT = 16


def _momentum(bed: Testbed, q: ca.SX, u: ca.SX, payload: ca.SX) -> ca.SX:
    """M(q) u, with the payload."""
    if bed.controller is None or not bed.explains_motion:
        return u
    model = loaded(ControlModel(bed))
    return ca.substitute(model.mass_matrix @ u, ca.vertcat(model.q, model.payload), ca.vertcat(q, payload))


def _torques(bed: Testbed, applied: Mapping[str, ca.SX]) -> Iterator[tuple[int, ca.SX]]:
    """The applied torque of each motor with the index of its velocity."""
    for name, device in bed.devices_of(Motors).items():
        for i, motor in enumerate(device.units):
            if motor.joint in bed.known.joints:
                yield bed.known.joint_u(motor.joint), applied[name][i]


def _stuck(bed: Testbed, q: ca.SX, faults: ca.SX) -> ca.SX:
    """Generalised force of the thrusters that are stuck open, which the disturbance contains."""
    if bed.controller is None or not bed.explains_motion:
        return ca.SX.zeros(len(bed.known.velocities))
    model = ControlModel(bed)
    return ca.substitute(model.thrust_force(ca.DM(model.available) * (faults == STUCK_OPEN)), model.q, q)


class _FrameSymbols(NamedTuple):
    """The symbols of a frame."""

    t: ca.SX
    number: ca.SX
    status: ca.SX
    values: ca.SX


def _frames(bed: Testbed, devices: Mapping[str, Device]) -> dict[str, _FrameSymbols]:
    numbers = {name: ca.SX.sym(name, 3 + len(device.signals(bed))) for name, device in devices.items()}
    return {name: _FrameSymbols(frame[0], frame[1], frame[2], frame[3:]) for name, frame in numbers.items()}


def _usable(frames: Mapping[str, _FrameSymbols], reports: Mapping[str, _FrameSymbols], waits: ca.SX) -> ca.SX:
    """Whether no frame is missing or has the status of a fault."""
    usable = ca.SX(1)
    for frame in frames.values():  # a silent one is judged by the age of its frame
        known = ca.logic_and(frame.status >= int(Status.OK), frame.status <= int(Status.SILENT))
        usable = ca.logic_and(usable, ca.logic_and(known, ca.logic_or(waits == 0, frame.number != 0)))
    for frame in reports.values():
        none_yet = ca.logic_and(frame.status == int(Status.NO_FRAME), frame.number == 0)
        usable = ca.logic_and(usable, ca.logic_or(frame.status == int(Status.OK), none_yet))
    return usable


def _measured(bed: Testbed, measured: Mapping[str, ca.SX], ahead: ca.SX, ages: ca.SX) -> Iterator[Limit]:
    """Only a controller uses sensors: without one, measurements are recorded unchecked, but for emergency stops."""
    for name in bed.devices_of(EmergencyStop):
        pressed = measured[name][0]
        yield Limit(pressed < _PRESSED, Reason.EMERGENCY_STOP, f"{name} pressed", pressed, _PRESSED)
    for i, (name, device) in enumerate(bed.sensors.items() if bed.controller else ()):
        own = [Coordinate(f"{name} {c.name}", c.unit) for c in device.signals(bed)]
        yield from _finite(Reason.SAMPLE_NOT_FINITE, own, measured[name])
        for j, (lower, upper) in enumerate(device.measurable(bed)):
            if math.isfinite(upper - lower):
                yield from _within(measured[name][j], lower, upper, Reason.SENSOR_SATURATED, own[j].name)
        yield Limit(ahead[i] <= bed.loop.period_s, Reason.SENSOR_AHEAD, name, ahead[i], bed.loop.period_s)
        yield Limit(ages[i] <= bed.age_limit(name), Reason.SENSOR_STALE, name, ages[i], bed.age_limit(name))


def _judged(bed: Testbed, measured: Mapping[str, ca.SX]) -> Iterator[Limit]:
    """Bounds of measurements that a device knows itself."""
    for name, device in bed.sensors.items() if bed.controller else ():
        signals = [c.name for c in device.signals(bed)]
        for signal, reason, least, most in device.judged(bed):
            value = measured[name][signals.index(signal)]
            yield from _bounded(value, least, most, Reason[reason], f"{name} {signal}")


def _by_law(bed: Testbed, recorded: ca.SX) -> Iterator[Limit]:
    """Bounds of the numbers that the law records."""
    law = bed.controller.law if bed.controller else None
    names = [c.name for c in law.recorded(bed)] if law else []
    for name, reason, least, most in law.judged(bed) if law else ():
        yield from _bounded(recorded[names.index(name)], least, most, Reason[reason], name)


def _moving(bed: Testbed, q: ca.SX, u: ca.SX, q_ref: ca.SX, apart: KeptApart) -> Iterator[Limit]:
    safety, known = bed.safety, bed.known
    names = [c.name for c in known.velocities]
    floating = (module for module in known.modules if module.base == "floating" and module.dimension == "planar")
    in_table = [module for module in floating if module.name not in obstacles(bed)]
    for module in in_table:
        if safety.table_m:
            for i, lower, upper in zip(
                _indices(known.root_q(module)), safety.table_m[:2], safety.table_m[2:], strict=False
            ):
                yield from _within(q[i], lower, upper, Reason.TABLE_EDGE, known.positions[i].name)
    yield from apart.limits(Reason.KEEP_OUT)
    for joint in safety.joints:
        if joint.joint in names:
            i = known.joint_q(joint.joint)
            yield from _within(q[i], joint.lower_rad, joint.upper_rad, Reason.JOINT_LIMIT, joint.joint)
    for module in in_table:
        x, y, heading = _indices(known.root_u(module))
        name, rate = known.velocities[heading].name, safety.base_rate_rad_s
        if rate:
            yield from _within(u[heading], -rate, rate, Reason.BASE_TOO_FAST, f"{name} rate")
        if safety.base_speed_m_s:
            speed = ca.norm_2(ca.vertcat(u[x], u[y]))
            name = f"{known.velocities[x].name} rate"
            yield Limit(speed <= safety.base_speed_m_s, Reason.BASE_TOO_FAST, name, speed, safety.base_speed_m_s)
    for joint in safety.joints:
        if joint.joint in names:
            i, rate = known.joint_u(joint.joint), joint.rate_rad_s
            yield from _within(u[i], -rate, rate, Reason.JOINT_TOO_FAST, f"{joint.joint} rate")
    for i in bed.followed_positions:
        c = known.positions[i]
        if c.unit in ("m", "rad"):
            error, most = q_ref[i] - q[i], safety.tracking_error_m if c.unit == "m" else safety.tracking_error_rad
            yield Limit(ca.fabs(error) <= most, Reason.TRACKING_ERROR, c.name, error, most)
    yield from _stopping(bed, q, u)
    yield from apart.limits(Reason.KEEP_OUT_AHEAD)


class KeptApart:
    """Distances of what stays apart, at the pose and on the way to where the robot could stop by braking."""

    def __init__(self, bed: Testbed, q: ca.SX, u: ca.SX) -> None:
        self._clearances, self._q, self._u = Clearances(guarded_pairs(bed), bed.known), q, u
        self._least = bed.safety.clearance_m / 2
        if self._clearances.pairs:
            model = ControlModel(bed)
            stops = stopping_poses(model)
            poses = ca.horzcat(*(ca.vertcat(pose.q, pose.t) for pose in stops))
            ahead = ca.horzsplit(ca.substitute(poses, ca.vertcat(model.q, model.u), ca.vertcat(q, u)))
            self._way = [TimedPose(q), *(TimedPose(pose[:-1], pose[-1]) for pose in ahead)]

    def limits(self, reason: Reason) -> Iterator[Limit]:
        """Of `KEEP_OUT` or of `KEEP_OUT_AHEAD`."""
        if not self._clearances.pairs:
            return
        is_ahead = reason is Reason.KEEP_OUT_AHEAD
        distances = self._clearances.along(*self._way) if is_ahead else self._clearances.distances(self._q)
        least = self._least if is_ahead else 0.0
        for i, name in enumerate(self._clearances.names):
            yield Limit(distances[i] >= least, reason, name, distances[i], least)

    @property
    def is_needed(self) -> bool:
        """Whether anything stays apart."""
        return bool(self._clearances.pairs)

    def added_to(self, check: ca.Function) -> ca.Function:
        """A check that also fails where a limit of a distance does not hold: those ahead include the pose."""
        centres = ca.horzcat(*(self._clearances.centres(pose.q) for pose in self._way))
        times = ca.vertcat(*(pose.t for pose in self._way))
        poses = ca.Function("poses", [self._q, self._u], [centres, times], {"cse": True})
        given = check.mx_in()
        _, _, q, u, *_ = given
        checked, lacking = check(*given), self._clearances.shortfalls([self._least], [range(len(self._way))], 1)
        hold = ca.logic_and(checked[0], ca.sum1(lacking(*poses(q, u))[1]) == 0)
        return ca.Function("checked", given, [ca.vertcat(hold, checked[1:])])


def _stopping(bed: Testbed, q: ca.SX, u: ca.SX) -> Iterator[Limit]:
    """Where a base could stop: beyond the reaction time it decelerates along its path, d = v t + v |v| / 2 a."""
    table, braking, known = bed.safety.table_m, bed.safety.braking, bed.known
    if table is None or bed.controller is None:
        return
    for thrusters in bed.devices_of(Thrusters).values():
        module = thrusters.pushed(bed)
        a = base_deceleration(bed, thrusters)
        if module.name not in known.q or module.dimension != "planar" or not a:
            continue
        x, y, _ = _indices(known.root_u(module))
        seconds = braking.reaction_s + ca.norm_2(ca.vertcat(u[x], u[y])) / (2 * a)
        rows = zip(_indices(known.root_q(module)), (x, y), table[:2], table[2:], strict=False)
        for i, rate, lower, upper in rows:
            yield from _within(q[i] + u[rate] * seconds, lower, upper, Reason.TABLE_EDGE_AHEAD, known.positions[i].name)


def _reported(bed: Testbed, applied: Mapping[str, ca.SX]) -> Iterator[Limit]:
    """What the actuators report as applied must be possible."""
    for name, device in bed.actuators.items():
        signals = [Coordinate(f"{name} {c.name}", c.unit) for c in device.signals(bed)]
        yield from _finite(Reason.APPLIED_NOT_FINITE, signals, applied[name])
        for i, (lower, upper) in enumerate(device.bounds(bed)):
            room = _REPORTED * (upper - lower)
            value, subject = applied[name][i], signals[i].name
            yield from _within(value, lower - room, upper + room, Reason.APPLIED_OUT_OF_RANGE, subject)


def _commanded(bed: Testbed, setpoints: Mapping[str, ca.SX], applied: Mapping[str, ca.SX]) -> Iterator[Limit]:
    signals = {
        name: [Coordinate(f"{name} {c.name}", c.unit) for c in device.signals(bed)]
        for name, device in bed.actuators.items()
    }
    for name in bed.actuators:
        yield from _finite(Reason.COMMAND_NOT_FINITE, signals[name], setpoints[name])
    ratio = bed.safety.monitor.torque_step_ratio
    for name, motors in bed.devices_of(Motors).items() if ratio else ():
        for i, motor in enumerate(motors.units):
            step, most = setpoints[name][i] - applied[name][i], float(ratio or 0.0) * motor.torque_limit_n_m
            yield Limit(ca.fabs(step) <= most, Reason.TORQUE_STEP, signals[name][i].name, step, most)
    for clamps in (False, True):  # limits that end the run come first
        reason = Reason.SETPOINT_CLAMPED if clamps else Reason.SETPOINT_OUT_OF_RANGE
        for name, device in bed.actuators.items():
            if device.clamps is not clamps:
                continue
            for i, (lower, upper) in enumerate(device.bounds(bed)):
                value, subject = setpoints[name][i], signals[name][i].name
                if device.binary:
                    yield Limit(ca.logic_or(value == lower, value == upper), reason, subject, value, upper)
                else:
                    yield from _within(value, lower, upper, reason, subject)


def _joined(parts: Mapping[str, ca.SX]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *parts.values())


def _finite(reason: Reason, names: Sequence[Coordinate], values: ca.SX) -> Iterator[Limit]:
    for i, name in enumerate(names):
        yield Limit(ca.fabs(values[i]) <= sys.float_info.max, reason, name.name, values[i], math.nan)


def _within(value: ca.SX, lower: float, upper: float, reason: Reason, subject: str) -> Iterator[Limit]:
    """False also for NaN."""
    yield Limit(value >= lower, reason, subject, value, lower)
    yield Limit(value <= upper, reason, subject, value, upper)


def _bounded(value: ca.SX, least: float, most: float, reason: Reason, subject: str) -> Iterator[Limit]:
    """The bounds that are finite."""
    if math.isfinite(least):
        yield Limit(value >= least, reason, subject, value, least)
    if math.isfinite(most):
        yield Limit(value <= most, reason, subject, value, most)


def _indices(part: slice) -> range:
    return range(part.start, part.stop)
