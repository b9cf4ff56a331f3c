"""Motors: torque gain, Coulomb and viscous friction of each, from the motion of known inertias.

Joints may stick: static friction and the angle until a joint slides are fitted beside them, and are in no file.

The base is clamped and the table under the links is level. Each motor in turn gets a torque with two frequencies; the
motion of the model is fitted to the measured angles (output error) over short windows, each with its own start.
Branches of the base without such a motor have no part in it: on a clamped base they move by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import casadi as ca
import numpy as np
from scipy.signal import savgol_filter

from granite.calibration.bench import Bench
from granite.calibration.fit import CalibrationFit, FittedKey, Residuals, gauss_newton
from granite.calibration.joint_motion import JointMotion
from granite.calibration.procedure import BenchMeasurement, DeviceProcedure, OperatorStep, on_bench
from granite.config.devices.joint_sensors import JointSensors
from granite.config.devices.motors import Motors
from granite.config.errors import InputError
from granite.config.modules import Joint, Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree
from granite.sim.plant.plant import Plant

#: length of a run, period of its slower torque [s], and amplitude of the motion without friction [rad]
_RUN_S, _PERIOD_S, _AMPLITUDE = 6.0, 3.0, 0.5
#: of the greatest torque
_LEVEL = 0.6
#: torque of the joints that a run is not about, by their own, and the part of a period by which each is later
_OTHERS, _SHIFT = 0.6, 0.23
#: a joint that turned less than this was not free [rad]
_MOVED = 0.02
#: greatest differences of simulated motors: gain, and Coulomb and viscous friction for each newton metre of amplitude
_GAIN, _COULOMB, _VISCOUS = 0.15, 0.2, 0.1
#: before the fit: static by Coulomb friction, the angle from rest until a joint slides [rad], and deviations of the
#: ratio and of the angle's logarithm
_STATIC, _PRESLIDING = 1.2, 1e-3
_STICKING = (0.3, 1.0)
#: deviation of the deflection of a joint's bristles at the start of a window, and the rate at which it slides [rad/s]
_DEFLECTION, _SLIDES = 0.3, 0.02
#: length of the windows whose starts are fitted [s]: over a whole run, sticking makes local optima
_WINDOW_S = 0.6
#: how much firmer it is known at first, and the greatest change of the logarithm
_FIRMLY = 30.0
_FAR = 4.0


class MotorsProcedure(DeviceProcedure):
    """Every motor with the base clamped."""

    kind = Motors

    def __init__(self, bed: Testbed, name: str | None = None) -> None:
        super().__init__(bed, name)
        self.joints = [motor.joint for motor in self.table.units]
        sensors = [n for n, device in bed.devices_of(JointSensors).items() if set(self.joints) <= set(device.joints)]
        if not sensors:
            expected = f"a device that senses {', '.join(self.joints)}"
            raise InputError("no joint sensors of these motors", key="devices", expected=expected)
        self._sensors = sensors[0]
        self.devices = (self._sensors, self.name)
        self._modules = list(dict.fromkeys(bed.layout.module_of(joint).name for joint in self.joints))
        if any(body.flexible for module in self._modules for body in bed.module(module).bodies):
            raise InputError("a link is flexible", key=f"modules.{self._modules[0]}", expected="rigid links")
        self.fitted_on = (self.of, *(f"modules.{m}.{part}" for m in self._modules for part in ("bodies", "joints")))
        self._bench = self.bench_bed()
        #: what moves with the motors
        self._moving = [self._branches(self._bench.module(name)) for name in self._modules]
        self._amplitude = self._amplitudes()
        self.steps = tuple(
            OperatorStep(
                f"clamp the base on a level table, let all joints go and stand back: all will move, {joint} most",
                (),
                joint,
            )
            for joint in self.joints
        )

    def bench_bed(self) -> Testbed:
        """Modules on fixed bases, without gains and friction, and with joint sensors as calibrated."""
        bed = self.bed
        modules = tuple(
            module.model_copy(update={"base": "fixed"}) if module.name in self._modules else module
            for module in bed.modules
        )
        initial = {
            c.key: bed.simulation.initial[c.key]
            for c in bed.positions
            if c.name in bed.joints and c.key in bed.simulation.initial
        }
        # The simulated plant has the friction that `draw` says.
        friction = bed.simulation.joint_friction.model_copy(update={"spread": 0.0, "asymmetry": 0.0})
        table = bed.simulation.table.model_copy(update={"ideal": True})
        simulation = bed.simulation.model_copy(update={"initial": initial, "table": table, "joint_friction": friction})
        clamped = bed.model_copy(update={"modules": modules, "contacts": (), "simulation": simulation})
        keys = (f"{self.of}.torque_gain", f"{self.of}.simulated", f"devices.{self._sensors}.simulated")
        zero = {f"devices.{self._sensors}.angle_offset_rad": 0.0}
        return on_bench(clamped, self.devices, {key: {} for key in keys} | zero)

    def measure(self, bench: Bench, step: OperatorStep, known_values: Array) -> BenchMeasurement:
        """Commanded torques and angles of all joints at every tick."""
        i = self.joints.index(step.subject)
        ticks = round(_RUN_S / bench.bed.loop.period_s)
        t = np.arange(ticks) * bench.bed.loop.period_s
        # The others move, too, out of phase: a joint that sticks says little, and hides what moves it.
        phases = 2 * pi * (t[:, None] / _PERIOD_S + _SHIFT * np.arange(len(self.joints)))
        level = np.where(np.arange(len(self.joints)) == i, 1.0, _OTHERS)
        torques = self._amplitude * level * (np.cos(phases) + np.cos(3 * phases)) / 2
        bench.arm()
        samples = bench.run(lambda k: {self.name: torques[k].copy()}, ticks)
        bench.run(lambda k: {}, round(1.0 / bench.bed.loop.period_s))  # also before the operator is asked to repeat it
        index = list(bench.bed.sensors).index(self._sensors)
        columns = [bench.bed.devices_of(JointSensors)[self._sensors].joints.index(joint) for joint in self._sensed]
        angles = np.array([sample.frames[index].values[columns] for sample in samples])
        numbers = [sample.frames[index].number for sample in samples]
        if len(set(numbers)) < ticks:
            late = f"{ticks - len(set(numbers))} of {ticks} frames are missing"
            raise InputError(late, key=f"devices.{self._sensors}", expected="one at every tick")
        turned = float(np.ptp(angles[:, self._sensed.index(step.subject)]))
        if turned < _MOVED:
            key = f"devices.{self.name}"
            expected = "a joint that is free and a motor that is on"
            raise InputError(f"joint {step.subject} turned by {turned:.2g} rad", key=key, expected=expected)
        text = f"{step.subject} turned by {turned:.3g} rad under {self._amplitude[i]:.3g} N m in {_RUN_S:g} s"
        return BenchMeasurement(step, known_values, np.hstack((torques, angles)), text)

    def fit(self, measured: Sequence[BenchMeasurement]) -> CalibrationFit:
        """Gain and friction of every motor, and the state at the start of every window."""
        bed, n = self._bench, len(self.joints)
        joints = [self._joint(joint)[1] for joint in self.joints]
        names = [bed.layout.name(m, joint.name) for m in self._moving for joint in m.joints_in_tree_order()]
        fades = np.array([joint.friction_rate_rad_s for joint in joints])
        driven = [names.index(joint) for joint in self.joints]
        motion = JointMotion(bed, self._moving, driven, fades)
        seen = [names.index(joint) for joint in self._sensed]
        ticks = round(_WINDOW_S / bed.loop.period_s)
        runs, starts = [], []
        for measurement in measured:
            torques, angles = measurement.values[:, :n], measurement.values[:, n:]
            rates = savgol_filter(angles, 2 * (ticks // 8) + 1, 2, deriv=1, delta=bed.loop.period_s, axis=0)
            for k in range(0, len(torques) - ticks + 1, ticks):
                start = np.zeros(2 * motion.n_u + n)
                start[seen], start[[motion.n_u + i for i in seen]] = angles[k], rates[k]
                slides = start[[motion.n_u + i for i in driven]] / _SLIDES
                start[2 * motion.n_u :] = np.clip(slides, -1, 1)
                runs.append((torques[k : k + ticks], angles[k : k + ticks]))
                starts.append(start)
        # From motion without friction, the fit of a wheel may end where friction is below zero.
        friction = np.concatenate((_VISCOUS * self._amplitude, _COULOMB * self._amplitude)) / 2
        sticks = np.repeat([_STATIC, np.log(_PRESLIDING)], n)
        guess = np.concatenate((np.ones(n), friction, sticks, *starts))
        noise, each = bed.devices_of(JointSensors)[self._sensors].angle_noise_rad, len(starts[0])
        # What is known before of how joints stick: a joint that always slides says nothing of it.
        before = np.concatenate((np.repeat(_STICKING, n), np.full(n * len(runs), _DEFLECTION)))
        bent = [5 * n + each * k + 2 * motion.n_u + i for k in range(len(runs)) for i in range(n)]
        known = np.zeros((len(before), len(guess)))
        known[range(len(before)), [*range(3 * n, 5 * n), *bent]] = noise / before
        size = sum(angles.size for _, angles in runs) + len(before)

        def compare(x: Array, prior: Array = known) -> tuple[Array, Array]:
            if (x[2 * n : 4 * n] <= 0).any() or np.abs(x[4 * n : 5 * n] - guess[4 * n : 5 * n]).max() > _FAR:
                return np.full(size, np.inf), np.zeros((size, len(x)))  # no joint is so: a shorter step is tried
            residuals, rows = [], []
            for k, (torques, angles) in enumerate(runs):
                columns = slice(5 * n + each * k, 5 * n + each * (k + 1))
                fitted, by = motion.angles(x[: 5 * n], x[columns], torques)
                row = np.zeros((angles.size, len(x)))
                by = by[:, seen].reshape(angles.size, -1)
                row[:, : 5 * n] = by[:, : 5 * n]
                row[:, columns] = by[:, 5 * n :]
                residuals.append((angles - fitted[:, seen]).ravel())
                rows.append(row)
            return np.concatenate((*residuals, prior @ (guess - x))), np.vstack((*rows, prior))

        what = "the motion does not determine gains and friction"
        expected = "joints that are free, one run for each"
        # First with joints that stick as they usually do: from there, few steps end beside the optimum.
        first = gauss_newton(lambda x: compare(x, _FIRMLY * known), guess, what, expected)
        fit = gauss_newton(compare, first.values, what, expected)
        order = [k * n + i for i in range(n) for k in range(3)]
        left = fit.residual[: -len(before)].reshape(-1, len(seen))
        t = bed.loop.period_s * np.arange(len(left), dtype=np.float64)
        residuals = tuple(Residuals(j, "time [s]", t, left[:, i], "rad") for i, j in enumerate(self._sensed))
        covariance = fit.covariance[np.ix_(order, order)]
        return CalibrationFit(self._numbers(), fit.values[order], covariance, fit.freedom, len(left), residuals)

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """Gains within some percent, and friction that the torques overcome."""
        values = []
        for amplitude in self._amplitude:
            values += [
                1 + rng.uniform(-_GAIN, _GAIN),
                _VISCOUS * amplitude * rng.uniform(0.1, 1),
                _COULOMB * amplitude * rng.uniform(0.1, 1),
            ]
        return {number.key: float(value) for number, value in zip(self._numbers(), values, strict=True)}

    def simulated_plant(self, bed: Testbed) -> Plant:
        """The plant, which moves by itself."""
        return Plant(bed)

    def act(self, plant: Plant, step: OperatorStep, rng: np.random.Generator) -> None:
        """The simulated base is clamped, and its joints are free."""

    @property
    def _sensed(self) -> list[str]:
        sensed = self._bench.devices_of(JointSensors)[self._sensors].joints
        moving = [self._bench.layout.name(module, joint.name) for module in self._moving for joint in module.joints]
        return [joint for joint in sensed if joint in moving]

    def _numbers(self) -> tuple[FittedKey, ...]:
        """Gain, viscous and Coulomb friction of each motor."""
        keys = []
        for joint in self.joints:
            module, table = self._joint(joint)
            keys += [
                FittedKey(f"{self.of}.torque_gain.{joint}", "1"),
                FittedKey(f"modules.{module}.joints.{table.name}.damping_n_m_s", "N m s/rad", 0.0),
                FittedKey(f"modules.{module}.joints.{table.name}.friction_n_m", "N m", 0.0),
            ]
        return tuple(keys)

    def _joint(self, joint: str) -> tuple[str, Joint]:
        """Module and table of a joint; `InputError` unless it turns."""
        module = self.bed.layout.module_of(joint)
        [table] = [candidate for candidate in module.joints if self.bed.layout.name(module, candidate.name) == joint]
        if table.kind != "revolute":
            key = f"modules.{module.name}.joints.{table.name}.kind"
            raise InputError(key=key, value=table.kind, expected="a revolute joint")
        return module.name, table

    def _branches(self, module: Module) -> Module:
        """The module with those branches of its root body that have a motor of the device."""
        carried_by = {joint.child: joint for joint in module.joints}

        def first(joint: Joint) -> str:
            while joint.parent in carried_by:
                joint = carried_by[joint.parent]
            return joint.name

        moved = {first(j) for j in module.joints if self._bench.layout.name(module, j.name) in self.joints}
        joints = tuple(joint for joint in module.joints if first(joint) in moved)
        kept = {module.root.name, *(joint.child for joint in joints)}
        bodies = tuple(body for body in module.bodies if body.name in kept)
        return module.model_copy(update={"joints": joints, "bodies": bodies, "points": ()})

    def _amplitudes(self) -> Array:
        """Torques that turn each joint by about the same angle."""
        amplitudes = []
        for motor in self.table.units:
            module, _ = self._joint(motor.joint)
            tree = Tree(self._bench.module(module))
            M = ca.Function("M", [tree.q], [ca.densify(Dynamics(tree).mass_matrix)])(np.zeros(tree.q.numel())).full()
            names = [self._bench.layout.name(self._bench.module(module), j.name) for j in tree.module.joints]
            inertia = 1 / np.linalg.inv(M)[names.index(motor.joint), names.index(motor.joint)]
            wanted = _AMPLITUDE * inertia * (2 * pi / _PERIOD_S) ** 2
            amplitudes.append(min(wanted, _LEVEL * motor.torque_limit_n_m))
        return np.array(amplitudes)
