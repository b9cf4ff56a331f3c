"""What a run has on ROS 2: its topics, and where operators are wanted the way of their requests."""

from __future__ import annotations

import os
from typing import NamedTuple

from granite.config.errors import InputError, one_of

#: values of ROS_AUTOMATIC_DISCOVERY_RANGE, and whether other machines take part; the first one is that of ROS 2
_RANGES = {"SUBNET": True, "SYSTEM_DEFAULT": True, "LOCALHOST": False}


class Ros2(NamedTuple):
    """Topics of a run."""

    operator: str | None = None  #: address of the operator channel; None: nobody can ask for anything
    keys: str = ""  #: the folder of its keys


def ros2_sentence(is_operated: bool) -> str:
    """Who takes part, for people at the terminal of a run."""
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    where = "this network" if reaches_other_machines() else "this machine"
    can = "read and operate it, without a key" if is_operated else "read it"
    return f"ROS 2: domain {domain}; every program of {where} in it can {can}"


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
