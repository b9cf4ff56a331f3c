"""Tables for people: testbeds, runs, replays and what the machine allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from config import coordinates
from config.testbed import Testbed
from rt.doctor import Finding
from rt.replay import Replay


def beds_table(beds: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]) -> Table:
    """Presets and variants."""
    table = _table("Testbeds", "bed", "what it is")
    for name, title, variants in beds:
        table.add_row(name, title)
        for variant, text in variants:
            table.add_row(f"  {name}/{variant}", text)
    return table


def bed_tables(bed: Testbed) -> Iterator[Table]:
    """What a testbed is."""
    robot = bed.robot
    yield _modules(bed)
    table = _table("Degrees of freedom", "coordinate", "unit", "starts at", "stiffness [1/s2]", "damping [1/s]")
    for q, u in zip(coordinates.positions(robot), coordinates.velocities(robot), strict=False):
        gain = bed.gain(u.name)
        start = bed.simulation.initial.get(q.key, 0.0)
        table.add_row(q.name, q.unit, f"{start:g}", f"{gain.stiffness_1_s2:g}", f"{gain.damping_1_s:g}")
    yield table
    yield _devices(bed)
    table = _table("Control", "what", "value")
    table.add_row("loop", f"{1 / bed.loop.period_s:g} Hz for {bed.loop.duration_s:g} s, overrun: {bed.loop.overrun}")
    if bed.controller.allocation:
        a = bed.controller.allocation
        table.add_row("thruster allocation", f"{a.method}, {a.modulation}, threshold {a.threshold:g} of the thrust")
        table.add_row("torques re-solved for delivered thrust", "yes" if bed.controller.resolve_delivered else "no")
    for i, waypoint in enumerate(bed.behaviour.waypoints):
        target = ", ".join(f"{key} = {value:g}" for key, value in waypoint.target.items())
        table.add_row(f"waypoint {i + 1}", f"in {waypoint.duration_s:g} s, hold {waypoint.hold_s:g} s: {target}")
    table.add_row("seed", str(bed.seed))
    yield table


def run_tables(summary: dict[str, Any]) -> Iterator[Table]:
    """The summary of a run."""
    if "tracking_error" in summary:
        estimated = summary["estimation_error"]
        table = _table(
            f"Tracking (against {summary['measured_against']})",
            "coordinate", "unit", "largest error", "rms", "largest in last 5 s", "largest error of the estimate",
        )  # fmt: skip
        for name, error in summary["tracking_error"].items():
            table.add_row(
                name, error["unit"], f"{error['max']:.2e}", f"{error['rms']:.2e}", f"{error['max_in_last_5_s']:.2e}",
                f"{estimated[name]['max']:.2e}" if name in estimated else "",
            )  # fmt: skip
        yield table
        table = _table("Time", "step", "median [us]", "99 % [us]", "largest [us]")
        for name, times in summary["timing"].items():
            table.add_row(name, *(f"{times[key]:.1f}" for key in ("median_us", "p99_us", "max_us")))
        yield table
    yield _outcome(summary)


def replay_lines(result: Replay, complete: bool) -> Iterator[str]:
    """What a replay found."""
    if result.first is not None:
        d = result.first
        yield (
            f"first difference at tick {d.tick} (t = {d.t:.6f} s): {d.topic} {d.key} was {d.logged!r}, "
            f"is now {d.replayed!r}"
        )
        return
    yield f"identical to the bit: {result.ticks} ticks, {result.values} values"
    if result.gap is not None:
        yield f"rows are missing in the log after tick {result.gap}: replayed up to there"
    if not complete:
        yield "the log is cut: replayed up to its last whole row"


def doctor_table(findings: Sequence[Finding]) -> Table:
    """What the machine allows."""
    table = _table("This machine", "what", "", "found", "advice")
    colour = {"ok": "green", "limited": "yellow", "missing": "red"}
    for finding in findings:
        table.add_row(finding.name, Text(finding.status, colour[finding.status]), finding.found, finding.advice)
    return table


def _outcome(summary: dict[str, Any]) -> Table:
    table = _table("Run", "what", "value")
    table.add_row("ended", f"{summary['ended']}: {summary['text']}")
    if "propellant" not in summary:
        return table
    used = summary["propellant"]
    table.add_row(
        "time",
        f"{summary['duration_s']:g} s in {summary['wall_s']:.2f} s ({summary['real_time_factor']:.1f} x)",
    )
    table.add_row("propellant", f"{used['impulse_n_s']:.2f} N s, {used['mass_g']:.1f} g, {used['pulses']} pulses")
    table.add_row("guard", ", ".join(f"{name} {n}" for name, n in summary["guard"].items()))
    table.add_row("overruns, rows lost", f"{summary['overruns']}, {summary['rows_lost']}")
    for name, answer in summary["asked_of_the_system"].items():
        if answer.startswith("refused"):
            table.add_row(f"{name} was", answer)
    table.add_row("model", summary["model"])
    return table


def _modules(bed: Testbed) -> Table:
    table = _table(bed.title, "module", "body", "mass [kg]", "inertia [kg m2]", "carried by")
    for module in bed.modules:
        carried = {j.child: j for j in module.joints}
        for body in module.in_tree_order():
            moments = body.inertia_kg_m2
            inertia = f"{moments:g}" if isinstance(moments, float) else " ".join(f"{m:g}" for m in moments)
            joint = carried.get(body.name)
            by = f"{joint.kind} {joint.name} on {joint.parent}" if joint else f"{module.base} ({module.dimension})"
            table.add_row(module.name, body.name, f"{body.mass_kg:g}", inertia, by)
    return table


def _devices(bed: Testbed) -> Table:
    table = _table("Devices", "device", "what")
    devices = bed.devices
    if s := devices.joint_sensors:
        table.add_row(
            "joint sensors",
            f"{', '.join(s.joints)}: noise {s.angle_noise_rad:g} rad, {s.converter_bits} bit over {s.range_rad:g} rad, "
            f"rate filter {s.filter_a_rad_s:g}, {s.filter_b_rad_s:g} rad/s",
        )
    if v := devices.vision:
        table.add_row(
            "vision",
            f"{v.body} at {v.rate_hz:g} Hz, {v.latency_s * 1e3:g} ms late, "
            f"noise {v.position_noise_m:g} m, {v.heading_noise_rad:g} rad",
        )
    for motor in devices.motors:
        table.add_row("motor", f"{motor.joint}: up to {motor.torque_limit_n_m:g} N m")
    if devices.thrusters:
        valve = devices.thrusters.valve
        delay, rise, shortest = (f"{x * 1e3:g} ms" for x in (valve.delay_s, valve.rise_s, valve.minimum_on_s))
        table.add_row("valves", f"delay {delay}, rise {rise}, shortest pulse {shortest}")
        for unit in devices.thrusters.units:
            what = f"{unit.thrust_n:g} N along {list(unit.direction)} at {list(unit.position_m)} m"
            table.add_row("thruster", f"{unit.name}: {what}{', FAILED' if unit.failed else ''}")
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", header_style="")
    for column in columns:
        table.add_column(column)
    return table
