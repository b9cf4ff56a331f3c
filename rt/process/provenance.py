"""Where and when a run was made, and by which Granite: facts for the user's own log."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from datetime import datetime
from functools import cache
from pathlib import Path

#: of asking git for the commit [s]
_LIMIT = 5.0


def provenance() -> dict[str, str]:
    """Version, commit of a checkout, host and date."""
    commit = _commit()
    return {
        "granite": importlib.metadata.version("granite-robotics"),
        **({"commit": commit} if commit else {}),
        "host": platform.node(),
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
    }


@cache
def _commit() -> str:
    """The commit of the checkout that Granite runs from, with `-dirty` after it if files differ; empty if installed."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LIMIT, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
