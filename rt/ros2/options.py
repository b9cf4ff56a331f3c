"""What a run has on ROS 2: its topics, and where operators are wanted the way of their requests."""

from __future__ import annotations

import os
from typing import NamedTuple

from granite.drivers.ros2.domain import reaches_other_machines


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
