"""Latency and links of a run on real drivers, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table

from granite.logs.latency import SensorLatency, Spread
from granite.logs.link_trouble import TROUBLE
from granite.logs.run_summary import RunSummary
from granite.views.table import table


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
