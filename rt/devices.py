"""The devices of a run: real, simulated, or some of each."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from granite.config.devices.device import Device
from granite.config.errors import InputError, one_of
from granite.config.parts import build
from granite.config.testbed import Testbed
from granite.drivers.device_set import DeviceSet
from granite.sim.lab import Lab


def build_devices(bed: Testbed, simulate: Collection[str] | None = None) -> tuple[DeviceSet, Lab | None]:
    """Every device of a testbed, and the simulated lab if one of them is simulated.

    Parameters
    ----------
    bed
        The testbed.
    simulate
        Names of the devices to simulate; None: all of them. The others need a driver.

    Raises
    ------
    InputError
        Where a name is unknown, or a device that is not simulated has no driver.
    """
    names = list(bed.devices) if simulate is None else list(simulate)
    for name in names:
        if name not in bed.devices:
            raise InputError("no such device", key="simulate", value=name, expected=one_of(name, bed.devices))
    lab = Lab(bed) if names or simulate is None else None
    sensors: dict[str, Any] = {}
    actuators: dict[str, Any] = {}
    for name, device in bed.devices.items():
        assert isinstance(device, Device)
        made = lab.device(name) if lab and name in names else _driver(bed, name, device)
        (sensors if device.role == "sensor" else actuators)[name] = made
    return DeviceSet(bed, sensors, actuators), lab


def _driver(bed: Testbed, name: str, device: Device) -> Any:
    """The driver of a real device: `Driver(options, name, bed)`."""
    if device.driver is None:
        raise InputError.missing(f"devices.{name}.driver", "the driver of the real device, or its name in `simulate`")
    try:
        return build("driver", device.driver, name, bed)
    except InputError as error:
        raise error.within(f"devices.{name}.driver") from error
