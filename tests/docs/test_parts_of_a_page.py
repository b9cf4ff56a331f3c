"""The parts on the page about own parts work together, named as its testbed names them."""

import tomllib
from pathlib import Path

import pytest

import granite
from tests.support.pages import ROOT, fenced_blocks, python_blocks

PAGE, TUTORIAL = (ROOT / "docs" / f"{name}.md" for name in ("extending", "tutorial"))


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
def test_the_parts_of_the_page_control_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("my_lab.py").write_text("\n".join(block.content for block in python_blocks(PAGE)))
    Path("law.py").write_text(python_blocks(TUTORIAL)[0].content)
    named = tomllib.loads(fenced_blocks(PAGE, "toml")[0].content)
    changes = {f"{table}.{key}": value for table, keys in named.items() for key, value in keys.items()}
    log = granite.simulate(granite.load("free-flyer", {**changes, "loop.duration_s": 2.0}))
    assert log.summary["ended"] == "completed"
    bias = (log["/sample"].gyro_rate_rad_s - log["/truth"].base_heading_rad_s)[1:].mean()
    assert abs(log["/state"].gyro_rate_bias_rad_s[-1] - bias) < 2e-3
