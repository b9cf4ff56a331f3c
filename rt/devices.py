"""The devices of a run: real, simulated, or some of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from granite.config.devices.device import Device
from granite.config.devices.joint_sensors import JointSensors
from granite.config.errors import InputError, one_of
from granite.config.parts import build
from granite.config.testbed import Testbed
from granite.drivers.checked import checked
from granite.drivers.corrected import corrected
from granite.drivers.device_set import DeviceSet
from granite.drivers.shared_link import LinkTable, SharedLinks
from granite.sim.lab import Lab


class MissingDriverError(InputError):
    """A device that is not simulated has no driver."""

    @property
    def device(self) -> str:
        """The name of the device."""
        return self.key.split(".")[1]


def build_devices(
    bed: Testbed,
    simulate: Collection[str] | None = None,
    twins: Mapping[str, Callable[[Any], Any]] | None = None,
    lab: Lab | None = None,
) -> tuple[DeviceSet, Lab | None]:
    """Every device of a testbed, and the simulated lab if one of them is simulated.

    Parameters
    ----------
    bed
        The testbed.
    simulate
        Names of the devices to simulate; None: all of them. The others need a driver.
    twins
        Lets a real actuator of that name move the plant of another process.
    lab
        Where the simulated devices are; None: in a lab of their own.

    Raises
    ------
    InputError
        Where a name is unknown, or a device that is not simulated has no driver.
    """
    names = list(bed.devices) if simulate is None else list(simulate)
    _refuse_unknown(bed, names)
    if lab is None and (names or simulate is None):
        lab = Lab(bed, bed.actuators.keys() - set(names))
    if lab and lab.is_driven:
        twins = {name: partial(lab.mirrored, name) for name in bed.actuators if name not in names}
    return _device_set(bed, names, lab, twins or {}), lab


def build_subset(bed: Testbed, wanted: Collection[str], simulate: Collection[str]) -> tuple[DeviceSet, Testbed]:
    """Some devices of a testbed, and the testbed with no others: for tests of single devices."""
    _refuse_unknown(bed, simulate)
    subset = bed.model_copy(update={"devices": {name: bed.devices[name] for name in bed.devices if name in wanted}})
    lab = Lab(bed) if set(simulate) & set(wanted) else None
    return _device_set(subset, simulate, lab, {}), subset


def sample_timing(bed: Testbed, simulate: Collection[str] | None = ()) -> dict[str, float]:
    """How well their drivers know the time of a joint's sample, by key, where that is 0: the estimator needs it.

    `simulate` is that of `build_devices`.
    """
    timing: dict[str, float] = {}
    for name, device in bed.devices_of(JointSensors).items():
        driver, is_real = device.driver, simulate is not None and name not in simulate
        if is_real and isinstance(driver, LinkTable) and not device.time_deviation_s:
            timing[f"devices.{name}.time_deviation_s"] = driver.time_deviation_s(bed.loop.period_s)
    return timing


def _device_set(
    bed: Testbed, simulate: Collection[str], lab: Lab | None, twins: Mapping[str, Callable[[Any], Any]]
) -> DeviceSet:
    sensors: dict[str, Any] = {}
    actuators: dict[str, Any] = {}
    links = SharedLinks(bed.loop.period_s)
    for name, device in bed.devices.items():
        assert isinstance(device, Device)
        made = lab.device(name) if lab and name in simulate else _driver(bed, name, device, links)
        if name in twins and name in bed.actuators:
            made = twins[name](checked(made, name, bed))
        (sensors if device.role == "sensor" else actuators)[name] = corrected(made, name, device, bed)
    return DeviceSet(bed, sensors, actuators, links.values())


def _refuse_unknown(bed: Testbed, simulate: Collection[str]) -> None:
    for name in simulate:
        if name not in bed.devices:
            raise InputError("no such device", key="simulate", value=name, expected=one_of(name, bed.devices))


def _driver(bed: Testbed, name: str, device: Device, links: SharedLinks) -> Any:
    """The driver of a real device: `Driver(options, name, bed)`, and its link if it shares one."""
    if device.driver is None:
        raise MissingDriverError.missing(
            f"devices.{name}.driver", "the driver of the real device, or its name in `simulate`"
        )
    try:
        if isinstance(device.driver, LinkTable):
            return build("driver", device.driver, name, bed, links.of(device.driver))
        return build("driver", device.driver, name, bed)
    except InputError as error:
        raise error.within(f"devices.{name}.driver") from error
