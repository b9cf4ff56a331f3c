"""Whether the parts of a testbed fit together: names that are referred to exist, and every part has what it needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from granite.config import coordinates
from granite.config.base import refuse_twice
from granite.config.contacts import GROUND, Contact
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.devices.momentum_wheel import MomentumWheels
from granite.config.devices.motors import Motors
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.footprints import refuse_odd_zones
from granite.config.parts import find, own_code
from granite.config.payload import refuse_payload

if TYPE_CHECKING:
    from granite.config.controller import Controller
    from granite.config.testbed import Testbed

GRIPS = "grips"
#: shortest physics step, as a part of the loop's period: each takes about a microsecond
_FINEST = 1e-4


def refuse_misfits(bed: Testbed, *, looked_up: bool) -> None:
    """Raise where parts of a testbed do not fit together.

    Parameters
    ----------
    bed
        The testbed, each of whose tables is right by itself.
    looked_up
        Whether it is from a log: its contact kinds were found before its run.

    Raises
    ------
    InputError
        With the key of the part that does not fit.
    """
    _check_modules(bed)
    _check_contacts(bed, looked_up)
    _check_contact_names(bed)
    if not bed.is_opaque:
        _check_devices(bed)
        if bed.controller is None:
            _check_without_controller(bed)
        else:
            _check_controller(bed, bed.controller)
        _check_coordinates(bed)
    refuse_odd_zones(bed)
    _check_physics_step(bed)


def _check_modules(bed: Testbed) -> None:
    refuse_twice("modules", "module", [m.name for m in bed.modules])
    refuse_twice("contacts", "contact", [c.name for c in bed.contacts])
    for module in bed.modules:
        if not coordinates.velocities(module):
            raise InputError(
                "no part of the module can move",
                key=f"modules.{module.name}.base", value="fixed", expected="'floating' or a joint",
            )  # fmt: skip
    first, *others = bed.modules
    for module in others:
        if module.dimension != first.dimension:
            key = f"modules.{module.name}.dimension"
            expected = f"'{first.dimension}' as of the others"
            raise InputError(key=key, value=module.dimension, expected=expected)
    refuse_twice("modules", "coordinate", [c.name for c in bed.positions])


def _check_contacts(bed: Testbed, looked_up: bool) -> None:
    """Kinds, modules and points of the contacts."""
    points = {m.name: [p.name for p in m.points] for m in bed.modules}
    for contact in bed.contacts:
        if not looked_up:
            _find_contact(contact)
        for side, end in (("first", contact.first), ("second", contact.second)):
            key = f"contacts.{contact.name}.{side}"
            if end.grounded:
                continue
            if end.module not in points:
                expected = one_of(end.module, [*points, GROUND])
                raise InputError("no such module", key=f"{key}.module", value=end.module, expected=expected)
            if end.point not in points[end.module]:
                expected = one_of(str(end.point), points[end.module])
                raise InputError("no such point", key=f"{key}.point", value=end.point, expected=expected)


def _find_contact(contact: Contact) -> None:
    try:
        find("contact", contact.kind)
    except InputError as refusal:
        raise refusal.within(f"contacts.{contact.name}") from None


def _check_contact_names(bed: Testbed) -> None:
    """The contacts that the behaviour closes and opens."""
    names = [c.name for c in bed.contacts]
    for i, hold in enumerate(bed.holds):
        key = f"behaviour.holds.{i}.closed"
        refuse_twice(key, "contact", hold.closed)
        for name in hold.closed:
            if name not in names:
                raise InputError(f"no contact '{name}'", key=key, value=hold.closed, expected=one_of(name, names))
    for closed in getattr(bed.behaviour, "contact_sets", ()):
        for name in closed:
            if name not in names:
                problem = f"the behaviour names contact '{name}'"
                key = "behaviour"
                raise InputError(problem, key=key, value=bed.behaviour.kind, expected=one_of(name, names))


def _check_devices(bed: Testbed) -> None:
    for name, device in bed.devices.items():
        if isinstance(device, Device):
            try:
                with own_code(device.kind):
                    device.check(bed)
                    _check_signals(device, bed)
            except InputError as refusal:
                raise refusal.within(f"devices.{name}") from None
        else:
            key, expected = f"devices.{name}.kind", "a subclass of Device"
            raise InputError("not a table of a device", key=key, value=device.kind, expected=expected)
    if bed.switches and not any(device.kind == GRIPS for device in bed.devices.values()):
        raise InputError.missing(f"devices.{GRIPS}", "grips, because the behaviour closes and opens contacts")
    refuse_twice("devices", "a motor on joint", [motor.joint for motor in bed.motors])
    _check_transmissions(bed)
    for name in bed.safety.age_s:
        if name not in bed.sensors:
            raise InputError("no such sensor", key=f"safety.age_s.{name}", expected=one_of(name, bed.sensors))


def _check_transmissions(bed: Testbed) -> None:
    """Refuse a joint without a motor of its own, wheels, and gears, whose numbers are counted at one joint."""
    driving = {unit.joint: device for device in bed.devices_of(Motors).values() for unit in device.units}
    for module in bed.modules:
        for i, joint in enumerate(module.transmission.joints if module.transmission else ()):
            key, device = f"modules.{module.name}.transmission.joints.{i}", driving.get(bed.layout.name(module, joint))
            problem = "its simulated motor has a gear" if device and device.simulated.gear else ""
            if device is None:
                problem = "no motor bears its name"
            elif isinstance(device, MomentumWheels):
                problem = "its motor turns a wheel"
            if problem:
                raise InputError(problem, key=key, value=joint, expected="a joint with a motor and no gear of its own")


def _check_signals(device: Device, bed: Testbed) -> None:
    """Refuse a device without a role or named signals, or whose bounds are not those of its signals."""
    if getattr(device, "role", None) not in ("sensor", "actuator"):
        raise InputError("its role is not named", key="kind", value=device.kind, expected="'sensor' or 'actuator'")
    signals = device.signals(bed)
    if not all(isinstance(signal, Coordinate) for signal in signals):
        raise InputError("its signals are not named", key="kind", value=device.kind, expected="Coordinate(name, unit)")
    if device.role == "actuator":
        bounds = device.bounds(bed)
        if len(bounds) != len(signals) or not all(lower < upper for lower, upper in bounds):
            expected = f"a lower and a greater upper bound for each of {len(signals)} signals"
            raise InputError("its bounds do not fit", key="kind", value=device.kind, expected=expected)


def _check_controller(bed: Testbed, controller: Controller) -> None:
    """Modules, actuators and limits of the controller, and what its law needs."""
    _check_controlled(bed, controller)
    joints = bed.known.joints  # the guard judges the estimate
    for i, limit in enumerate(bed.safety.joints):
        if limit.joint not in joints:
            key = f"safety.joints.{i}.joint"
            expected = one_of(limit.joint, joints)
            raise InputError("no such joint", key=key, value=limit.joint, expected=expected)
    limits = {"residual_n": "m/s", "disturbance_n": "m/s"}
    limits |= dict.fromkeys(("residual_n_m", "disturbance_n_m", "gain_evidence_n_m"), "rad/s")
    for key, unit in limits.items():
        named = [c.name for c in bed.known.velocities if c.unit == unit]
        for name in getattr(bed.safety.monitor, key):
            if name not in named:
                where = f"safety.monitor.{key}.{name}"
                raise InputError("no such coordinate", key=where, expected=one_of(name, named))
    if bed.torques:
        problem = f"given for {', '.join(bed.torques)}"
        raise InputError(problem, key="behaviour.torques", expected="none beside a controller")
    check = getattr(find("law", controller.law.kind), "check", None)
    if check is not None:
        try:
            check(controller.law, bed)
        except InputError as refusal:
            raise refusal.within("controller.law") from None


def _check_controlled(bed: Testbed, controller: Controller) -> None:
    """The modules and objects that are named, and that every actuator is on a controlled module."""
    names = [module.name for module in bed.modules]
    for key in ("modules", "objects"):
        for i, name in enumerate(getattr(controller, key)):
            if name not in names:
                where, expected = f"controller.{key}.{i}", one_of(name, names)
                raise InputError("no such module", key=where, value=name, expected=expected)
    if not bed.controlled:
        raise InputError(
            "no module has an actuator", key="controller", expected="motors or thrusters, or controller.modules"
        )
    controlled = [module.name for module in bed.controlled]
    for i, name in enumerate(controller.objects):
        if name in controlled:
            key = f"controller.objects.{i}"
            raise InputError("it is controlled", key=key, value=name, expected="a module without actuators")
    for name, device in bed.devices_of(Thrusters).items():
        if device.pushed(bed).name not in controlled:
            raise _not_controlled(f"devices.{name}.module", device.pushed(bed).name, controlled)
    for name, motors in bed.devices_of(Motors).items():
        for i, motor in enumerate(motors.units):
            if bed.layout.module_of(motor.joint).name not in controlled:
                raise _not_controlled(f"devices.{name}.units.{i}.joint", motor.joint, bed.known.joints)
    if controller.payload is not None:
        refuse_payload(bed, controller.payload)


def _not_controlled(key: str, value: str, names: Iterable[str]) -> InputError:
    return InputError("not of a controlled module", key=key, value=value, expected=one_of(value, names))


def _check_without_controller(bed: Testbed) -> None:
    """Refuse keys that need a controller."""
    for key, value in (
        ("devices.thrusters", bed.thrusters),
        ("behaviour.waypoints", getattr(bed.behaviour, "waypoints", ())),
        ("safety.joints", bed.safety.joints),
    ):
        if value:
            raise InputError.missing("controller", f"a table, because {key} needs one")
    driven = [motor.joint for motor in bed.motors]
    for joint in bed.torques:
        if joint not in driven:
            key = f"behaviour.torques.{joint}"
            expected = one_of(joint, driven)
            raise InputError("no motor there", key=key, expected=expected)


def _check_coordinates(bed: Testbed) -> None:
    keys = [c.key for c in bed.known.positions]
    for i, waypoint in enumerate(getattr(bed.behaviour, "waypoints", ())):
        _refuse_unknown(f"behaviour.waypoints.{i}.target", waypoint.target, keys)
    keys = [c.key for c in (*bed.positions, *bed.velocities)]
    _refuse_unknown("simulation.initial", bed.simulation.initial, keys)


def _refuse_unknown(key: str, values: Mapping[str, float], names: list[str]) -> None:
    for name, value in values.items():
        if name not in names:
            raise InputError("no such coordinate", key=f"{key}.{name}", value=value, expected=one_of(name, names))


def _check_physics_step(bed: Testbed) -> None:
    """Whole physics steps fill the period of the loop."""
    step, period = bed.simulation.physics_step_s, bed.loop.period_s
    expected = None
    if step > period * (1 + 1e-9):
        expected = f"at most loop.period_s = {period}"
    elif step < period * _FINEST:
        expected = f"at least {_FINEST:g} of loop.period_s = {period}"
    elif abs(math.remainder(period, step)) > 1e-9 * period:
        whole = f"{period / math.ceil(period / step):.6g}"
        expected = f"a whole number of steps in loop.period_s = {period}, for instance {whole}"
    if expected is not None:
        raise InputError(key="simulation.physics_step_s", value=step, expected=expected)
