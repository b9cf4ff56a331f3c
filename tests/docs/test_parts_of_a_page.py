"""The parts on the page about own parts work together, named as its testbed names them."""

import tomllib
from pathlib import Path

import pytest

import granite
from tests.support.pages import ROOT, fenced_blocks, python_blocks

PAGE = ROOT / "docs" / "extending.md"


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("estimator", ["WithGyro", "SymbolicWithGyro"])
def test_the_parts_of_the_page_control_a_run(estimator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("my_lab.py").write_text("\n".join(block.content for block in python_blocks(PAGE)))
    named = tomllib.loads(fenced_blocks(PAGE, "toml")[0].content)
    changes = {f"{table}.{key}": value for table, keys in named.items() for key, value in keys.items()}
    changes["controller.estimator.kind"] = f"my_lab.py:{estimator}"
    log = granite.simulate(granite.load("free-flyer", {**changes, "loop.duration_s": 1.0}))
    assert log.summary["ended"] == "completed"
    state, gyro = log["/state"].base_heading_rad_s, log["/sample"].gyro_rate_rad_s
    # The Kalman estimate alone differs by up to 0.0064 rad/s; the weight leaves a tenth of it.
    assert abs(state - gyro)[20:].max() < 1e-3
