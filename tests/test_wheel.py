"""An installed Granite: one top-level name, and it runs outside the checkout, also beside a file called config.py."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the sources, so that nothing is left in the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for file in files:
        target = folder / "source" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / file).is_symlink():
            target.symlink_to((ROOT / file).readlink())
        elif (ROOT / file).exists():
            target.write_bytes((ROOT / file).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", folder, folder / "source"]
    run(*pip, cwd=folder)
    [wheel_file] = folder.glob("*.whl")
    return wheel_file


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a new environment with the wheel; dependencies are those of this one, which has no wheel of ours."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel, cwd=folder)
    site = next((folder / "env" / "lib").glob("python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.mark.slow
def test_the_wheel_has_one_top_level_name(wheel: Path) -> None:
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"granite"}
    files = zipfile.ZipFile(wheel).namelist()
    for file in (
        "granite/py.typed",
        "granite/config/testbeds/free-flyer.toml",
        "granite/logs/log.py",
        "granite/firmware/core/board.c",
    ):
        assert file in files


@pytest.mark.slow
def test_an_installed_granite_runs_beside_a_users_config_py(python: Path, tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("raise RuntimeError('not this one')\n")
    where = run(python, "-c", "import granite; print(granite.__file__)", cwd=tmp_path)
    assert str(python.parents[1]) in where
    said = run(python.parent / "granite", "sim", "free-flyer", "--duration", "1", "--out", "run.mcap", cwd=tmp_path)
    assert "completed" in said
    said = run(python.parent / "granite", "replay", "run.mcap", cwd=tmp_path)
    assert "identical to the bit" in said
    (tmp_path / "example.py").write_text((ROOT / "examples" / "read_log.py").read_text())
    assert "replays to the bit: True" in run(python, "example.py", cwd=tmp_path)
