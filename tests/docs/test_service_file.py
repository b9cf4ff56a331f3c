"""The service file for a robot's computer is one that systemd takes."""

import subprocess
from pathlib import Path

from tests.firmware.emulated import need
from tests.support.pages import ROOT

FILE = ROOT / "docs" / "machine" / "granite.service"


def test_systemd_takes_the_service_file(tmp_path: Path):
    need("systemd-analyze")
    service = tmp_path / FILE.name
    service.write_text(FILE.read_text().replace("/home/granite/.venv/bin/granite", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(service)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
