"""The wheel that makes the yaw torque of its vehicle: whether the testbed has what that needs."""

from __future__ import annotations

import numpy as np

from granite.config.devices.momentum_wheel import rate_limits
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.controllers.thrusters.reach import reach

_KEY = "controller.allocation.yaw_wheel"


def no_unloading(bed: Testbed) -> Array:
    """The record of a yaw wheel that is not unloaded; empty without one."""
    return np.zeros(int(bed.controller is not None and bed.control.allocation.yaw_wheel is not None))


def refuse_yaw_wheel(bed: Testbed) -> None:
    """Refuse a wheel that the testbed can't use.

    Raises
    ------
    InputError
        Where the wheel has no rate limit, its vehicle no thrusters or three dimensions, the set point is too high, or
        the torque that unloads it is more than the thrusters can give without a force, in one of the two directions.
    """
    wheel = bed.control.allocation.yaw_wheel
    if wheel is None:
        return
    limits = {bed.motors[i].joint: limit for i, limit in rate_limits(bed).items()}
    if wheel.joint not in limits:
        known = one_of(wheel.joint, list(limits)) if limits else "a wheel of a device of kind momentum_wheel"
        raise InputError("no such momentum wheel", key=f"{_KEY}.joint", value=wheel.joint, expected=known)
    pushed = [device.pushed(bed) for device in bed.devices_of(Thrusters).values()]
    module = bed.known.module_of(wheel.joint)
    if module not in pushed or module.dimension != "planar" or not bed.control.resolve_delivered:
        expected = "a wheel of a planar module with thrusters, and controller.resolve_delivered = true"
        raise InputError(key=f"{_KEY}.joint", value=wheel.joint, expected=expected)
    if abs(wheel.set_point_rad_s) + wheel.begin_ratio * limits[wheel.joint] > limits[wheel.joint]:
        expected = (
            f"at most {(1 - wheel.begin_ratio) * limits[wheel.joint]:g}, the part of rate_limit_rad_s that is left"
        )
        raise InputError(key=f"{_KEY}.set_point_rad_s", value=wheel.set_point_rad_s, expected=expected)
    available = _yaw_torque(bed, module)
    if wheel.torque_n_m > available:
        expected = f"at most {available:.3g}, the yaw torque that the thrusters can give without a force"
        raise InputError(key=f"{_KEY}.torque_n_m", value=wheel.torque_n_m, expected=expected)


def _yaw_torque(bed: Testbed, module: Module) -> float:
    """The largest torque that the thrusters of a planar module can give in both directions without a force [N m]."""
    devices = [device for device in bed.devices_of(Thrusters).values() if device.pushed(bed) is module]
    matrix = np.hstack([thruster_matrix(device, "planar") for device in devices])
    wrenches = reach(matrix, np.concatenate([available_thrust(device) for device in devices]))
    return min(wrenches.factor(np.array([0.0, 0.0, sign])) for sign in (1.0, -1.0))
