"""Requirements: what runs Granite is used by it, and what is installed is locked with the hashes of its files.

The version is the same wherever it is written.
"""

import ast
import re
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
import typer

from granite.cli.app import app
from tests.support.packages import PACKAGES

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = {
    "requirements.lock": PROJECT["dependencies"],
    "requirements-dev.lock": [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]],
    "requirements-docs.lock": [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["docs"]],
    "requirements-build.lock": ["setuptools"],
}


def name_of(requirement: str) -> str:
    return re.split(r"[<>=!~ ;\[]", requirement, maxsplit=1)[0]


def imported() -> set[str]:
    """The top-level names that Granite imports, anywhere in its files."""
    names: set[str] = set()
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Import):
                    names |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    names.add(node.module.partition(".")[0])
    return names


def test_every_requirement_is_imported_by_granite() -> None:
    providers = packages_distributions()  # reads all that is installed: seconds
    provided = {distribution.lower() for name in imported() for distribution in providers.get(name, ())}
    provided.add("cmaes")  # imported by Optuna for its sampler CMA-ES
    assert {name_of(requirement) for requirement in PROJECT["dependencies"]} <= provided


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_version_has_the_hashes_of_its_files(lock: str) -> None:
    text = (ROOT / lock).read_text()
    blocks = [block for block in re.split(r"\n(?=\S)", text) if not block.startswith("#")]
    for block in blocks:
        assert re.fullmatch(r"[\w.-]+==\S+( ; [^\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n?", block), block[:200]
    locked = {name_of(block) for block in blocks}
    assert {name_of(requirement) for requirement in LOCKS[lock]} <= locked
    assert "://" not in text  # files are found by their hash, wherever they come from


def test_the_locks_agree() -> None:
    versions: dict[str, set[str]] = {}
    for lock in LOCKS:
        for name, pin in re.findall(r"^([\w.-]+)==([^\\\n]+)", (ROOT / lock).read_text(), re.MULTILINE):
            if ";" not in pin:  # those with a condition may have several
                versions.setdefault(name, set()).add(pin.strip())
    assert {name: pins for name, pins in versions.items() if len(pins) > 1} == {}


def test_make_installs_only_what_has_the_locked_hash() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert "LOCKED := --require-hashes --requirement\n" in makefile
    for lock in ("requirements.lock", "requirements-dev.lock", "requirements-docs.lock"):
        assert f"$(LOCKED) {lock}" in makefile


def test_changelog_citation_and_command_have_the_version_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    release, _, development = PROJECT["version"].partition(".dev")
    [newest, *_] = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest == (f"{release} (unreleased)" if development else release)
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text()
    assert version(PROJECT["name"]) == PROJECT["version"], "make venv installs it anew"
    with pytest.raises(SystemExit):
        typer.main.get_command(app)(["--version"])
    assert capsys.readouterr().out == f"granite {PROJECT['version']}\n"


def test_ci_runs_on_every_python_that_the_project_names() -> None:
    named = [line.split(" :: ")[-1] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    [matrix] = re.findall(r"python: \[(.+)\]", workflow)
    assert re.findall(r'"(3\.\d+)"', matrix) == named
    assert "- run: .ci/run\n" in workflow
