"""Which devices may be real beside simulated ones, module by module: what closes the loop of each.

| sensors of a module | its actuators | verdict |
|---|---|---|
| all simulated | all simulated | runs |
| all simulated | some or all real | runs: they move the plant by what they report; no sensor sees what they move |
| some or all real | some or all simulated | refused: nothing moves what they measure |
| some real, some simulated | all real | refused: the real module and the plant's drift apart |
| all real | all real, or none | runs, where no contact joins it to a simulated module |
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from granite.config.devices.pressure import Pressure
from granite.config.errors import InputError
from granite.config.testbed import Testbed


class ModuleLoop(NamedTuple):
    """The devices of one module, by name."""

    module: str
    real_sensors: tuple[str, ...]
    simulated_sensors: tuple[str, ...]
    real_actuators: tuple[str, ...]
    simulated_actuators: tuple[str, ...]

    @property
    def is_simulated(self) -> bool:
        """Whether the plant has this module: something of it is simulated."""
        return bool(self.simulated_sensors or self.simulated_actuators)

    @property
    def sentence(self) -> str:
        """What closes its loop."""
        sensors, actuators = _listed(self.simulated_sensors), _listed(self.real_actuators)
        if not self.is_simulated:
            moved = f" and {actuators} are real" if self.real_actuators else " real"
            return f"{self.module}: {_listed(self.real_sensors)}{moved}: the robot itself closes the loop"
        if not self.real_actuators:
            return f"{self.module}: all simulated: the plant closes the loop"
        beside = f", and simulated {_listed(self.simulated_actuators)}" if self.simulated_actuators else ""
        measured = f", which {sensors} measure{'s' * (len(self.simulated_sensors) == 1)}" if sensors else ""
        return f"{self.module}: what {actuators} report{beside} moves the plant{measured}: the plant closes the loop"


def module_loops(bed: Testbed, simulate: Collection[str]) -> list[ModuleLoop]:
    """The devices of every module that has some; `simulate` names the simulated ones."""

    def of_module(module: str, names: Collection[str], is_simulated: bool) -> tuple[str, ...]:
        every = {**bed.sensors, **bed.actuators}
        return tuple(n for n in names if module in every[n].modules(bed) and (n in simulate) is is_simulated)

    loops = [
        ModuleLoop(
            module.name,
            of_module(module.name, bed.sensors, False),
            of_module(module.name, bed.sensors, True),
            of_module(module.name, bed.actuators, False),
            of_module(module.name, bed.actuators, True),
        )
        for module in bed.modules
    ]
    return [loop for loop in loops if any(loop[1:])]


def refuse_open_loops(bed: Testbed, simulate: Collection[str]) -> None:
    """Raise an `InputError` where the real and the simulated devices of a run can't close the loop together."""
    loops = module_loops(bed, simulate)
    for loop in loops:
        _refuse_open_loop(loop)
    _refuse_joined(bed, loops)
    for i, event in enumerate(bed.simulation.events if simulate else ()):
        hit = getattr(event, "device", None)
        if hit is not None and hit not in simulate:
            expected = "a simulated device: nothing can be done to a real one"
            raise InputError(key=f"simulation.events.{i}.device", value=hit, expected=expected)
    for name, device in bed.devices_of(Pressure).items():
        supplied = device.supplied(bed)
        if name not in simulate and supplied in simulate:
            problem = f"{supplied} simulated, but {name} real: no simulated valve empties its tank"
            raise InputError(problem, key="simulate", expected=f"{name} too")


def unmeasured_actuators(bed: Testbed, simulate: Collection[str]) -> list[str]:
    """The real actuators whose motion no real sensor measures, in a run with simulated devices."""
    names = [name for loop in module_loops(bed, simulate) if not loop.real_sensors for name in loop.real_actuators]
    return list(dict.fromkeys(names)) if simulate else []


def _refuse_open_loop(loop: ModuleLoop) -> None:
    module, real = loop.module, _listed(loop.real_sensors)
    if not loop.real_sensors:
        return
    if loop.simulated_actuators:
        problem = f"{_listed(loop.simulated_actuators)} of '{module}' simulated, but {real} real"
        expected = f"{real} simulated too, or all devices of '{module}' real"
        raise InputError(f"{problem}: nothing moves what is measured", key="simulate", expected=expected)
    if loop.simulated_sensors:
        problem = f"{_listed(loop.simulated_sensors)} of '{module}' simulated, but {real} real"
        why = "the real module and the plant's would drift apart"
        raise InputError(f"{problem}: {why}", key="simulate", expected=f"all sensors of '{module}' real, or none")


def _refuse_joined(bed: Testbed, loops: Sequence[ModuleLoop]) -> None:
    """A contact holds the two sides together in the lab or in the plant, not one here and one there."""
    measured = {loop.module: _listed(loop.real_sensors) for loop in loops if loop.real_sensors}
    simulated = {loop.module for loop in loops if loop.is_simulated}
    for contact in bed.contacts:
        for one, other in ((contact.first, contact.second), (contact.second, contact.first)):
            if one.module in measured and other.module in simulated:
                problem = f"contact '{contact.name}' joins what {measured[one.module]} measures to a simulated module"
                expected = f"the devices of '{one.module}' and '{other.module}' all real, or all simulated"
                raise InputError(problem, key="simulate", expected=expected)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))
