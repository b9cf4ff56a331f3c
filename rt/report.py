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

from config import coordinates
from config.testbed import Testbed
from rt.doctor import Finding
from rt.replay import Replay

#: a word of a sentence may be broken if it is longer than this
_LONGEST_WORD = 40
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
    """What a testbed is."""
    yield _table(bed.title, ("body", "mass [kg]", "inertia [kg m2]", "carried by"), _bodies(bed), sentences=1)
    rows = []
    # A base in space has more positions than velocities, and no gain of its own that a table could show.
    for q, u in zip(coordinates.positions(bed.robot), coordinates.velocities(bed.robot), strict=False):
        gain, start = bed.gain(u.name), bed.simulation.initial.get(q.key, 0.0)
        rows.append((q.name, q.unit, f"{start:g}", f"{gain.stiffness_1_s2:g}", f"{gain.damping_1_s:g}"))
    columns = ("coordinate", "unit", "start", "stiffness [1/s2]", "damping [1/s]")
    yield _table("Degrees of freedom", columns, rows)
    yield _table("Devices", ("device", "what it is"), _devices(bed), sentences=1)
    yield _table("Control", ("what", "value"), _control(bed), sentences=1)


def run_tables(summary: dict[str, Any]) -> Iterator[Table]:
    """The summary of a run."""
    if "tracking_error" in summary:
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


def doctor_table(findings: Sequence[Finding]) -> Table:
    """What the machine allows."""
    colour = {"ok": "green", "limited": "yellow", "missing": "red"}
    rows = [
        (f.name, Text(f.status, colour[f.status]), f"{f.found}\n{f.advice}" if f.advice else f.found) for f in findings
    ]
    return _table("This machine", ("what", "status", "found, and what to do about it"), rows, sentences=1)


def _outcome(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "ended", f"{summary['ended']}: {summary['text']}"
    if "propellant" not in summary:
        return
    took = f"{summary['duration_s']:g} s in {summary['wall_s']:.2f} s ({summary['real_time_factor']:.1f} x)"
    yield "time", took
    used = summary["propellant"]
    impulse, mass = _number(used["impulse_n_s"], ".2f"), _number(used["mass_g"], ".1f")
    yield "propellant", f"{impulse} N s, {mass} g, {used['pulses']} pulses"
    yield "guard", ", ".join(f"{name} {n}" for name, n in summary["guard"].items())
    yield "overruns", str(summary["overruns"])
    yield "rows lost", str(summary["rows_lost"])
    for name, answer in summary["asked_of_the_system"].items():
        if answer.startswith("refused"):
            yield name, answer
    yield "model", summary["model"]


def _bodies(bed: Testbed) -> Iterator[tuple[str, ...]]:
    for module in bed.modules:
        carried = {j.child: j for j in module.joints}
        for body in module.in_tree_order():
            moments = body.inertia_kg_m2
            inertia = f"{moments:g}" if isinstance(moments, float) else " ".join(f"{m:g}" for m in moments)
            joint = carried.get(body.name)
            by = f"{joint.kind} {joint.name} on {joint.parent}" if joint else f"{module.base}, {module.dimension}"
            yield body.name, f"{body.mass_kg:g}", inertia, by


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
    if bed.controller.allocation:
        a = bed.controller.allocation
        level = f" at {a.threshold:g} of the thrust" if a.modulation == "threshold" else ""
        yield "thruster allocation", f"{a.method}, {a.modulation}{level}"
        yield "torques re-solved", f"{'yes' if bed.controller.resolve_delivered else 'no'}, for the delivered thrust"
    for i, waypoint in enumerate(bed.behaviour.waypoints):
        target = ", ".join(f"{key} = {value:g}" for key, value in waypoint.target.items())
        yield f"waypoint {i + 1}", f"in {waypoint.duration_s:g} s, hold {waypoint.hold_s:g} s: {target}"
    yield "seed", str(bed.seed)


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
