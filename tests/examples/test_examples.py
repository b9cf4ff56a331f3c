"""Every example runs as a user would run it, in a folder of its own, and says what it is meant to show."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.quick_cases import quick

ROOT = Path(__file__).parents[2]
SAYS = {
    "simulate": "1000 ticks",
    "metrics": "the same from disk: True",
    "predictive": "predictive: completed",
    "own_law": "replays to the bit: True",
    "own_symbolic_law": "replays to the bit: True",
    "own_behaviour": "x from 0.",
    "own_state_machine": "s: rest",
    "own_path": "file: within 0.9 mm of the path",
    "own_estimator": "weight 0.5: the elbow's rate changes by",
    "own_sensor": "with    gyro and range finder: 0.0",
    "own_driver": "ended: completed",
    "hardware": "pulses of the board's valves",
    "sweep": "stiffness 1.44 1/s2, seed 2",
    "step_by_step": "ended: PASSED",
    "events": "at the end",
    "learned_policy": "best mean reward",
    "linearise": "Hz, damping ratio",
    "force_distribution": "OPTIMAL: squeeze 2.4",
    "centroid_histogram": "agrees",
    "read_log": "replays to the bit: True",
}


def test_every_example_is_run_here_and_listed_on_its_page():
    scripts = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert scripts == {f"{name}.py" for name in SAYS}
    page = (ROOT / "examples" / "README.md").read_text()
    assert sorted(re.findall(r"^\| \[(.+?)\]\(\1\)", page, re.MULTILINE)) == sorted(scripts)


@pytest.mark.parametrize("name", quick(SAYS, "simulate", "step_by_step"))
def test_an_example_does_what_it_is_meant_to_show(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    """In this process, which has imported Granite already."""
    path = str(ROOT / "examples" / f"{name}.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [path])
    runpy.run_path(path, run_name="__main__")
    said = capfd.readouterr()
    assert SAYS[name] in said.out
    assert said.err == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs(name: str, tmp_path: Path):
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py")]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert SAYS[name] in done.stdout
    assert done.stderr == ""
