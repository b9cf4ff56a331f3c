"""The maker's SDK, which only Dynamixel servos need: the extra `dynamixel`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from granite.config.errors import InputError


def packet_handler() -> Any:
    """The SDK's encoder of protocol 2.0.

    Raises
    ------
    InputError
        Where the SDK is not installed.
    """
    try:
        return import_module("dynamixel_sdk").Protocol2PacketHandler()
    except ImportError:
        expected = "pip install 'granite-robotics[dynamixel]'"
        raise InputError(
            "the Dynamixel SDK is not installed", key="kind", value="dynamixel", expected=expected
        ) from None
