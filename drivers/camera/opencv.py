"""OpenCV, which only cameras, videos, checkerboards and tags need: the extra `vision`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from granite.config.errors import InputError


def opencv() -> Any:
    """The module `cv2`.

    Raises
    ------
    InputError
        Where it is not installed.
    """
    try:
        return import_module("cv2")
    except ImportError:
        raise InputError("OpenCV is not installed", expected="pip install 'granite-robotics[vision]'") from None
