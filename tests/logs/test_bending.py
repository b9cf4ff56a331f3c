"""Links bent beyond the small-deflection limit: a warning in the log and the summary, a failed audit, and an end."""

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from granite.cli.recorded_run import end_run
from granite.cli.report.run import run_tables
from granite.config import testbed
from granite.config.loader import load
from granite.logs.log import read_log
from granite.mrds.flexible.deflection import Deflections
from granite.mrds.flexible.shapes import bending_shapes
from granite.rt.run import simulate
from granite.rt.run_in_memory import simulate_in_memory


@pytest.fixture(autouse=True)
def virtual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")  # to the bit the compiled code, and there at once


def bent(tip: float, *changes: str) -> testbed.Testbed:
    """A link of 1 m that starts with its tip this far off [m], in its first mode, which has 2 at the tip."""
    start = [f"simulation.initial.link_y1_m={tip / 2}", "loop.duration_s=0.1", "simulation.physics_step_s=0.0001"]
    return load("mrds-1", [*start, "simulation.audit=true", *changes])


def test_a_link_bent_beyond_a_tenth_of_its_length_is_named_in_log_summary_and_audit(tmp_path: Path) -> None:
    summary = simulate(bent(0.2), tmp_path / "bent.mcap")
    assert summary["ended"] == "completed"
    assert summary["bending"]["link"]["max"] == pytest.approx(0.2, rel=1e-6)
    assert summary["bending"]["link"]["beyond_s"] == pytest.approx(0.05)
    assert not summary["audit"]["held"]
    assert [name for name, check in summary["audit"]["checks"].items() if not check["held"]] == ["deflection"]
    (event,) = (e for e in read_log(tmp_path / "bent.mcap").events if e["name"] == "deflection_beyond_limit")
    assert event["level"] == "warning"
    assert (event["t_s"], event["tick"]) == (0.0, 0)
    assert "link is bent by 0.2 of its length, beyond simulation.largest_deflection = 0.1" in event["text"]
    console = Console(width=200, file=StringIO())
    console.print(*run_tables(summary))
    assert "link by up to 0.2 of its length" in console.file.getvalue()
    with pytest.raises(SystemExit, match="5"):  # no success to a script
        end_run({**summary, "log_failure": None}, tmp_path / "bent.mcap")


def test_the_limit_is_configuration_and_a_run_within_it_has_no_warning(tmp_path: Path) -> None:
    summary = simulate(bent(0.2, "simulation.largest_deflection=0.21"), tmp_path / "bent.mcap")
    assert summary["audit"]["held"]
    assert summary["audit"]["checks"]["deflection"]["limit"] == 0.21
    assert summary["bending"]["link"]["beyond_s"] == 0.0
    assert read_log(tmp_path / "bent.mcap").events == ()


def test_a_link_bent_by_more_than_its_length_ends_the_run() -> None:
    ended = simulate_in_memory(bent(1.43)).summary or {}
    assert ended["ended"] == "plant_lost"
    assert "flexible link 'link' is bent by 1.4" in ended["text"]


def test_deflections_are_those_of_the_shapes_in_both_directions_of_every_link() -> None:
    bed = load("spatial-dual-arm/flexible")
    q = np.random.default_rng(1).normal(size=(5, len(bed.positions)))
    deflections = Deflections(bed)(q)
    assert deflections.shape == (5, 4)
    names = [c.name for c in bed.positions]
    for i, name in enumerate(Deflections(bed).links):
        module, body = name.split("_")
        link = next(b.flexible for m in bed.modules if m.name == module for b in m.bodies if b.name == body)
        along = []
        for axis, modes in (("y", link.modes_y), ("z", link.modes_z)):
            amplitude = q[:, [names.index(f"{name}_{axis}{k}") for k in range(1, modes + 1)]]
            shapes = np.array([shape(np.arange(1, 9) / 8 * link.length_m) for shape in bending_shapes(link)[:modes]])
            along.append(amplitude @ shapes)
        np.testing.assert_allclose(deflections[:, i], np.hypot(*along).max(axis=1) / link.length_m, rtol=1e-12)


def test_a_link_clamped_at_both_ends_is_watched_between_them() -> None:
    bed = bent(0.0, "modules.arm.bodies.link.flexible.shapes=clamped_clamped")
    q = np.array([0.0, 0.0, 0.1])  # the second mode, which is zero in the middle and at the tip
    assert Deflections(bed)(q) == pytest.approx([0.15], abs=0.01)
