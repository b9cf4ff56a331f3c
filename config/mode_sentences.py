"""What the robot does in each mode, in words: for events and for the terminal."""

from __future__ import annotations

from granite.config.operator_address import ADDRESS
from granite.config.reasons import Reason
from granite.config.run_modes import RunMode

_SENTENCES = {
    RunMode.RUNNING: "the behaviour runs",
    RunMode.HOLDING: "the robot brakes to rest and holds its pose",
    RunMode.FLOATING: "the robot floats: valves closed, joints damped",
    RunMode.STOPPING: "the robot brakes to rest before the run ends",
    RunMode.STOPPED: "the actuators rest and the run ends",
    RunMode.DISARMED: "the actuators rest until an operator arms",
    RunMode.ARMED: "the robot holds its pose until an operator starts",
}


def waiting_sentence(address: str) -> str:
    """What an operator has to do first, for a run that listens at this address."""
    where = "" if address == ADDRESS else f" --address {address}"
    return f"{_SENTENCES[RunMode.DISARMED]}, by granite operate arm{where}"


def sentence_of(mode: RunMode, cause: Reason) -> str:
    """What the robot does, and why."""
    return f"{_SENTENCES[mode]}, because {cause.text}" if cause else _SENTENCES[mode]
