"""The summary of a run, with latency and links of real drivers, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table
from rich.text import Text

from granite.logs.latency import SensorLatency, Spread
from granite.logs.link_trouble import TROUBLE
from granite.logs.run_summary import AuditSummary, LinkBending, RedundantContacts, RunSummary
from granite.views.table import number, table

#: how errors are shown
_SHOWN = {"m": ("mm", 1e3), "rad": ("mrad", 1e3)}
#: largest number of changes of contacts that are printed
_CHANGES = 20


def run_tables(summary: RunSummary) -> Iterator[Table]:
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
            unit, scale = _SHOWN.get(error["unit"], (error["unit"], 1.0))
            rows.append((name, unit, *(number(None if e is None else scale * e, ".3g") for e in errors)))
        yield table(title, columns, rows)
    if applied := summary.get("applied"):
        rows = []
        for name, size in applied.items():
            part = None if size["max"] is None else 100 * size["max"] / size["limit"]
            rows.append((name, number(size["max"], ".4g"), number(part, ".3g"), size["unit"]))
        yield table("Actuators", ("signal", "largest", "of its limit [%]", "in"), rows)
    yield from _machine_tables(summary)
    yield from _contact_tables(summary)
    if "audit" in summary:
        yield _audit_table(summary["audit"])
    # In virtual time these only reflect the load of the machine.
    if summary.get("mode", "virtual") != "virtual" and "timing" in summary:
        rows = [
            (name, *(f"{times[key]:.1f}" for key in ("median_us", "p99_us", "max_us")))
            for name, times in summary["timing"].items()
        ]
        yield table("Time of each step", ("step", "median [us]", "99 % [us]", "largest [us]"), rows)
    yield table("Run", ("what", "value"), _outcome(summary), sentences=1)


def _outcome(summary: RunSummary) -> Iterator[tuple[str, str]]:
    yield "ended", f"{summary['ended']}: {summary['text']}"
    if "duration_s" not in summary:
        return
    if failed := summary.get("failed"):
        yield "behaviour", f"FAILED: state {failed['state']} after {failed['after']}, {failed['doing']}"
    took = f"{summary['duration_s']:g} s in {summary['wall_s']:.2f} s ({summary['real_time_factor']:.1f} x)"
    yield "time", took
    if (used := summary["propellant"])["by_thruster_n_s"]:
        impulse, mass = number(used["impulse_n_s"], ".2f"), number(used["mass_g"], ".1f")
        yield "propellant", f"{impulse} N s, {mass} g, {used['pulses']} pulses"
        if by_state := {name: x for name, x in used.get("by_state_n_s", {}).items() if x}:
            yield "in its states", ", ".join(f"{name} {x:.2f} N s" for name, x in by_state.items())
    yield "guard", ", ".join(f"{name} {n}" for name, n in summary["guard"].items())
    if noticed := summary.get("noticed_at_s"):
        yield "noticed", ", ".join(f"{name} at {t:g} s" for name, t in noticed.items())
    if distances := summary.get("clearance"):
        name, nearest = min(distances.items(), key=lambda entry: entry[1]["least_m"])
        yield "nearest", f"{name}, {1e3 * nearest['least_m']:.3g} mm at {nearest['t_s']:.4g} s"
    for collision in summary.get("collisions", [])[:_CHANGES]:
        speed, pushed = 1e3 * collision["speed_m_s"], collision["impulse_n_s"]
        yield "collision", f"{collision['pair']} at {collision['t_s']:.4g} s, {speed:.3g} mm/s, {pushed:.3g} N s"
    for held in summary.get("redundant", ()):
        yield "redundant", _redundant(held)
    if (strain := summary.get("energy", {}).get("largest_elastic_j")) is not None:
        yield "strain", f"at most {number(strain, '.3g')} J in flexible links"
    for link, bent in summary.get("bending", {}).items():
        if bent["beyond_s"]:
            yield "bent", _bent(link, bent)
    yield "overruns", str(summary["overruns"])
    yield "rows lost", str(summary["rows_lost"])
    for name, answer in summary["asked_of_the_system"].items():
        if answer.startswith("refused"):
            yield name, answer
    yield "model", summary["model"]


def _redundant(held: RedundantContacts) -> str:
    """One sentence on contacts whose forces are not unique."""
    condition = "infinite" if held["condition"] is None else f"{held['condition']:.1e}"
    what = f"contacts {', '.join(held['contacts'])} hold {', '.join(held['directions'])} redundantly"
    return f"{what}: forces are those of least norm (condition {condition})"


def _bent(link: str, bent: LinkBending) -> str:
    return (
        f"{link} by up to {bent['max']:.3g} of its length, for {bent['beyond_s']:g} s beyond "
        f"simulation.largest_deflection = {bent['limit']:g}: the beam model is not valid there"
    )


def _contact_tables(summary: RunSummary) -> Iterator[Table]:
    """Loads and changes of the contacts."""
    if contacts := summary.get("contacts"):
        rows = [
            (name, *(number(borne[key]["max"], ".4g") for key in ("force", "moment")), f"{borne['closed_s']:g}")
            for name, borne in contacts.items()
        ]
        yield table("Contacts", ("contact", "largest force [N]", "largest moment [N m]", "closed for [s]"), rows)
    if squeeze := summary.get("squeeze"):
        rows = [(name, number(size["max"], ".4g"), size["unit"]) for name, size in squeeze.items()]
        yield table("Internal force (squeeze)", ("module", "largest", "in"), rows)
    if switching := summary.get("switching"):
        rows = []
        for change in switching[:_CHANGES]:
            impulse, lost = number(change["impulse"], ".3g"), number(change["energy_lost_j"], ".3g")
            rows.append((f"{change['t_s']:.6g}", change["contact"], change["what"], impulse, lost))
        title, n = "Changes of contacts", len(switching) + summary.get("switching_not_listed", 0)
        title += f", the first {_CHANGES} of {n} times" if n > _CHANGES else ""
        yield table(title, ("time [s]", "contact", "what", "impulse [N s]", "energy lost [J]"), rows)


def _machine_tables(summary: RunSummary) -> Iterator[Table]:
    """States, catches and wheels of a state machine."""
    if states := summary.get("states"):
        visited = [(f"{entered['t_s']:.6g}", entered["state"]) for entered in states]
        yield table("States", ("time [s]", "state"), visited)
    if catches := summary.get("catches"):
        rows = [
            (c["contact"], f"{c['t_s']:.6g}", number(1e3 * c["miss_m"], ".3g"), number(1e3 * c["speed_m_s"], ".3g"))
            for c in catches
        ]
        yield table("Catches", ("contact", "time [s]", "miss [mm]", "relative speed [mm/s]"), rows)
    if wheels := summary.get("wheels"):
        used = [(name, number(use["max"], ".4g"), number(use["final"], ".3g")) for name, use in wheels.items()]
        yield table("Momentum wheels", ("wheel", "largest rate [rad/s]", "at the end [rad/s]"), used)


def _audit_table(audit: AuditSummary) -> Table:
    rows = []
    for name, check in audit["checks"].items():
        held = Text("yes", "green") if check["held"] else Text("NO", "red")
        rows.append((name, number(check["largest"], ".2e"), f"{check['limit']:g}", held, check["unit"]))
    title = f"Audit: {'all checks passed' if audit['held'] else 'a check FAILED'}"
    return table(title, ("check", "largest", "limit", "held", "in"), rows, sentences=1)


def latency_tables(latencies: Mapping[str, SensorLatency], summary: RunSummary) -> Iterator[Table]:
    """Age of samples, latency to the applied command, and the state of each link."""
    if latencies:
        title = "Latency [ms]: age of a sample at the tick, and from measurement to applied command"
        columns = ("sensor", "age: median", "99 %", "largest", "to command: median", "99 %", "largest")
        yield table(
            title, columns, [(name, *_ms(each["age"]), *_ms(each["to_command"])) for name, each in latencies.items()]
        )
    if links := summary.get("links"):
        rows = []
        for name, numbers in links.items():
            last = {key: values[-1] for key, values in numbers.items()}
            trouble = ", ".join(f"{key} {last[key]:g}" for key in TROUBLE if last.get(key))
            uncertainty = last.get("clock_uncertainty_s")
            rows.append((name, f"{last.get('received', 0):g}", f"{(uncertainty or 0.0) * 1e3:.2f}", trouble or "none"))
        yield table("Links", ("link", "frames received", "clock known to [ms]", "trouble"), rows, sentences=1)


def _ms(spread: Spread) -> tuple[str, str, str]:
    median, p99, largest = (f"{value * 1e3:.2f}" for value in (spread["median_s"], spread["p99_s"], spread["max_s"]))
    return median, p99, largest
