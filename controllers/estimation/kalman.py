"""The Kalman estimator: joint sensors, and all sensors of floating roots, fused through the model into q and u."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import Name, Positive, Table
from granite.config.devices.grips import Grips
from granite.config.devices.joint_sensors import JointDevice, JointSensors
from granite.config.devices.motors import Motors
from granite.config.devices.pressure import Pressure
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.parts import PartTable, find
from granite.config.records import NOTHING, Array, Frame, Sample, State
from granite.config.tunable import Tunable
from granite.controllers.estimation.disturbance import DisturbanceTable
from granite.controllers.estimation.joint_filter import joint_filters
from granite.controllers.estimation.measured_modes import MeasuredModes, mode_indices
from granite.controllers.estimation.prediction import (
    first_covariances,
    joint_groups,
    known_joints,
    n_extra,
    n_states,
    prediction,
)
from granite.controllers.estimation.root_filter import RootFilters
from granite.controllers.estimation.root_sensors import measured_roots
from granite.controllers.estimation.thruster_faults import ThrusterFaultTable
from granite.controllers.estimation.unknown_forces import UnknownForces
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.delivery import build_delivery
from granite.controllers.thrusters.geometry import shared_supply
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm, joined_memory
from granite.mrds.valves import ValveBank

#: age of a joint sensor's frame that is taken into account, in periods
_OLDEST = 4.0


class ModuleNoise(Table):
    """Process noise of the pose of one module; what is left out is that of all."""

    translation_m_s2_per_rthz: Positive | None = None  #: of its position
    rotation_rad_s2_per_rthz: Positive | None = None  #: of its heading or attitude


class KalmanEstimator:
    """Predicts with the model under the applied commands (zero-order hold); measurement updates from the sensors.

    It uses every joint sensor of a joint that the controller knows, and every sensor with a model of its own
    (`Device.measurement`) that depends on the motion of a root which it knows. Modes of flexible links are predicted
    only, unless strain gauges determine them. A frame with an innovation beyond
    `safety.monitor.gate_sigma` is not used: a single outlier changes nothing, and the guard ends the run where they
    continue. The gate of joints is open until `settling_s` after the start, because velocities are not known before.
    """

    class Options(PartTable):
        """Process noise: error of the model's acceleration (spectral density, one sigma)."""

        translation_m_s2_per_rthz: Positive = 2e-3  #: process noise of positions of bases and objects
        rotation_rad_s2_per_rthz: Positive = 1e-2  #: process noise of their headings or attitudes
        joint_rad_s2_per_rthz: Positive = 0.2  #: process noise of joints
        #: at least, of a base whose rate a gyro measures: reactions to what the model of the joints does not explain
        measured_rotation_rad_s2_per_rthz: Positive = 1e-2
        #: correlation time of the error of an acceleration that an accelerometer measures; of others it is white
        acceleration_correlation_s: Positive = 0.1
        #: error of the model by which the deviations of poses and rates are stated, where it is less than the process
        #: noise: that is a margin for faults and for forces that the model does not have
        stated_translation_m_s2_per_rthz: Positive | None = None
        stated_rotation_rad_s2_per_rthz: Positive | None = None  #: the same of headings
        stated_joint_rad_s2_per_rthz: Positive | None = None  #: the same of the rates of joints
        #: of headings whose rate or acceleration is measured, so that errors of the joints' rates have no part in them
        stated_measured_rotation_rad_s2_per_rthz: Positive | None = None
        #: of modules whose bases or bodies differ
        modules: dict[Name, ModuleNoise] = Field(default_factory=dict)
        disturbance: DisturbanceTable = DisturbanceTable()  #: observer of unknown forces and torques
        thruster_faults: ThrusterFaultTable = ThrusterFaultTable()  #: detection of faulty thrusters

        def tunable(self, bed: Any) -> tuple[Tunable, ...]:
            """The process noise, within two decades."""
            fields = type(self).model_fields.items()
            usual = {name: field.default for name, field in fields if name.endswith("rthz") and field.default}
            return tuple(Tunable(name, value / 10, value * 10) for name, value in usual.items())

    def __init__(self, options: Options, model: ControlModel) -> None:
        bed = model.bed
        _refuse_missing_sensors(model)
        self._period, self._n = bed.loop.period_s, model.n
        names, actuators = list(bed.sensors), list(bed.actuators)
        #: where the signals of each sensor stand among those of all
        signals, at = {}, 0
        for name, device in bed.sensors.items():
            signals[name] = slice(at, at + len(device.signals(bed)))
            at = signals[name].stop
        self._innovation = np.full(at, np.nan)
        joints, stated = _joint_sensors(model), options.stated_joint_rad_s2_per_rthz
        self._joints: list[_JointReading] = []
        #: covariances of the filters of all joints, column by column, group after group
        self._joint_covariance: Array = first_covariances(model, joints, 1 if stated is None else 2)
        groups = joint_groups(model, joints)
        first_sensor = {i: group.devices[0] for group in groups for i in group.coordinates}
        first_extra, first = 2 * model.n, 0
        for name, sensors in joints.items():
            known, size = known_joints(model, sensors), sensors.n_signals * len(sensors.joints)
            begins = [first_sensor[i] == name for _, i in known]
            reading = _JointReading(names.index(name), known, begins, model.n, first_extra, n_extra(sensors))
            reading.innovation, reading.signals = slice(first, first + size), signals[name]
            reading.first_rate = len(sensors.joints) if sensors.has_angles else 0
            self._joints.append(reading)
            first_extra, first = first_extra + n_extra(sensors) * len(known), first + size
        #: of each device of joint sensors: number and time [s] of the newest frame used
        self._joint_number, self._joint_taken = np.zeros(len(joints)), np.full(len(joints), nan)
        self._end_x = n_states(model, joints)
        self._end_deviation = self._end_x + 2 * self._n
        self._end_covariances = self._end_deviation + len(self._joint_covariance)
        self._end_innovations = self._end_covariances + first
        process = _process_noise(options, model)
        roots = measured_roots(
            model,
            process,
            options.measured_rotation_rad_s2_per_rthz,
            _stated(options, process),
            options.stated_measured_rotation_rad_s2_per_rthz,
            options.acceleration_correlation_s,
        )
        if options.acceleration_correlation_s < 4 * self._period and any(root.accelerations for root in roots):
            where = "controller.estimator.acceleration_correlation_s"
            expected = f"at least four periods ({4 * self._period:g} s)"
            raise InputError(key=where, value=options.acceleration_correlation_s, expected=expected)
        self._roots = RootFilters(roots, model.q, model.u, self._period)
        #: of each sensor of a root: its index among the sensors, and where its innovations stand
        self._root_sensors = [
            (
                sensor.device,
                slice(signals[sensor.name].start, signals[sensor.name].start + len(sensor.measurement.noise)),
            )
            for root in roots
            for sensor in root.sensors
        ]
        #: estimated biases, and where they stand among the signals
        self._bias = np.full(at, nan)
        self._biased = []
        #: of each offset of a joint that is estimated: where the joint stands in the frames of all joint sensors
        self._offset_values = []
        for root in roots:
            self._biased += [signals[s.name].start + b.signal for s in root.sensors for b in s.measurement.biases]
            for offset in root.offsets:
                reading, column = next((j, p) for j in self._joints for p, i in j.known if i == offset.coordinate)
                self._biased.append(reading.signals.start + column)
                self._offset_values.append(reading.innovation.start + column)
        #: what is taken off the frames of all joint sensors
        self._joint_offset = np.zeros(first)
        monitor = bed.safety.monitor
        #: a contact force that the model does not know would look like an outlier
        self._gate_sigma = monitor.gate_sigma if bed.explains_motion else inf
        self._settling, self._observing = monitor.settling_s, options.disturbance.after_s
        #: when the estimate has settled, and from when on disturbances are observed [s]
        self._settled_at, self._observe_from = np.array([inf]), np.array([inf])
        self._motors = [actuators.index(name) for name in bed.devices_of(Motors)]
        #: how many torques and openings each device has
        self._torques = [len(device.units) for device in bed.devices_of(Motors).values()]
        self._openings = [len(device.units) for device in bed.devices_of(Thrusters).values()]
        throttles = getattr(find("modulation", bed.control.allocation.modulation.kind), "throttles", False)
        self._valves = [
            (actuators.index(name), build_delivery(device, throttles, self._period))
            for name, device in bed.devices_of(Thrusters).items()
        ]

        #: of each device of thrusters: index of the sensor of its supply pressure, and the pressure of full thrust [Pa]
        gauges = bed.devices_of(Pressure).items()
        supplies = {gauge.supplied(bed): (names.index(name), gauge.full_thrust_pa) for name, gauge in gauges}
        self._pressures = [supplies.get(name, (-1, 1.0)) for name in bed.devices_of(Thrusters)]
        self._is_gauged = bool(gauges)
        self._drops = [device.shared_drop for device in bed.devices_of(Thrusters).values()]
        #: of each device of thrusters: thrust by that of the data sheet, at the measured pressure
        self._supply = np.ones(len(self._pressures))
        banks = [delivery for _, delivery in self._valves if isinstance(delivery, ValveBank)]
        self._bank_memory = joined_memory(banks)
        unknown = UnknownForces(options.disturbance, options.thruster_faults, model, options.translation_m_s2_per_rthz)
        #: disturbance, faults, and what finds them
        self._unknown, self._disturbance = unknown.memory.copy(), np.zeros(self._n)
        self._faults = unknown.faults
        #: a load in the hand, at the end of that memory
        self._payload: Array = self._unknown[len(self._unknown) - unknown.n_payload :].copy()
        key = bed.fingerprint and f"{bed.fingerprint} {options.model_dump_json()}"

        sets, offsets = model.contact_sets, self._roots.offset_joints

        def write() -> list[ca.Function]:
            noise = options.joint_rad_s2_per_rthz
            filters = [joint_filters(group.sensors(joints), noise, self._period, stated) for group in groups]
            return [
                prediction(model, joints, filters, roots, offsets, unknown, gripped, f"prediction_{i}")
                for i, gripped in enumerate(sets)
            ]

        kernels = compile_once("estimator", key, write)
        self._predictions = [kernels[f"prediction_{i}"] for i in range(len(sets))]
        #: what the grips report under each contact set, and the set by that
        self._sets = np.array([[float(name in gripped) for name in bed.grips] for gripped in sets])
        self._set_of = {reported.tobytes(): i for i, reported in enumerate(self._sets)}
        #: number of the contact set in force
        self._set = np.zeros(1)
        self._grips = next((actuators.index(name) for name, d in bed.actuators.items() if isinstance(d, Grips)), None)
        self._holding = self._sets[0].copy()
        self._x, self._deviation = np.zeros(self._end_x), np.full(2 * self._n, np.nan)
        self._correction = np.zeros(self._n)
        self._innovations = np.full(self._end_innovations - self._end_covariances, nan)
        #: time of the last estimate [s], and whether there is one to predict from
        self._t, self._started = np.zeros(1), np.zeros(1)
        self._modes = np.array(mode_indices(bed.known), dtype=int)
        #: gauges may measure them
        self.modes = MeasuredModes(len(self._modes))

    def compiled_form(self) -> CompiledForm:
        """The same in C."""
        banks = [delivery for _, delivery in self._valves if isinstance(delivery, ValveBank)]
        known = [joint.known for joint in self._joints]
        roots = self._roots.compiled_form()
        memories = [bank.memory for bank in banks]
        return CompiledForm(
            (*roots.sources, Path(__file__).with_suffix(".c")),
            {
                **roots.sizes,
                "KALMAN_N": self._n,
                "KALMAN_X": self._end_x,
                "KALMAN_SIGNALS": len(self._innovation),
                "KALMAN_JOINTS": len(self._joints),
                "KALMAN_MOTORS": len(self._motors),
                "KALMAN_BANKS": len(self._valves),
                "KALMAN_GAUGED": int(self._is_gauged),
                "KALMAN_THROTTLES": int(len(banks) < len(self._valves)),
                "KALMAN_TORQUES": sum(self._torques),
                "KALMAN_OPENINGS": sum(self._openings),
                "KALMAN_MEASURED": self._end_innovations - self._end_covariances,
                "KALMAN_COVARIANCES": self._end_covariances - self._end_deviation,
                "KALMAN_UNKNOWN": len(self._unknown),
                "KALMAN_FAULTS": self._faults.start,
                "KALMAN_N_FAULTS": self._faults.stop - self._faults.start,
                "KALMAN_PAYLOAD": len(self._payload),
                "KALMAN_GRIPS": len(self._holding),
                "KALMAN_GRIPS_OF": self._grips or 0,
                "KALMAN_SETS": len(self._sets),
                "KALMAN_MODES": len(self._modes) * self.modes.are_measured,
            },
            {
                **roots.tables,
                "KALMAN_JOINT": [joint.sensor for joint in self._joints],
                "KALMAN_JOINT_SIZE": [joint.innovation.stop - joint.innovation.start for joint in self._joints],
                "KALMAN_JOINT_FIRST_RATE": [joint.first_rate for joint in self._joints],
                "KALMAN_JOINT_SIGNAL": [joint.signals.start for joint in self._joints],
                "KALMAN_JOINT_EXTRA": [joint.extra.start for joint in self._joints],
                "KALMAN_JOINT_N_EXTRA": [joint.n_extra for joint in self._joints],
                "KALMAN_FIRST_KNOWN": [0, *accumulate(map(len, known))],
                "KALMAN_KNOWN_INDEX": [index for pairs in known for index, _ in pairs],
                "KALMAN_KNOWN_ANGLE": [angle for pairs in known for _, angle in pairs],
                "KALMAN_KNOWN_BEGINS": [int(begins) for joint in self._joints for begins in joint.begins],
                "KALMAN_MODE": self._modes.tolist(),
                "KALMAN_ROOT_SIGNAL": [signals.start for _, signals in self._root_sensors],
                "KALMAN_BIASED": self._biased,
                "KALMAN_OFFSET_VALUE": self._offset_values,
                "KALMAN_MOTOR": self._motors,
                "KALMAN_TORQUES_OF": self._torques,
                "KALMAN_THRUSTERS": [actuator for actuator, _ in self._valves],
                "KALMAN_VALVES_OF": self._openings,
                "KALMAN_PRESSURE": [sensor for sensor, _ in self._pressures],
                "KALMAN_BANK": [0, *accumulate(map(len, memories))],
                "KALMAN_BANK_SIZE": [bank.size for bank in banks],
            },
            {
                **roots.parameters,
                "kalman_gate": np.array([self._gate_sigma]),
                "kalman_oldest": np.array([_OLDEST]),
                "kalman_settling": np.array([self._settling]),
                "kalman_observing": np.array([self._observing]),
                "kalman_timing": np.array([bank.timing for bank in banks]),
                "kalman_sets": self._sets,
                "kalman_full_pressure": np.array([full for _, full in self._pressures]),
                "kalman_drop": np.array(self._drops),
                "kalman_amplitude": self.modes.amplitude,
                "kalman_rate": self.modes.rate,
            },
            {
                **roots.memory,
                "kalman_x": self._x,
                "kalman_deviation": self._deviation,
                "kalman_correction": self._correction,
                "kalman_innovation": self._innovation,
                "kalman_bias": self._bias,
                "kalman_supply": self._supply,
                "kalman_innovations": self._innovations,
                "kalman_t": self._t,
                "kalman_started": self._started,
                "kalman_settled_at": self._settled_at,
                "kalman_observe_from": self._observe_from,
                "kalman_unknown": self._unknown,
                "kalman_disturbance": self._disturbance,
                "kalman_payload": self._payload,
                "kalman_set": self._set,
                "kalman_holding": self._holding,
                "kalman_banks": self._bank_memory,
                "joint_number": self._joint_number,
                "joint_taken": self._joint_taken,
                "joint_covariance": self._joint_covariance,
                "joint_offset": self._joint_offset,
            },
            {
                **roots.kernels,
                "kalman_prediction": self._predictions,
                "kalman_command": [bank.kernels[0] for bank in banks],
                "kalman_move": [bank.kernels[1] for bank in banks],
            },
            "kalman_estimate",
        )

    def estimate(self, sample: Sample) -> State:
        """q and u at the time of the sample."""
        t, frames, n = sample.t, sample.frames, self._n
        has_settled = bool(t >= self._settled_at[0])
        gate = self._gate_sigma if has_settled else inf
        if self._started[0]:
            skipped = round((t - self._t.item(0)) / self._period) - 1
            for k in range(skipped, 0, -1):
                self._predict(t - k * self._period, sample, gate, updates=False)
            self._predict(t, sample, gate, updates=True)
        if self.modes.are_measured:
            self._x[self._modes], self._x[n + self._modes] = self.modes.amplitude, self.modes.rate
        self._t[0], self._started[0], ready = t, 1.0, True
        ages = np.array([t - frame.t for frame in frames])
        for i, joint in enumerate(self._joints):
            frame = frames[joint.sensor]
            if frame.number > self._joint_number[i] and isfinite(frame.values.sum()):
                if self._joint_number[i]:
                    self._innovation[joint.signals] = self._innovations[joint.innovation]
                else:
                    joint.begin(frame, max(t - frame.t, 0.0), self._x)
                self._joint_number[i], self._joint_taken[i] = frame.number, frame.t
            elif not self._joint_number[i]:
                # The model may be singular where no joint has been measured: nothing is predicted from there.
                self._started[0], ready = 0.0, False
            ages[joint.sensor] = t - self._joint_taken[i]
        for i, (sensor, _) in enumerate(self._root_sensors):
            self._roots.take(t, i, frames[sensor], self._x[: 2 * n], has_joints=bool(self._started[0]))
        self._roots.finish(self._gate_sigma, self._x, self._deviation, self._correction, has_settled=has_settled)
        for i, (sensor, signals) in enumerate(self._root_sensors):
            self._innovation[signals] = self._roots.innovation(i)
            ages[sensor] = t - self._roots.memory.exposed.item(i)
        self._bias[self._biased] = self._roots.biases()
        self._joint_offset[self._offset_values] = self._roots.memory.offset
        ready = ready and self._roots.ready
        if ready and self._settled_at[0] == inf:
            self._settled_at[0], self._observe_from[0] = t + self._settling, t + self._observing
        return State(
            t,
            ready,
            q=self._x[:n].copy(),
            u=self._x[n : 2 * n].copy(),
            deviation=self._deviation[:n].copy(),
            ages=ages,
            innovation=self._innovation.copy(),
            correction=self._correction.copy(),
            disturbance=self._disturbance.copy(),
            faults=self._unknown[self._faults].copy(),
            holding=self._holding.copy(),
            rate_deviation=self._deviation[n:].copy(),
            bias=self._bias.copy(),
            supply=self._supply.copy() if self._is_gauged else NOTHING,
            payload=self._payload.copy(),
        )

    def _predict(self, t: float, sample: Sample, gate: float, updates: bool) -> None:
        """Predict over one period, to time t; with `updates`, also the measurement update by joint sensors."""
        applied, frames = sample.applied, sample.frames
        if self._grips is not None:
            held = self._set_of.get(applied[self._grips].values.tobytes())
            if held is not None:
                self._set[0], self._holding[:] = held, applied[self._grips].values
        torques = [applied[i].values for i in self._motors]
        openings = []
        for k, ((i, delivery), (sensor, full)) in enumerate(zip(self._valves, self._pressures, strict=True)):
            delivery.command(applied[i].t, applied[i].values)
            opening = delivery.mean_opening(t - self._period, t)
            if self._drops[k]:
                opening = opening * shared_supply(self._drops[k], opening)
            if sensor >= 0:
                self._supply[k] = _thrust_ratio(frames[sensor], full)
                opening = opening * self._supply[k]
            openings.append(opening)
        measured, numbers = [], []
        for number, joint in zip(self._joint_number, self._joints, strict=True):
            frame = frames[joint.sensor]
            measured.append(frame.values - self._joint_offset[joint.innovation])
            # The first frame of a sensor sets the state instead, after the prediction.
            is_used = updates and 0 < number < frame.number
            numbers.append(1 + min(max((t - frame.t) / self._period, 0.0), _OLDEST) if is_used else 0.0)
        numbers += [self._gate_sigma, gate, float(t >= self._observe_from[0])]
        kernel = self._predictions[int(self._set[0])]
        x, deviation, covariances, innovations, correction, steps, unknown, disturbance, payload = kernel.split(
            kernel.run(
                (
                    self._x, *torques, *openings, *measured, np.array(numbers), self._joint_covariance,
                    self._correction, self._unknown,
                )
            )
        )  # fmt: skip
        for memory, value in (
            (self._x, x),
            (self._deviation, deviation),
            (self._joint_covariance, covariances),
            (self._innovations, innovations),
            (self._correction, correction),
            (self._unknown, unknown),
            (self._disturbance, disturbance),
            (self._payload, payload),
        ):
            memory[:] = value
        self._roots.push(t, steps, self._x[: 2 * self._n])


class _JointReading:
    """Newest frame used of one device of joint sensors."""

    def __init__(
        self, sensor: int, known: list[tuple[int, int]], begins: list[bool], n: int, first: int, n_extra: int
    ) -> None:
        """`begins`: whether its first frame sets angle and rate of each known joint. `first` is the index in x of the
        states of its rate filters, `n_extra` for each known joint.
        """
        self.sensor = sensor  #: its index among the sensors
        self.innovation = self.signals = slice(0)  #: its innovations in the prediction's results, and in the state
        self.first_rate = 0  #: index of the first rate in a frame: 0 where it has no angles
        self.known = known  #: index in the device, and index in u, of each joint that the model has
        self.begins = begins
        self._indices = [j for j, _ in known]
        started = [(j, i) for (j, i), begins_it in zip(known, begins, strict=True) if begins_it]
        self._started, self._angles = [j for j, _ in started], [i for _, i in started]
        self._rates = [n + i for i in self._angles]
        self.extra, self.n_extra = slice(first, first + n_extra * len(known)), n_extra

    def begin(self, frame: Frame, age: float, x: Array) -> None:
        """Start x at the first frame, the rate filters settled; the joint has moved on since it was sampled."""
        rates = frame.values[self.first_rate :][self._indices]
        started = frame.values[self.first_rate :][self._started]
        if self.first_rate:
            x[self._angles] = frame.values[self._started] + age * started
        x[self._rates] = started
        x[self.extra] = np.repeat(rates, self.n_extra)


def _thrust_ratio(frame: Frame, full: float) -> float:
    """Thrust by that of the data sheet at the measured supply pressure; 1 before the first measurement."""
    pressure = frame.values.item(0)
    if not frame.number or not isfinite(pressure):
        return 1.0
    return min(max(pressure / full, 0.0), 1.0)


def _joint_sensors(model: ControlModel) -> dict[str, JointDevice]:
    """Every device that measures a joint which the controller knows."""
    sensors = model.bed.devices_of(JointDevice).items()
    return {name: device for name, device in sensors if known_joints(model, device)}


def _process_noise(options: KalmanEstimator.Options, model: ControlModel) -> dict[str, tuple[float, float, float]]:
    """Density of the acceleration of each floating root, by module."""
    for name in options.modules:
        if name not in model.layout.u:
            expected = one_of(name, model.layout.u)
            raise InputError(
                "the controller knows no such module", key=f"controller.estimator.modules.{name}", expected=expected
            )
    noise = {}
    for module in model.floating:
        own = options.modules.get(module.name, ModuleNoise())
        translation = own.translation_m_s2_per_rthz or options.translation_m_s2_per_rthz
        rotation = own.rotation_rad_s2_per_rthz or options.rotation_rad_s2_per_rthz
        noise[module.name] = translation, translation, rotation
    return noise


def _stated(
    options: KalmanEstimator.Options, process: Mapping[str, tuple[float, float, float]]
) -> dict[str, tuple[float, float, float]]:
    """Density of the acceleration for the deviations, by module; none where it is that of the filter."""
    translation, rotation = options.stated_translation_m_s2_per_rthz, options.stated_rotation_rad_s2_per_rthz
    if translation is None and rotation is None:
        return {}
    return {
        name: (translation or density[0], translation or density[1], rotation or density[2])
        for name, density in process.items()
        if name not in options.modules
    }


def _refuse_missing_sensors(model: ControlModel) -> None:
    bed = model.bed
    sensed = [joint for sensors in bed.devices_of(JointDevice).values() for joint in sensors.joints]
    with_angle = {joint for sensors in bed.devices_of(JointSensors).values() for joint in sensors.joints}
    for module in model.layout.modules:
        for joint in module.joints_in_tree_order():
            name = model.layout.name(module, joint.name)
            if name not in sensed:
                raise InputError(f"no joint sensor measures '{name}'", key="devices", expected="one for every joint")
            if name not in with_angle and _matters(model, model.layout.joint_u(name)):
                problem = f"nothing measures the angle of '{name}', on which the motion depends"
                raise InputError(problem, key="devices", expected="a joint sensor; tachometers are for balanced wheels")
            if joint.kind != "revolute":
                raise InputError(f"joint '{name}' is {joint.kind}", key="devices", expected="revolute joints")
        if module.base != "floating":
            continue
        if module.dimension != "planar":
            raise InputError(
                f"'{module.name}' floats in space", key="controller", expected="a planar base, because vision is planar"
            )


def _matters(model: ControlModel, i: int) -> bool:
    """Whether the inertia depends on a coordinate: that of a balanced wheel on its axle does not."""
    M = ca.Function("M", [model.q], [ca.jacobian(ca.vec(model.mass_matrix), model.q[i])])
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (8, model.q.numel()))
    return any(float(ca.norm_inf(M(row))) > 1e-9 for row in q)
