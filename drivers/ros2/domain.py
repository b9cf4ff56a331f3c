"""The domain of ROS 2 in which this process takes part, by the variables of ROS 2."""

from __future__ import annotations

import os

from granite.config.errors import InputError, one_of

#: the greatest number of a domain whose ports exist
_DOMAINS = 232
#: values of ROS_AUTOMATIC_DISCOVERY_RANGE, and whether other machines take part; the first one is that of ROS 2
_RANGES = {"SUBNET": True, "SYSTEM_DEFAULT": True, "LOCALHOST": False}


def domain_number() -> int:
    """By ROS_DOMAIN_ID; 0 without it."""
    text = os.environ.get("ROS_DOMAIN_ID") or "0"
    if not text.isdecimal() or int(text) > _DOMAINS:
        raise InputError(key="ROS_DOMAIN_ID", value=text, expected=f"a number from 0 to {_DOMAINS}")
    return int(text)


def reaches_other_machines() -> bool:
    """Whether nodes of other machines can take part, by the variables of ROS 2.

    Raises
    ------
    InputError
        Where they say what is not possible.
    """
    if os.environ.get("ROS_LOCALHOST_ONLY") == "1":
        return False
    key = "ROS_AUTOMATIC_DISCOVERY_RANGE"
    if (value := os.environ.get(key) or "SUBNET") not in _RANGES:
        raise InputError(key=key, value=value, expected=one_of(value, _RANGES))
    return _RANGES[value]
