"""Checks of this machine and before a run, and the test of a device, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from granite.rt.checks.device_test import UnitTestResult
from granite.rt.checks.doctor import Finding
from granite.rt.checks.preflight_checks import CheckResult
from granite.views.table import table


def preflight_table(findings: Sequence[CheckResult], what: str = "Checks before the run") -> Table:
    """Every check with its result."""
    failed = sum(not finding.passed for finding in findings)
    title = f"{what}: {f'{failed} FAILED' if failed else 'all passed'}"
    rows = [(finding.device, finding.check, _passed(finding.passed), finding.text) for finding in findings]
    return table(title, ("device", "check", "passed", "found"), rows, sentences=1)


def device_table(name: str, results: Sequence[UnitTestResult]) -> Table:
    """Command to each unit of a device, and the applied value."""
    rows = [(unit, command, applied, _passed(passed), response) for unit, command, applied, response, passed in results]
    return table(f"Test of {name}", ("unit", "command", "applied", "passed", "sensors"), rows, sentences=1)


def _passed(passed: bool) -> Text:
    return Text("yes", "green") if passed else Text("NO", "red")


def doctor_table(findings: Sequence[Finding]) -> Table:
    """Each check with its status and advice."""
    colour = {"ok": "green", "limited": "yellow", "missing": "red"}
    rows = [
        (f.name, Text(f.status, colour[f.status]), f"{f.observed}\n{f.advice}" if f.advice else f.observed)
        for f in findings
    ]
    return table("This machine", ("what", "status", "found, and what to do about it"), rows, sentences=1)
