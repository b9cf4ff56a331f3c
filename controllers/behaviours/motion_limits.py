"""What a goal may ask of a robot: a list of limits, each with its name and the part of it that a motion uses.

The part is 1 where the limit is reached. Of positions it is the distance from the middle of the range over half of its
width; a limit of another kind, such as a zone, is one more entry of `motion_limits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import casadi as ca

from granite.config.devices.thrusters import Thrusters
from granite.config.footprints import SolidPair, guarded_pairs, obstacles
from granite.config.testbed import Testbed
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import base_deceleration
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.controllers.thrusters.reach import reach

#: part of thrust, torques and rates that a goal may use: the rest is for feedback and noise
_SHARE = 0.9
#: distance that a goal keeps from the limits of positions, by unit: the robot moves about its reference
_MARGIN = {"m": 0.01, "rad": 0.02}
#: of a direction without thrusters, in place of zero [N]
_NO_THRUST = 1e-6


class MotionSymbols(NamedTuple):
    """A motion at one instant."""

    model: ControlModel
    q: ca.SX
    u: ca.SX
    a: ca.SX
    force: ca.SX  #: generalised, for this motion
    wrench: ca.SX  #: of it, on the floating roots


class MotionLimit(NamedTuple):
    """A limit of motions."""

    name: str
    #: of the limit that a motion uses; None: of a distance, which `path_distances` gives of all pairs at once
    part: Callable[[MotionSymbols], ca.SX] | None
    #: of a limit of positions: what 1 in `part` means, with its unit
    scale: float | None = None
    unit: str = ""
    is_pose: bool = False  #: of the pose alone: no duration helps
    exceeded: str = "left"  #: what happens to a limit of positions

    def sentence(self, part: float) -> str:
        """What is wrong with a motion that uses more than all of it."""
        if self.scale is None:
            return f"it would need {part:.3g} times the {self.name}" if part < 1e3 else f"it can't have the {self.name}"
        return f"{self.name} would be {self.exceeded} by {(part - 1) * self.scale:.3g} {self.unit}"


def motion_limits(bed: Testbed) -> list[MotionLimit]:
    """All limits of a testbed, always in this order: their numbers are in the log."""
    return [*robot_limits(bed), *zone_limits(bed), *zone_limits(bed, measured=True)]


def robot_limits(bed: Testbed) -> list[MotionLimit]:
    """Those of a module by itself."""
    return [*_positions(bed), *_rates(bed), *(_forces(bed) if bed.explains_motion else ())]


def zone_limits(bed: Testbed, *, measured: bool = False) -> list[MotionLimit]:
    """Distances from zones and between modules, on the way to the next instant and on that of a brake.

    Those from measured obstacles apart: they move by themselves, so that the time of a path counts.
    """
    names = [f"the distance {pair.name}" for pair in pairs_of(bed, measured)]
    return [
        *(MotionLimit(name, None, 1.0, "m", True, "short") for name in names),
        *(MotionLimit(f"{name}, braked from there,", None, 1.0, "m", False, "short") for name in names),
    ]


def pairs_of(bed: Testbed, measured: bool) -> list[SolidPair]:
    """The guarded pairs with a measured obstacle, or those without."""
    names = obstacles(bed)
    bodies = ((pair, (pair.first, pair.second)) for pair in guarded_pairs(bed))
    return [pair for pair, both in bodies if any(body and body.module in names for body in both) is measured]


def _positions(bed: Testbed) -> Iterator[MotionLimit]:
    known, table, measured = bed.known, bed.safety.table_m, obstacles(bed)
    pushed = {thrusters.pushed(bed).name: thrusters for thrusters in bed.devices_of(Thrusters).values()}
    for module in known.modules:
        if table is None or module.base != "floating" or module.dimension != "planar" or module.name in measured:
            continue
        first_q, first_u = known.root_q(module).start, known.root_u(module).start
        deceleration = base_deceleration(bed, pushed[module.name]) if module.name in pushed else 0.0
        for axis in (0, 1):
            i, bounds = first_q + axis, (table[axis], table[axis + 2])
            name = known.positions[i].name
            yield _range(f"the range of {name} in safety.table_m", "m", *bounds, partial(_position, i))
            if deceleration:
                stop = partial(_stopping_point, i, first_u, axis, bed.safety.braking.reaction_s, deceleration)
                limit = _range(f"the room to stop {name} in safety.table_m", "m", *bounds, stop)
                yield limit._replace(is_pose=False)
    for joint in bed.safety.joints:
        if joint.joint in known.joints:
            i = known.joint_q(joint.joint)
            name, unit = f"the range of '{joint.joint}' in safety.joints", known.positions[i].unit
            yield _range(name, unit, joint.lower_rad, joint.upper_rad, partial(_position, i))


def _stopping_point(
    position: int, first: int, axis: int, reaction_s: float, deceleration: float, motion: MotionSymbols
) -> ca.SX:
    """Where the guard would expect the base to stop, d = v t + v |v| / 2 a."""
    seconds = reaction_s + ca.norm_2(motion.u[first : first + 2]) / (2 * deceleration)
    return motion.q[position] + motion.u[first + axis] * seconds


def _range(name: str, unit: str, lower: float, upper: float, value: Callable[[MotionSymbols], ca.SX]) -> MotionLimit:
    half = max((upper - lower) / 2 - _MARGIN.get(unit, 0.0), 1e-6)
    middle = (lower + upper) / 2
    return MotionLimit(name, lambda motion: ca.fabs(value(motion) - middle) / half, half, unit, True)


def _rates(bed: Testbed) -> Iterator[MotionLimit]:
    known, safety = bed.known, bed.safety
    for module in known.modules:
        if module.base != "floating" or module.dimension != "planar" or module.name in obstacles(bed):
            continue
        x = known.root_u(module).start
        if most := _SHARE * (safety.base_speed_m_s or 0.0):
            name = _usable("speed safety.base_speed_m_s")
            yield MotionLimit(name, partial(_speed, x, most))
        if most := _SHARE * (safety.base_rate_rad_s or 0.0):
            name = _usable("rate safety.base_rate_rad_s")
            yield MotionLimit(name, partial(_rate, x + 2, most))
    for joint in safety.joints:
        if joint.joint in known.joints:
            i, most = known.joint_u(joint.joint), _SHARE * joint.rate_rad_s
            name = _usable(f"rate of '{joint.joint}' in safety.joints")
            yield MotionLimit(name, partial(_rate, i, most))


def _forces(bed: Testbed) -> Iterator[MotionLimit]:
    for name, device in bed.devices_of(Thrusters).items():
        if device.pushed(bed).dimension == "planar":
            yield MotionLimit(_usable(f"thrust of {name} in its direction"), _thrust(device))
    for k, motor in enumerate(bed.motors):
        most = _SHARE * motor.torque_limit_n_m
        yield MotionLimit(_usable(f"torque limit of '{motor.joint}'"), partial(_torque, k, most))


def _position(i: int, motion: MotionSymbols) -> ca.SX:
    return motion.q[i]


def _speed(x: int, most: float, motion: MotionSymbols) -> ca.SX:
    return ca.norm_2(motion.u[x : x + 2]) / most


def _rate(i: int, most: float, motion: MotionSymbols) -> ca.SX:
    return ca.fabs(motion.u[i]) / most


def _torque(motor: int, most: float, motion: MotionSymbols) -> ca.SX:
    return ca.fabs(motion.model.motor_torque(motion.force[motion.model.driven])[motor]) / most


def _thrust(device: Thrusters) -> Callable[[MotionSymbols], ca.SX]:
    """The largest part of a half-space of the wrenches in reach."""

    def part(motion: MotionSymbols) -> ca.SX:
        bed = motion.model.bed
        normals, bounds = reach(thruster_matrix(device, "planar"), available_thrust(device))
        rows = {tuple(row.round(9)): row for row in (normals.T / (bounds * _SHARE).clip(_NO_THRUST)).T}
        wrench = motion.wrench[motion.model.wrench_slice(device.pushed(bed))]
        return ca.mmax(ca.DM(list(rows.values())) @ wrench)

    return part


def _usable(name: str) -> str:
    return f"usable {name}"
