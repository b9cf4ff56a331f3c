"""Run every benchmark, print a table, and write it as JSON with --json FILE."""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import endurance

#: module of each benchmark, imported when it is asked for: some need peers that others do not
ALL = {
    "yardstick": "yardstick",
    "forward_dynamics": "forward_dynamics",
    "many_steps": "many_steps",
    "flexible_arm": "flexible_arm",
    "closed_chain": "closed_chain",
    "force_distribution": "force_distribution",
    "non_causal": "non_causal",
    "allocation": "allocation",
    "tick": "tick",
    "run_modes": "run_modes",
    "virtual_time": "virtual_time",
    "compiled_runs": "compiled_runs",
    "all_compiled_runs": "all_compiled_runs",
    "environments": "environments",
    "tuning": "tuning",
    "vision": "vision",
    "calibration": "calibration",
    "propellant": "propellant",
    "planning": "planning",
    "prediction": "prediction",
    "realtime": "realtime",
    "operator": "operator_channel",
    "goals": "goals",
    "live": "live_view",
    "console": "console",
    "console_stops": "console_stops",
    "ros2": "ros2",
    "serial_exchange": "serial_exchange",
    "driver_times": "driver_times",
    "rehearsal": "rehearsal",
    "endurance": "endurance",
    "pixels_to_control": "pixels_to_control",
    "first_tick": "first_tick",
    "compile_time": "compile_time",
    "kills": "kills",
    "long_log": "long_log",
    "wrong_actuators": "wrong_actuators",
    "imperfections": "imperfections",
    "wiggle": "wiggle",
    "sensors": "sensors",
    "alarms": "alarms",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ALL)}; default: all")
    parser.add_argument("--json", type=Path, help="where to write the table")
    parser.add_argument("--minutes", type=float, default=endurance.MINUTES, help="of endurance")
    parser.add_argument("--log", type=Path, help="where to keep the log of endurance")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in ALL]:
        parser.error(f"unknown benchmark '{unknown[0]}', expected one of {', '.join(ALL)}")
    console, results = Console(), []
    for name in arguments.names or ALL:
        with console.status(f"measuring {name}"):
            if name == "endurance":
                results += list(endurance.measure(arguments.minutes, arguments.log))
            else:
                results += list(import_module(f"benchmarks.{ALL[name]}").measure())
    table = Table("what", "ours", "peer", "ratio", "goal", "met")
    for r in results:
        peer = r.peer_name if r.peer is None else f"{r.peer:.3g} {r.unit} ({r.peer_name})"
        met = "" if r.met is None else "[green]yes[/]" if r.met else "[red]no[/]"
        ratio = "" if r.ratio is None else f"{r.ratio:.2f}"
        table.add_row(r.name, f"{r.ours:.3g} {r.unit}", peer, ratio, r.goal, met)
    console.print(table)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps([r.as_dict() for r in results], indent=2) + "\n")


if __name__ == "__main__":
    main()
