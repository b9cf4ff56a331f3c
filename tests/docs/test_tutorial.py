"""The tutorial, followed to the letter in an empty folder: its files are written, its commands run in their order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import granite
from tests.firmware.emulated import need
from tests.support.pages import ROOT, links, shell_script

PAGE = ROOT / "docs" / "tutorial.md"


@pytest.mark.slow
def test_the_tutorial_leads_from_nothing_to_a_run_on_a_board(tmp_path: Path):
    need("cc")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "MPLBACKEND": "Agg"}
    command = ["bash", "-e", "-c", shell_script(PAGE)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    pictures = {Path(link.content).name for link in links(PAGE) if link.content.endswith(".png")}
    assert {path.name for path in tmp_path.glob("*.png")} == pictures
    logs = {name: granite.read_log(tmp_path / f"{name}.mcap") for name in ("first", "law", "rehearsed", "board")}
    first, law, rehearsed, board = (granite.metrics(log) for log in logs.values())
    for name, error in law["tracking_error"].items():
        assert error["rms"] < 0.7 * first["tracking_error"][name]["rms"]
    assert law["propellant"]["impulse_n_s"] / first["propellant"]["impulse_n_s"] == pytest.approx(1.06, abs=0.02)
    assert [logs[name].info["mode"] for name in ("rehearsed", "board")] == ["rehearsal", "hardware"]
    for run in (rehearsed, board):
        assert run["tracking_error"]["base_x"]["max"] < 0.01
        assert run["propellant"]["impulse_n_s"] == pytest.approx(law["propellant"]["impulse_n_s"], rel=0.2)
