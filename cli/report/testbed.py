"""Description of a testbed and of its simulated lab, its live gains and responses to faults, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table

from granite.config.behaviour import TorqueProfile
from granite.config.contacts import Side
from granite.config.controller import YawWheel
from granite.config.devices.device import Device
from granite.config.errors import shown
from granite.config.events import TimedEvent
from granite.config.modules import Module
from granite.config.overrides import leaves
from granite.config.parts import PartTable
from granite.config.responses import FAULTS
from granite.config.start import initial_motion
from granite.config.testbed import Testbed
from granite.controllers.model import ControlModel
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.kind import directions_in
from granite.mrds.system import System
from granite.views.table import table, vector

#: options of drivers that say where a device is
_ADDRESS_KEYS = ("port", "address", "server", "source")


def bed_tables(bed: Testbed, whole: bool = True) -> Iterator[Table]:
    """Modules, contacts, devices and control; `InputError` where a contact is of unknown kind or does not fit it.

    The whole has what may change in a run, and the response to every fault, too.
    """
    System(bed.modules, bed.contacts)
    yield table(bed.title, ("body", "mass [kg]", "inertia [kg m2]", "carried by"), _bodies(bed), sentences=1)
    if links := list(_flexible_links(bed)):
        columns: tuple[str, ...] = (
            "flexible link", "length [m]", "density [kg/m]", "stiffness [N m2]", "modes", "shapes",
        )  # fmt: skip
        yield table("Flexible links", columns, links, sentences=1)
    columns = ("coordinate", "unit", "start", *_law_columns(bed))
    yield table("Degrees of freedom", columns, _freedoms(bed))
    if bed.contacts:
        columns = ("contact", "kind", "first", "second", "holds", "parameters")
        yield table("Contacts", columns, _contacts(bed), sentences=4)
    if devices := list(_devices(bed)):
        yield table("Devices", ("device", "kind", "what it is"), devices, sentences=1)
    yield table("Control" if bed.controller else "Behaviour", ("what", "value"), _control(bed), sentences=1)
    if whole:
        yield from operation_tables(bed)
    if differences := list(lab_rows(bed)):
        yield table("Simulated lab", ("what", "value"), differences, sentences=1)


def _named(bed: Testbed, module: Module, name: str) -> str:
    """Name of a part of a module: with the module's name where there are several."""
    return f"{module.name}_{name}" if len(bed.modules) > 1 else name


def _bodies(bed: Testbed) -> Iterator[tuple[str, ...]]:
    for module in bed.modules:
        carried = {j.child: j for j in module.joints}
        for body in module.in_tree_order():
            moments = body.inertia_kg_m2
            inertia = f"{moments:g}" if isinstance(moments, float) else " ".join(f"{m:g}" for m in moments)
            if body.flexible:
                inertia = f"hub {inertia}" if body.mass_kg or moments else "flexible"
            mass = body.mass_kg + (body.flexible.mass_kg if body.flexible else 0.0)
            joint = carried.get(body.name)
            by = f"{joint.kind} {joint.name} on {joint.parent}" if joint else f"{module.base}, {module.dimension}"
            yield _named(bed, module, body.name), f"{mass:g}", inertia, by


def _flexible_links(bed: Testbed) -> Iterator[tuple[str, ...]]:
    for module in bed.modules:
        for body in module.in_tree_order():
            if (link := body.flexible) is None:
                continue
            stiffness = {
                "EI": link.ei_n_m2,
                "EIy": link.eiy_n_m2,
                "EIz": link.eiz_n_m2,
                "GJ": link.gj_n_m2,
                "EA": link.ea_n,
            }
            counts = {"y": link.modes_y, "z": link.modes_z, "twist": link.modes_x, "stretch": link.modes_stretch}
            more: list[str] = [link.shapes]
            more += [f"damping ratio {link.damping_ratio:g}"] if link.damping_ratio else []
            more += [f"material damping {link.material_damping_s:g} s"] if link.material_damping_s else []
            more += [f"{link.tip_mass_kg:g} kg at the tip"] if link.tip_mass_kg else []
            more += ["rotary inertia"] if link.rotary_inertia else []
            more += [] if link.foreshortening else ["no foreshortening"]
            yield (
                _named(bed, module, body.name),
                f"{link.length_m:g}",
                f"{link.line_density_kg_m:g}",
                ", ".join(f"{name} {value:.5g}" for name, value in stiffness.items() if value is not None),
                ", ".join(f"{n} {axis}" for axis, n in counts.items() if n) or "none",
                ", ".join(more),
            )


def _freedoms(bed: Testbed) -> Iterator[tuple[str, ...]]:
    """Every position; and velocities with an initial value, or with a number of the law that no position has."""
    initial, shown = bed.simulation.initial, {q.name for q in bed.positions}
    columns = _law_columns(bed)
    tuned = {name for column in columns.values() for name in column}
    rates = [u for u in bed.velocities if u.key in initial or (u.name in tuned and u.name not in shown)]
    q, u = initial_motion(bed)
    starts = dict(zip((*bed.positions, *bed.velocities), (*q.tolist(), *u.tolist()), strict=True))
    for c in (*bed.positions, *rates):
        hidden = c in rates and c.name in shown
        numbers = (None if hidden else column.get(c.name) for column in columns.values())
        yield c.name, c.unit, f"{starts[c]:g}", *map(_cell, numbers)


def _cell(number: float | str | None) -> str:
    return "-" if number is None else number if isinstance(number, str) else f"{number:g}"


def _law_columns(bed: Testbed) -> Mapping[str, Mapping[str, float | str]]:
    return bed.controller.law.columns(bed) if bed.controller else {}


def _contacts(bed: Testbed) -> Iterator[tuple[str, ...]]:
    planar = bed.planar
    for contact in bed.contacts:
        kind = kind_of(contact.kind)
        given = ", ".join(f"{name} = {value:g}" for name, value in contact.parameters.items())
        extra = ", one-sided" if kind.one_sided else ", by springs" if contact.compliance else ""
        holds = ", ".join(directions_in(kind.held, planar)) + extra
        yield contact.name, contact.kind, _side(contact.first), _side(contact.second), holds, given or "-"


def _side(side: Side) -> str:
    return f"ground at {vector(side.position_m)} m" if side.grounded else f"{side.module} {side.point}"


def _devices(bed: Testbed) -> Iterator[tuple[str, str, str]]:
    for name, device in bed.devices.items():
        lines = device.describe(bed) if isinstance(device, Device) else ["its code is not available"]
        lines[1:1] = _simulated_without_errors(device)
        lines = [*lines, f"driver: {_driver(getattr(device, 'driver', None))}"]
        lines = [*lines, *(f"calibrated: {c.kind}, {c.date}, {c.file}" for c in getattr(device, "calibration", ()))]
        for i, line in enumerate(lines):
            yield (name, device.kind, line) if i == 0 else ("", "", line)


def _driver(driver: PartTable | None) -> str:
    """The kind of a driver, and where its device is."""
    if driver is None:
        return "none (simulated)"
    addresses = (getattr(driver, key, None) for key in _ADDRESS_KEYS)
    return " ".join([driver.kind, *(str(address) for address in addresses if address is not None)])


def _simulated_without_errors(device: object) -> Iterator[str]:
    """A note where the simulated device has none of the errors of its data sheet, which controllers still assume."""
    for word in ("perfect", "ideal"):
        if getattr(getattr(device, "simulated", None), word, False):
            yield f"simulated as {word}: the numbers above are of the data sheet"


def _control(bed: Testbed) -> Iterator[tuple[str, str]]:
    yield "loop", f"{1 / bed.loop.period_s:g} Hz for {bed.loop.duration_s:g} s, overrun: {bed.loop.overrun}"
    if bed.controller:
        yield "controlled", ", ".join(module.name for module in bed.controlled)
        if bed.controller.objects:
            yield "known objects", ", ".join(bed.controller.objects)
        yield "estimator", _part(bed.controller.estimator)
        yield "law", bed.controller.law.kind
        if ignored := ControlModel(bed).ignored:
            names = ", ".join(contact.name for contact in ignored)
            yield "contacts not in the model", f"{names}: their forces are disturbances to the controllers"
    if bed.controller and bed.thrusters:
        yield "thruster sharing", _part(bed.controller.allocation.sharing)
        yield "valve modulation", _part(bed.controller.allocation.modulation)
        if wheel := bed.controller.allocation.yaw_wheel:
            yield "yaw wheel", _yaw_wheel(wheel)
        yield "torques re-solved", f"{'yes' if bed.controller.resolve_delivered else 'no'}, for the delivered thrust"
    if bed.controller:
        yield "behaviour", bed.behaviour.kind
    for i, waypoint in enumerate(getattr(bed.behaviour, "waypoints", ())):
        target = ", ".join(f"{key} = {value:g}" for key, value in waypoint.target.items())
        ramp = f", ramps of {waypoint.ramp_s:g} s" if waypoint.ramp_s else ""
        yield f"waypoint {i + 1}", f"in {waypoint.duration_s:g} s{ramp}, hold {waypoint.hold_s:g} s: {target}"
    if bed.controller is None and not bed.torques:
        yield "torques", "none: everything moves freely"
    for joint, profile in bed.torques.items():
        yield f"torque of {joint}", _profile(profile)
    for hold in bed.holds:
        yield f"from {hold.from_s:g} s", f"closed: {', '.join(hold.closed) or 'no contact'}"
    yield "seed", str(bed.seed)


def _part(options: PartTable) -> str:
    """A part and its options."""
    given = options.model_dump(exclude={"kind"}, exclude_none=True)
    return ", ".join([options.kind, *(f"{key} {shown(value)}" for key, value in given.items())])


def _yaw_wheel(wheel: YawWheel) -> str:
    return (
        f"{wheel.joint} turns the vehicle; thrusters unload it with {wheel.torque_n_m:g} N m "
        f"from {wheel.begin_ratio:g} to {wheel.end_ratio:g} of its rate limit from {wheel.set_point_rad_s:g} rad/s"
    )


def _profile(torque: TorqueProfile) -> str:
    """A torque over time as a formula."""
    terms = [f"{torque.offset_n_m:g}"] if torque.offset_n_m else []
    if torque.amplitude_n_m:
        phase = f" {torque.phase_rad:+g}" if torque.phase_rad else ""
        amplitude = f"{torque.amplitude_n_m:+g}" if terms else f"{torque.amplitude_n_m:g}"
        terms.append(f"{amplitude} sin(2 pi t / {torque.period_s:g} s{phase})")
    until = f" until {torque.until_s:g} s" if torque.until_s is not None else ""
    since = f" from {torque.from_s:g} s" if torque.from_s or until else ""
    return f"{' '.join(terms) or '0'} N m{since}{until}"


def lab_rows(bed: Testbed) -> Iterator[tuple[str, str]]:
    """An ideal table, every difference and every event, as a name and a sentence."""
    if bed.simulation.table.ideal:
        yield "table", "simulated as ideal: level, without drag"
    for path, value in leaves(dict(bed.simulation.plant)):
        yield f"plant {'.'.join(path)}", f"{shown(value)}, which the controllers do not know"
    for event in sorted(bed.simulation.events, key=lambda event: event.at_s):
        yield f"from {event.at_s:g} s", _event(event)


def _event(event: TimedEvent) -> str:
    """The kind of the event and its values that were given."""
    given = event.model_dump(exclude={"kind", "at_s"}, exclude_defaults=True)
    return ", ".join([event.kind, *(f"{key} {shown(value)}" for key, value in given.items())])


def operation_tables(bed: Testbed) -> Iterator[Table]:
    """Nothing without a controller: then every fault ends the run at once."""
    if bed.controller is None:
        return
    gains = [
        (gain.name, gain.unit, f"{gain.value:g}", f"{gain.lower:g} to {gain.upper:g}")
        for gain in bed.controller.law.live_gains(bed)
    ]
    if gains:
        yield table("Gains that may change in a run", ("gain", "unit", "value", "bounds"), gains)
    columns = "fault", "response", "noticed when"
    yield table("Faults, and who clears a hold or a float", columns, _faults(bed), sentences=2)


def _faults(bed: Testbed) -> Iterator[tuple[str, ...]]:
    for name, fault in FAULTS.items():
        answer = bed.safety.answer(name)
        clears = f" ({answer.cleared_by})" if answer.response in ("hold", "float") else ""
        lasting = f" after {answer.lasting_s:g} s" if answer.lasting_s else ""
        yield name, f"{answer.response}{clears}{lasting}", fault.noticed
