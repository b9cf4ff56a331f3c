"""`granite doctor`: checks of this machine."""

from __future__ import annotations

from granite.cli.arguments import AsJson
from granite.cli.screen import out, print_json


def doctor(as_json: AsJson = False) -> None:
    """Check this machine for real-time use: compiler, priority, memory lock, timer, serial ports."""
    from granite.cli.report.machine import doctor_table
    from granite.rt.checks.doctor import examine
    from granite.views.table import put

    findings = examine()
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        put(out, [doctor_table(findings)])
