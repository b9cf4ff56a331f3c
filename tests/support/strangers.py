"""Files of another user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

#: the other user
STRANGER = 12345


def give_away(path: Path) -> None:
    """To another user: root may do that, others see it done."""
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(path, STRANGER, STRANGER)
