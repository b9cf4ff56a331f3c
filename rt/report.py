"""Tables for people: testbeds, runs, replays and what the machine allows.

They read the same on a narrow terminal and in a pipe: a name or a number is never cut, only sentences are wrapped.
Where even that does not fit, the table is wider than the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from config.behaviour import TorqueProfile
from config.contacts import Side
from config.modules import Module
from config.testbed import Testbed
from mrds.contacts import KINDS
from mrds.contacts.kind import known
from mrds.modes import Mode
from mrds.system import System
from rt.doctor import Finding
from rt.replay import Replay

#: a word of a sentence may be broken if it is longer than this
_LONGEST_WORD = 40
#: of a mode, the coordinates that move most, if they move at least this much
_SHAPE_PARTS, _SHAPE_LEAST = 6, 1e-3
#: of what happened to contacts, so much is told
_CHANGES = 20
#: between columns
_GAP = 2


def put(console: Console, tables: Iterable[Table]) -> None:
    """Print tables, each with an empty line after it; the console is too narrow for some, and these get their width."""
    for table in tables:
        least = sum(column.min_width or 0 for column in table.columns) + _GAP * (len(table.columns) - 1)
        if least > console.width:
            table.width = least
        console.print(table, crop=False)
        console.print()


def beds_table(beds: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]) -> Table:
    """Presets and variants."""
    rows = []
    for name, title, variants in beds:
        rows.append((name, title))
        rows += [(f"{name}/{variant}", text) for variant, text in variants]
    return _table("Testbeds", ("bed", "what it is"), rows, sentences=1)


def bed_tables(bed: Testbed) -> Iterator[Table]:
    """What a testbed is; `InputError` where a contact is of no kind, or not as its kind asks for."""
    System(bed.modules, bed.contacts)
    yield _table(bed.title, ("body", "mass [kg]", "inertia [kg m2]", "carried by"), _bodies(bed), sentences=1)
    if links := list(_flexible_links(bed)):
        columns: tuple[str, ...] = (
            "flexible link", "length [m]", "density [kg/m]", "stiffness [N m2]", "modes", "shapes",
        )  # fmt: skip
        yield _table("Flexible links", columns, links, sentences=1)
    columns = ("coordinate", "unit", "start", *(("stiffness [1/s2]", "damping [1/s]") if bed.controller else ()))
    yield _table("Degrees of freedom", columns, _freedoms(bed))
    if bed.contacts:
        columns = ("contact", "kind", "first", "second", "holds", "parameters")
        yield _table("Contacts", columns, _contacts(bed), sentences=4)
    if devices := list(_devices(bed)):
        yield _table("Devices", ("device", "what it is"), devices, sentences=1)
    yield _table("Control" if bed.controller else "Behaviour", ("what", "value"), _control(bed), sentences=1)


def run_tables(summary: dict[str, Any]) -> Iterator[Table]:
    """The summary of a run."""
    if summary.get("tracking_error"):
        estimated = summary["estimation_error"]
        title = f"Tracking error against the {summary['measured_against']}"
        columns = ["coordinate", "unit", "largest", "rms", "last 5 s"]
        if estimated:
            title += ", and largest error of the estimate"
            columns.append("estimate")
        rows = []
        for name, error in summary["tracking_error"].items():
            errors = [error["max"], error["rms"], error["max_in_last_5_s"]]
            errors += [estimated[name]["max"]] if estimated else []
            rows.append((name, error["unit"], *(_number(e, ".2e") for e in errors)))
        yield _table(title, columns, rows)
    yield from _contact_tables(summary)
    if "audit" in summary:
        yield _audit_table(summary["audit"])
    if "timing" in summary:
        rows = [
            (name, *(f"{times[key]:.1f}" for key in ("median_us", "p99_us", "max_us")))
            for name, times in summary["timing"].items()
        ]
        yield _table("Time of each step", ("step", "median [us]", "99 % [us]", "largest [us]"), rows)
    yield _table("Run", ("what", "value"), _outcome(summary), sentences=1)


def replay_lines(result: Replay, complete: bool) -> Iterator[str]:
    """What a replay found."""
    if result.first is not None:
        d = result.first
        yield (
            f"first difference at tick {d.tick} (t = {d.t:.6f} s): {d.topic} {d.key} was {d.logged!r}, "
            f"is now {d.replayed!r}"
        )
    elif result.ticks == 0:
        yield "nothing replayed: the first rows of the run are missing in the log"
    else:
        yield f"identical to the bit: {result.ticks} ticks, {result.values} values"
        if result.gap is not None:
            yield f"rows are missing in the log after tick {result.gap}: replayed up to there"
    if not complete:
        yield "the log is cut: it was replayed up to its last whole row"


def modes_table(bed: Testbed, modes: Sequence[Mode]) -> Table:
    """Frequencies, damping, and what moves most in each mode."""
    rows = []
    for i, mode in enumerate(modes, start=1):
        most = sorted(mode.shape.items(), key=lambda part: -abs(part[1]))[:_SHAPE_PARTS]
        shape = ", ".join(f"{name} {part.real:.3g}" for name, part in most if abs(part) > _SHAPE_LEAST)
        pace = "-" if mode.rigid else f"{mode.frequency:.6g}"
        damping = round(mode.damping_ratio, 9) + 0.0  # minus zero is zero
        kind = "rigid" if mode.rigid else "unstable" if mode.unstable else f"{damping:.4g}"
        rows.append((str(i), pace, kind, shape))
    title = f"Modes of {bed.name} about its start"
    return _table(title, ("mode", "frequency [Hz]", "damping ratio", "shape"), rows, sentences=1)


def doctor_table(findings: Sequence[Finding]) -> Table:
    """What the machine allows."""
    colour = {"ok": "green", "limited": "yellow", "missing": "red"}
    rows = [
        (f.name, Text(f.status, colour[f.status]), f"{f.found}\n{f.advice}" if f.advice else f.found) for f in findings
    ]
    return _table("This machine", ("what", "status", "found, and what to do about it"), rows, sentences=1)


def _outcome(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "ended", f"{summary['ended']}: {summary['text']}"
    if "duration_s" not in summary:
        return
    took = f"{summary['duration_s']:g} s in {summary['wall_s']:.2f} s ({summary['real_time_factor']:.1f} x)"
    yield "time", took
    if (used := summary["propellant"])["by_thruster_n_s"]:
        impulse, mass = _number(used["impulse_n_s"], ".2f"), _number(used["mass_g"], ".1f")
        yield "propellant", f"{impulse} N s, {mass} g, {used['pulses']} pulses"
    yield "guard", ", ".join(f"{name} {n}" for name, n in summary["guard"].items())
    yield "overruns", str(summary["overruns"])
    yield "rows lost", str(summary["rows_lost"])
    for name, answer in summary["asked_of_the_system"].items():
        if answer.startswith("refused"):
            yield name, answer
    yield "model", summary["model"]


def _contact_tables(summary: dict[str, Any]) -> Iterator[Table]:
    """What the contacts bore, and what happened to them."""
    if contacts := summary.get("contacts"):
        rows = [
            (name, *(_number(borne[key]["max"], ".4g") for key in ("force", "moment")), f"{borne['closed_s']:g}")
            for name, borne in contacts.items()
        ]
        yield _table("Contacts", ("contact", "largest force [N]", "largest moment [N m]", "closed for [s]"), rows)
    if squeeze := summary.get("squeeze"):
        rows = [(name, _number(size["max"], ".4g"), size["unit"]) for name, size in squeeze.items()]
        yield _table("Squeeze", ("module", "largest", "in"), rows)
    if switching := summary.get("switching"):
        rows = []
        for change in switching[:_CHANGES]:
            impulse, lost = (_number(change[key], ".3g") for key in ("impulse", "energy_lost_j"))
            rows.append((f"{change['t_s']:.6g}", change["contact"], change["what"], impulse, lost))
        title, n = "What happened to the contacts", len(switching)
        title += f", the first {_CHANGES} of {n} times" if n > _CHANGES else ""
        yield _table(title, ("time [s]", "contact", "what", "impulse [N s]", "energy lost [J]"), rows)


def _audit_table(audit: dict[str, Any]) -> Table:
    rows = []
    for name, check in audit["checks"].items():
        held = Text("yes", "green") if check["held"] else Text("NO", "red")
        rows.append((name, _number(check["largest"], ".2e"), f"{check['limit']:g}", held, check["unit"]))
    title = f"Audit: {'everything held' if audit['held'] else 'something did NOT hold'}"
    return _table(title, ("check", "largest", "limit", "held", "in"), rows, sentences=1)


def _named(bed: Testbed, module: Module, name: str) -> str:
    """A part of a module, called as its coordinates are: with the module's name where there are several."""
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
            stiffness = {"EI": link.ei_n_m2, "EIy": link.eiy_n_m2, "EIz": link.eiz_n_m2, "GJ": link.gj_n_m2}
            counts = {"y": link.modes_y, "z": link.modes_z, "twist": link.modes_x}
            more: list[str] = [link.shapes]
            more += [f"damping ratio {link.damping_ratio:g}"] if link.damping_ratio else []
            more += [f"material damping {link.material_damping_s:g} s"] if link.material_damping_s else []
            more += [f"{link.tip_mass_kg:g} kg at the tip"] if link.tip_mass_kg else []
            yield (
                _named(bed, module, body.name),
                f"{link.length_m:g}",
                f"{link.line_density_kg_m:g}",
                ", ".join(f"{name} {value:.5g}" for name, value in stiffness.items() if value is not None),
                ", ".join(f"{n} {axis}" for axis, n in counts.items() if n) or "none",
                ", ".join(more),
            )


def _freedoms(bed: Testbed) -> Iterator[tuple[str, ...]]:
    """Every position; and velocities that start with a value, or have a gain that no position shows."""
    initial, shown = bed.simulation.initial, {q.name for q in bed.positions}
    gains = {u.name: bed.gain(u.name) for u in bed.estimated_velocities}
    rates = [u for u in bed.velocities if u.key in initial or (u.name in gains and u.name not in shown)]
    for c in (*bed.positions, *rates):
        # An unturned quaternion is (1, 0, 0, 0): its first is the one coordinate that does not start at zero by itself.
        start = initial.get(c.key, 1.0 if c.unit == "1" and c.name.endswith("_qw") else 0.0)
        gain = None if c in rates and c.name in shown else gains.get(c.name)
        tuned = (f"{gain.stiffness_1_s2:g}", f"{gain.damping_1_s:g}") if gain else ("-", "-")
        yield c.name, c.unit, f"{start:g}", *(tuned if bed.controller else ())


def _contacts(bed: Testbed) -> Iterator[tuple[str, ...]]:
    planar = bed.robot.dimension == "planar"
    for contact in bed.contacts:
        kind = KINDS[contact.kind]
        given = ", ".join(f"{name} = {value:g}" for name, value in contact.parameters.items())
        holds = ", ".join(known(kind.held, planar)) + (", one-sided" if kind.one_sided else "")
        yield contact.name, contact.kind, _side(contact.first), _side(contact.second), holds, given or "-"


def _side(side: Side) -> str:
    return f"ground at {_vector(side.position_m)} m" if side.grounded else f"{side.module} {side.point}"


def _devices(bed: Testbed) -> Iterator[tuple[str, str]]:
    devices = bed.devices
    if s := devices.joint_sensors:
        yield (
            "joint sensors",
            f"{', '.join(s.joints)}: noise {s.angle_noise_rad:g} rad, {s.converter_bits} bit over {s.range_rad:g} rad, "
            f"rate filter {s.filter_a_rad_s:g}, {s.filter_b_rad_s:g} rad/s",
        )
    if v := devices.vision:
        yield (
            "vision",
            f"{v.body} at {v.rate_hz:g} Hz, {v.latency_s * 1e3:g} ms late, "
            f"noise {v.position_noise_m:g} m, {v.heading_noise_rad:g} rad",
        )
    for motor in devices.motors:
        yield "motor", f"{motor.joint}: up to {motor.torque_limit_n_m:g} N m"
    if devices.thrusters:
        valve = devices.thrusters.valve
        delay, rise, shortest = (f"{x * 1e3:g} ms" for x in (valve.delay_s, valve.rise_s, valve.minimum_on_s))
        yield "valves", f"delay {delay}, rise {rise}, shortest pulse {shortest}"
        for unit in devices.thrusters.units:
            what = f"{unit.thrust_n:g} N along {_vector(unit.direction)} at {_vector(unit.position_m)} m"
            yield "thruster", f"{unit.name}: {what}{', FAILED' if unit.failed else ''}"


def _control(bed: Testbed) -> Iterator[tuple[str, str]]:
    yield "loop", f"{1 / bed.loop.period_s:g} Hz for {bed.loop.duration_s:g} s, overrun: {bed.loop.overrun}"
    if bed.controller and bed.controller.allocation:
        a = bed.controller.allocation
        level = f" at {a.threshold:g} of the thrust" if a.modulation == "threshold" else ""
        yield "thruster allocation", f"{a.method}, {a.modulation}{level}"
        yield "torques re-solved", f"{'yes' if bed.controller.resolve_delivered else 'no'}, for the delivered thrust"
    for i, waypoint in enumerate(bed.behaviour.waypoints):
        target = ", ".join(f"{key} = {value:g}" for key, value in waypoint.target.items())
        yield f"waypoint {i + 1}", f"in {waypoint.duration_s:g} s, hold {waypoint.hold_s:g} s: {target}"
    if bed.controller is None and not bed.behaviour.torques:
        yield "torques", "none: everything moves freely"
    for joint, profile in bed.behaviour.torques.items():
        yield f"torque of {joint}", _profile(profile)
    for hold in bed.behaviour.holds:
        yield f"from {hold.from_s:g} s", f"closed: {', '.join(hold.closed) or 'no contact'}"
    yield "seed", str(bed.seed)


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


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)  # null in a summary: there is none, or it was not finite


def _vector(values: Sequence[float]) -> str:
    return f"[{', '.join(f'{x:g}' for x in values)}]"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], sentences: int = 0) -> Table:
    """A table of names and numbers; so many of its last columns hold sentences, which may be wrapped."""
    filled = list(rows)
    table = Table(
        title=title, title_justify="left", title_style="bold", header_style="",
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0),
    )  # fmt: skip
    for i, column in enumerate(columns):
        cells = [str(row[i]) for row in filled]
        wrapped = i >= len(columns) - sentences
        longest = max(map(len, (*column.split(), *(" ".join(cells).split() if wrapped else cells))))
        table.add_column(
            Text(column),
            justify="right" if all(map(_is_number, cells)) else "left",
            overflow="fold",
            no_wrap=not wrapped and len(column) <= longest,
            min_width=min(longest, _LONGEST_WORD) if wrapped else longest,
        )
    for row in filled:
        table.add_row(*row)
    return table


def _is_number(text: str) -> bool:
    return text.lstrip("+-")[:1].isdigit() and " " not in text
