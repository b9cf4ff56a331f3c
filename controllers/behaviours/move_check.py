"""Moves checked before they start: what each leg needs of thrust, torque and speed, against what there is.

Along a path, velocities scale with 1/T of its duration T, accelerations with 1/T^2, and so do the forces M a + h,
because h is quadratic in the velocities. So the least duration follows from samples of one duration:
T sqrt(needed/available force) or T needed/available speed, whichever is longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.footprints import obstacles
from granite.config.records import Array
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.controllers.thrusters.reach import reach
from granite.controllers.trajectories.leg import Leg

#: samples of a leg
_SAMPLES = 41

#: position, rate and acceleration of all coordinates
Motion = tuple[Array, Array, Array]


class LimitUse(NamedTuple):
    """Of a leg, the part of a limit that it uses; above 1 it is too fast."""

    name: str
    ratio: float
    power: int  #: of 1/T: 1 speed, 2 force

    @property
    def stretch(self) -> float:
        """The least factor of the duration."""
        return self.ratio if self.power == 1 else sqrt(self.ratio)


class MoveCheck:
    """The limits of a testbed; compiled at the start."""

    def __init__(self, model: ControlModel) -> None:
        self._model, self._inverse = model, model.compile_inverse()
        bed = model.bed
        planar = (module for module in model.floating if module.dimension == "planar")
        #: measured obstacles keep no limits
        self._floating = [module for module in planar if module.name not in obstacles(bed)]
        self._torques = {motor.joint: motor.torque_limit_n_m for motor in bed.motors}
        #: torques of the motors per generalised force
        self._per_force = np.eye(model.n)[model.driven]
        if bed.transmission is not None:
            self._per_force = np.linalg.inv(bed.transmission) @ self._per_force
        self._reaches = []
        for name, device in bed.devices_of(Thrusters).items():
            module = device.pushed(bed)
            if module.dimension == "planar":
                reachable = reach(thruster_matrix(device, "planar"), available_thrust(device))
                self._reaches.append((name, model.wrench_slice(module), reachable))

    def feasible(
        self, start: Array, legs: Sequence[Leg], *, stretch: bool, numbers: Sequence[int] = ()
    ) -> tuple[Leg, ...]:
        """The legs from a start, longer where they are too fast and may be stretched; `numbers` are their waypoints.

        Raises
        ------
        InputError
            Where a target is outside the limits, no thruster can produce a needed force, or a leg is too fast.
        """
        slow_enough, here = [], start
        for i, leg in enumerate(legs):
            there = np.where(np.isnan(leg.target), here, leg.target)
            try:
                self.refuse_outside(there)
                slow_enough.append(self._slow_enough(leg, here, there, stretch))
            except InputError as refusal:
                raise refusal.within(f"behaviour.waypoints.{numbers[i] if numbers else i}") from None
            here = there
        return tuple(slow_enough)

    def slowest(self, samples: Sequence[Motion]) -> LimitUse:
        """The need of a path that stretches it most."""
        return max(self.needs(samples), key=lambda need: need.stretch, default=LimitUse("", 0.0, 1))

    def _slow_enough(self, leg: Leg, start: Array, end: Array, stretch: bool) -> Leg:
        segment = leg.segment(start, end, 0.0)
        slowest = self.slowest([segment.at(t) for t in np.linspace(0.0, leg.duration_s, _SAMPLES)])
        if slowest.stretch <= 1.0:
            return leg
        least = leg.duration_s * slowest.stretch * (1 + 1e-6)
        if stretch:
            ramp = None if leg.ramp_s is None else leg.ramp_s * least / leg.duration_s
            return leg._replace(duration_s=least, ramp_s=ramp)
        raise InputError(
            f"it would need {slowest.ratio:.3g} times the {slowest.name}", key="duration_s", value=leg.duration_s,
            expected=f"at least {least:.3g}, or behaviour.stretch = true",
        )  # fmt: skip

    def needs(self, samples: Sequence[Motion]) -> Iterator[LimitUse]:
        """What a path needs of each limit."""
        model, layout, safety = self._model, self._model.layout, self._model.bed.safety
        forces = [self._inverse(q, u, a)[1:] for q, u, a in samples]
        for name, part, reachable in self._reaches:
            if not any(np.abs(wrench[part]).max() > 1e-9 for _, wrench in forces):
                continue
            least = min(reachable.factor(wrench[part]) for _, wrench in forces)
            if least < 1e-6:
                raise InputError(
                    f"{name} can't produce {', '.join(reachable.missing())}", key="target",
                    expected="a layout of thrusters with force in every direction of the move",
                )  # fmt: skip
            yield LimitUse(f"thrust of {name} in its direction", 1 / least, 2)
        torques = np.abs([self._per_force @ force for force, _ in forces]).max(axis=0).tolist()
        for (joint, limit), most in zip(self._torques.items(), torques, strict=True):
            yield LimitUse(f"torque limit of '{joint}'", most / limit, 2)
        for module in self._floating:
            x, y, heading = range(*layout.root_u(module).indices(model.n))
            speed = max(float(np.hypot(u[x], u[y])) for _, u, _ in samples)
            yield LimitUse("speed safety.base_speed_m_s", speed / (safety.base_speed_m_s or inf), 1)
            turning = max(abs(u[heading]) for _, u, _ in samples)
            yield LimitUse("rate safety.base_rate_rad_s", turning / (safety.base_rate_rad_s or inf), 1)
        for joint_limit in safety.joints:
            index = layout.joint_u(joint_limit.joint)
            most = max(abs(u[index]) for _, u, _ in samples)
            yield LimitUse(f"rate of '{joint_limit.joint}' in safety.joints", most / joint_limit.rate_rad_s, 1)

    def refuse_outside(self, q: Array) -> None:
        """Raise where a pose is outside the limits of `safety`; its key is `target.COORDINATE`."""
        layout, safety = self._model.layout, self._model.bed.safety
        limits: list[tuple[int, float, float, str]] = []
        for module in self._floating:
            if safety.table_m:
                x, y, _ = range(*layout.root_q(module).indices(len(q)))
                x_min, y_min, x_max, y_max = safety.table_m
                limits += [(x, x_min, x_max, "safety.table_m"), (y, y_min, y_max, "safety.table_m")]
        for limit in safety.joints:
            limits.append((layout.joint_q(limit.joint), limit.lower_rad, limit.upper_rad, "safety.joints"))
        for i, lower, upper, source in limits:
            if not lower <= q[i] <= upper:
                name, value = layout.positions[i].key, float(q[i])
                raise InputError(
                    key=f"target.{name}", value=value, expected=f"{lower:g} to {upper:g}, as {source} allows"
                )
