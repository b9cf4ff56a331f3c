"""Optional packages: imported when they are needed, and named with the command that installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from granite.config.errors import InputError


def required(package: str, extra: str, name: str = "") -> Any:
    """The package; `InputError` with its name and the command that installs it where it is missing."""
    try:
        return import_module(package)
    except ImportError:
        expected = f"it: pip install granite-robotics[{extra}]"
        raise InputError(f"{name or package.partition('.')[0]} is not installed", expected=expected) from None


def opencv() -> Any:
    """OpenCV, which only cameras, videos, checkerboards and tags need."""
    return required("cv2", "vision", "OpenCV")
