"""What the robot does in each mode, in words: for events and for the terminal."""

from __future__ import annotations

from granite.rt.modes import Mode
from granite.rt.reasons import Reason

_SENTENCES = {
    Mode.RUNNING: "the behaviour runs",
    Mode.HOLDING: "the robot brakes to rest and holds its pose",
    Mode.FLOATING: "the robot floats: valves closed, joints damped",
    Mode.STOPPING: "the robot brakes to rest before the run ends",
    Mode.STOPPED: "the actuators rest and the run ends",
    Mode.DISARMED: "the actuators rest until an operator arms",
    Mode.ARMED: "the robot holds its pose until an operator starts",
}


def sentence_of(mode: Mode, cause: Reason) -> str:
    """What the robot does, and why."""
    return f"{_SENTENCES[mode]}, because {cause.text}" if cause else _SENTENCES[mode]
